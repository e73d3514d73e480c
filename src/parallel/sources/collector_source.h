/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A run whose input is what exporters tell, in place of packets (sketchtap collect). One lcore
 * takes datagrams, from sockets or from the feeder, and decodes them; where there is one worker it
 * is the same lcore, which also counts. With several, records are dealt out by the hash of their
 * flow, so that all observers of one meet in one worker.
 *
 * Epochs are those of every run (parallel/epoch.h); what belongs to a generation here is written by
 * the decoder, or a worker, while the epoch is its own, and read and cleared by the reporter
 * afterwards.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/collector.h"
#include "collect/dedup/dedup.h"
#include "config/config.h"
#include "parallel/epoch.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/worker.h"

struct filter;
struct rx_core;

/* Rows of one kind; malloc's. */
struct collector_source_rows {
	void *items;
	uint64_t n, room; /* items */
	bool no_memory;   /* some are missing */
};

/* The decoder's side of a generation. */
struct collector_source_generation {
	struct collector_source_rows exporters; /* struct exporter_row */
	struct collector_source_rows links;     /* struct link_row */
	struct collector_epoch epoch;
	uint64_t taken; /* packets of the capture, from the feeder */
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

/* Returns the bytes of a path row, which ends after its last hop. */
static inline uint64_t path_row_bytes(uint32_t nb_hops)
{
	uint64_t bytes = offsetof(struct path_row, hops) + nb_hops * sizeof(struct path_hop);

	return (bytes + _Alignof(struct path_row) - 1) / _Alignof(struct path_row) *
	       _Alignof(struct path_row);
}

struct collector_source_params {
	const struct config *config;
	const struct plan *plan;
	struct worker *const *workers; /* [nb_workers], workers that receive records */
	uint32_t nb_workers;
	struct rx_core *rx_core; /* NULL: the worker decodes */
};

/* NULL with a line in error[OPTION_WHY_MAX]. */
struct collector_source *collector_source_create(
	const struct collector_source_params *params, char *error);
void collector_source_destroy(struct collector_source *source);

/* Before the start: leaves out records whose packets do not match. */
void collector_source_set_filter(struct collector_source *source, const struct filter *filter);

/*
 * Waits after the run until the templates are saved. Returns false, after a log line, if they could
 * not be.
 */
bool collector_source_finish(struct collector_source *source);

/* Exporters that have a number. */
uint32_t collector_source_exporters_max(const struct collector_source *source);
/* Datagrams that came so far. Any thread. */
uint64_t collector_source_datagrams(const struct collector_source *source);
/* For the reporter, about a closed epoch. */
struct collector_source_generation *collector_source_generation(
	struct collector_source *source, uint64_t epoch);
struct collector_source_counts *collector_source_counts(
	struct collector_source *source, uint32_t worker, uint64_t epoch);
/*
 * Merges the roles of interfaces that workers learned in the epoch, which ended at `end`, and keeps
 * them for the template file. Returns them sorted by exporter, interface and side, valid until the
 * next call; NULL if there are none or out of memory. Called by the reporter.
 */
const struct interface_role_row *collector_source_roles(
	struct collector_source *source, uint64_t epoch, int64_t end, uint32_t *n);
/*
 * Returns the bytes of the largest frame that samplers may have passed over: that of a packet of
 * 1500 bytes, or the largest of the run if one was larger. seen: the largest of the next epoch.
 * Called by the reporter.
 */
uint32_t collector_source_largest_frame(struct collector_source *source, uint32_t seen);
/* Clears what the epoch left (the reporter). */
void collector_source_recycle(struct collector_source *source, uint64_t epoch);

/* Returns what a plan needs: the design and the memory of the collector. */
struct plan_collect collector_source_plan(const struct config *config);
