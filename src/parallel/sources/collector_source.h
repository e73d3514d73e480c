/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Source of `sketchtap collect`: the input is flow records instead of packets. One lcore, the
 * decoder, receives datagrams from sockets or from the feeder, and decodes them. If there is one
 * worker, it is on the same lcore. If there are several, the hash of a flow selects the worker of
 * its records. So one worker gets the records of a flow from all exporters.
 *
 * The decoder or a worker writes its generation (parallel/epoch.h) while it is in the epoch. Then
 * the reporter reads and clears it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/collector.h"
#include "collect/dedup/dedup.h"
#include "config/config.h"
#include "parallel/epoch.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/worker.h"

/* Array of rows of one type. */
struct collector_source_rows {
	void *items;      /* allocated by realloc() */
	uint64_t n, room; /* number and capacity of items */
	bool no_memory;   /* true: rows are missing, because memory was exhausted */
};

/* Data of the decoder in an epoch. */
struct collector_source_generation {
	struct collector_source_rows exporters; /* struct exporter_row */
	struct collector_source_rows links;     /* struct link_row */
	struct collector_epoch epoch;
	uint64_t taken; /* packets of the capture that the decoder got from the feeder */
};

/* Data of a worker in an epoch. */
struct collector_source_counts {
	struct dedup_counts counts;
	struct record_counts *by_exporter; /* indexed by exporter slot */
	struct record_counts others; /* sum of exporters that have lost their slots to others */
	struct collector_source_rows paths; /* path rows, each of path_row_bytes() bytes */
	struct collector_source_rows roles; /* struct interface_role_row */
	uint64_t nb_paths;
};

/* Returns the bytes of a path row with nb_hops hops. Unused hops are not stored. */
static inline uint64_t path_row_bytes(uint32_t nb_hops)
{
	uint64_t bytes = offsetof(struct path_row, hops) + nb_hops * sizeof(struct path_hop);

	return (bytes + _Alignof(struct path_row) - 1) / _Alignof(struct path_row) *
	       _Alignof(struct path_row);
}

struct collector_source;

/* Options --listen and --pcap of `sketchtap collect`. */
extern const struct option_owner listen_owner, datagrams_owner;

uint32_t collector_source_exporters_max(const struct collector_source *source);
/* Return the data of a closed epoch. Called by the reporter. */
struct collector_source_generation *collector_source_generation(
	struct collector_source *source, uint64_t epoch);
struct collector_source_counts *collector_source_counts(
	struct collector_source *source, uint32_t worker, uint64_t epoch);
/*
 * Merges the roles of interfaces that workers have learned until the end of a closed epoch, and
 * keeps them for the template file. `end` is the end of the epoch in ns since 1970-01-01 UTC.
 * Returns the roles, sorted by exporter, interface and side. They are valid until the next call.
 * Returns NULL if there are none, or if out of memory. Called by the reporter.
 */
const struct interface_role_row *collector_source_roles(
	struct collector_source *source, uint64_t epoch, int64_t end, uint32_t *n);
/*
 * Returns an estimate of the largest frame in bytes that samplers of exporters may have skipped.
 * This is a frame with an IP packet of 1500 bytes, or the largest frame of the run if this is
 * larger. `seen` is the largest frame of the epoch that the reporter processes. Called by the
 * reporter.
 */
uint32_t collector_source_largest_frame(struct collector_source *source, uint32_t seen);
