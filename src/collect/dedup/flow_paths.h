/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Paths of flows: recent observers of each entry in observed_flows.h. Used only for --export paths
 * and --key routers. An observer is on the path if it reported in the current or the previous
 * window; a window lasts one flow timeout.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/dedup/dedup_method.h"
#include "collect/exporters/collector_rows.h"
#include "key/key.h"

#define FLOW_PATH_TTLS 8 /* shares of a flow whose TTL is stored */

struct flow_path {
	struct key6 key;         /* an IPv4 flow's in its first bytes */
	uint64_t packets, bytes; /* counted in the epoch */
	/* Shares, one bit each. */
	uint32_t reported;           /* in the epoch */
	uint32_t now, before;        /* in this window, in the last one */
	uint32_t told;               /* those of the last row */
	uint8_t ttl[FLOW_PATH_TTLS]; /* largest TTL of the first shares; 0: unknown */
	uint16_t window;
	uint16_t ingress, egress;      /* exporters; ROUTER_UNKNOWN: none left */
	uint16_t ends_generation : 15; /* low bits of the sum of both slot generations */
	bool stale : 1;                /* the path changed after ingress and egress were set */
};

_Static_assert(sizeof(struct flow_path) == 88, "eleven words");

/* Returns the memory in bytes, for one path per entry of the flow table. */
size_t flow_paths_memory(uint64_t flows);

/* Adds a processed record and its value. */
void flow_path_report(struct flow_path *path, struct dedup_context *context,
	const struct record_in_progress *record, const struct record_value *value);

/* Updates the ingress and the egress of the path. */
void flow_path_ends(
	struct flow_path *path, struct dedup_context *context, struct record_in_progress *record);

/* Emits the row of a flow if it was reported in the epoch, and starts the next epoch. */
void flow_path_emit(struct flow_path *path, struct dedup_context *context, struct flow *flow,
	void (*emit)(void *arg, const struct path_row *row), void *arg);
