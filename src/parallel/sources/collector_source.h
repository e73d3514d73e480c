/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Source of `sketchtap collect`. One lcore, the decoder, decodes datagrams into flow records. A
 * single worker runs on the same lcore. With several, the hash of a flow selects the worker.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/collector.h"
#include "collect/dedup/dedup.h"
#include "config/config.h"
#include "parallel/epoch.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/worker.h"

struct collector_source_rows {
	void *items; /* allocated by realloc() */
	uint64_t n, room;
	bool no_memory; /* rows are missing because memory was exhausted */
};

/* Owned by the decoder while it is in the epoch, then by the reporter. */
struct collector_source_generation {
	struct collector_source_rows exporters; /* struct exporter_row */
	struct collector_source_rows links;     /* struct link_row */
	struct collector_source_rows datagrams; /* struct datagram_row */
	struct collector_source_rows payloads;  /* bytes of the datagrams */
	uint64_t left_out;                      /* datagrams without a row: too many bytes */
	struct collector_epoch epoch;
	uint64_t taken; /* packets of the capture that the decoder got from the feeder */
};

/* Owned by a worker while it is in the epoch, then by the reporter. */
struct collector_source_counts {
	struct dedup_counts counts;
	struct record_counts *by_exporter;  /* indexed by exporter slot */
	struct record_counts others;        /* exporters that have lost their slots */
	struct collector_source_rows paths; /* rows of path_row_bytes() */
	struct collector_source_rows roles; /* struct interface_role_row */
	uint64_t nb_paths;
};

struct collector_source;

extern const struct option_owner listen_owner, datagrams_owner, collectors_owner;

uint32_t collector_source_exporters_max(const struct collector_source *source);
/* Returns true if datagrams are exported. */
bool collector_source_exports_datagrams(const struct collector_source *source);
/* Returns NULL if neighbours are not exported. Owned by the reporter. */
struct neighbours *collector_source_neighbours(struct collector_source *source);
/* As in collect/collector.h. Any thread may call them. */
void collector_source_expect_sampling(
	struct collector_source *source, uint32_t slot, uint32_t interval, bool mixed);
void collector_source_scale_sampling(
	struct collector_source *source, uint32_t rule, uint32_t interval);
/* Only the reporter calls these, for a closed epoch. */
struct collector_source_generation *collector_source_generation(
	struct collector_source *source, uint64_t epoch);
struct collector_source_counts *collector_source_counts(
	struct collector_source *source, uint32_t worker, uint64_t epoch);
/*
 * Only the reporter calls this, for a closed epoch that ended at `end` (ns since 1970). Returns the
 * roles of interfaces, sorted by exporter, interface and side, until the next call. NULL: none, or
 * out of memory.
 */
const struct interface_role_row *collector_source_roles(
	struct collector_source *source, uint64_t epoch, int64_t end, uint32_t *n);
/*
 * Estimates the largest frame in bytes that exporters may have skipped by sampling. `seen` is the
 * largest one of the epoch.
 */
uint32_t collector_source_largest_frame(struct collector_source *source, uint32_t seen);
