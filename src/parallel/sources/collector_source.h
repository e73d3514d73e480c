/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Collector: the input of the run is flow records instead of packets (sketchtap collect). One lcore
 * receives datagrams, from sockets or from the feeder, and decodes them. A single worker runs on
 * the same lcore. Several workers receive records by the hash of their flow, so that one worker
 * receives the records of all observers of a flow.
 *
 * Epochs are those of every run (parallel/epoch.h). A generation here is written by the decoder, or
 * a worker, while it is in the epoch; afterwards the reporter reads and clears it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/collector.h"
#include "collect/dedup/dedup.h"
#include "config/config.h"
#include "parallel/epoch.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/worker.h"

/* Rows of one kind, from malloc(). */
struct collector_source_rows {
	void *items;
	uint64_t n, room; /* number and capacity of items */
	bool no_memory;   /* some rows are missing */
};

/* Generation of the decoder. */
struct collector_source_generation {
	struct collector_source_rows exporters; /* struct exporter_row */
	struct collector_source_rows links;     /* struct link_row */
	struct collector_epoch epoch;
	uint64_t taken; /* packets of the capture that the decoder received */
};

/* Counters of a worker. */
struct collector_source_counts {
	struct dedup_counts counts;
	struct record_counts *by_exporter;  /* [exporters] */
	struct record_counts others;        /* counts of exporters whose slots were reused */
	struct collector_source_rows paths; /* concatenated struct path_row */
	struct collector_source_rows roles; /* struct interface_role_row */
	uint64_t nb_paths;
};

/* Returns the bytes of a path row, which contains only its used hops. */
static inline uint64_t path_row_bytes(uint32_t nb_hops)
{
	uint64_t bytes = offsetof(struct path_row, hops) + nb_hops * sizeof(struct path_hop);

	return (bytes + _Alignof(struct path_row) - 1) / _Alignof(struct path_row) *
	       _Alignof(struct path_row);
}

struct collector_source;

/* --listen, and --pcap of captures of datagrams. */
extern const struct option_owner listen_owner, datagrams_owner;

/* Returns the number of exporter slots. */
uint32_t collector_source_exporters_max(const struct collector_source *source);
/* Called by the reporter for a closed epoch. */
struct collector_source_generation *collector_source_generation(
	struct collector_source *source, uint64_t epoch);
struct collector_source_counts *collector_source_counts(
	struct collector_source *source, uint32_t worker, uint64_t epoch);
/*
 * Called by the reporter. Merges the roles of interfaces that workers learned in the epoch, which
 * ended at `end`, and keeps them for the template file. Returns them sorted by exporter, interface
 * and side, valid until the next call; NULL if there are none or out of memory.
 */
const struct interface_role_row *collector_source_roles(
	struct collector_source *source, uint64_t epoch, int64_t end, uint32_t *n);
/*
 * Called by the reporter. Returns the bytes of the largest frame that samplers may have skipped:
 * that of a packet of 1500 bytes, or the largest of the run if one was larger. seen: the largest of
 * the next epoch.
 */
uint32_t collector_source_largest_frame(struct collector_source *source, uint32_t seen);
