/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Where flows went: beside each flow (observed_flows.h) who reported it lately. Only where paths,
 * or ingress and egress, are asked for. An observer is on the flow's way while it reported within
 * the window that is open, or the one before; a window is as long as the flows' timeout.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/dedup/dedup_method.h"
#include "collect/exporters/collector_rows.h"
#include "key/key.h"

struct flow_path {
	struct key6 key;         /* an IPv4 flow's in its first bytes */
	uint64_t packets, bytes; /* counted in the epoch */
	/* Shares, one bit each. */
	uint32_t reported;    /* in the epoch */
	uint32_t now, before; /* in this window, in the last one */
	uint32_t told;        /* those of the last row */
	uint16_t window;
	uint16_t ingress, egress;      /* exporters; ROUTER_UNKNOWN: none is there any more */
	uint16_t ends_generation : 15; /* observation_points_ends_generation() of these */
	bool stale : 1;                /* these, since the way changed */
};

_Static_assert(sizeof(struct flow_path) == 80, "ten words");

/* Bytes: one for each entry. */
size_t flow_paths_memory(uint64_t flows);

/* The record was taken, and is worth that. */
void flow_path_report(struct flow_path *path, struct dedup_context *known,
	const struct record *record, const struct record_value *worth);

/* The first and the last exporter that is known. */
void flow_path_ends(struct flow_path *path, struct dedup_context *known, struct record *record);

/* Emits the row of a flow that was reported in the epoch, and begins the next epoch. */
void flow_path_emit(struct flow_path *path, struct dedup_context *known, struct flow *flow,
	void (*emit)(void *arg, const struct path_row *row), void *arg);
