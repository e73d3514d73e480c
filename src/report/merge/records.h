/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Collects the flow records of the oldest unreported epoch: of flows that expire during it, and of
 * flows still in the tables at its end. Expired flows are also added to the merger of the
 * measurement by key, so that --output includes them. With --flows, records wait here until
 * RECORDS_ENOUGH are handed over.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parallel/run/run.h"
#include "report/rows/report.h"

#define RECORDS_ENOUGH 65536

struct records_list {
	struct report_flow *flows;
	struct flow_figures *figures; /* one per flow with --flow-detail; else NULL */
	size_t n, max;
};

struct records {
	struct run *run;
	struct records_list lists[CONFIG_MEASUREMENTS_MAX];
	uint64_t nb_told; /* records in reports so far */
	size_t waiting;   /* records in all lists; below RECORDS_ENOUGH */
	uint64_t expired; /* records expired in this epoch so far */
	bool no_memory;   /* records were lost: out of memory; reset by records_next_epoch() */
	void (*hand_over)(void *arg);
	void *arg;
};

/*
 * While records are taken, calls hand_over() whenever RECORDS_ENOUGH wait. hand_over() must call
 * records_report().
 */
void records_init(
	struct records *records, struct run *run, void (*hand_over)(void *arg), void *arg);
void records_fini(struct records *records);

/* Takes the flows that expired since the last call. Workers may continue to count. */
void records_take(struct records *records, uint64_t epoch);

/* Also takes the flows in the tables of a closed epoch. `last`: no epoch follows. */
void records_take_rest(struct records *records, uint64_t epoch, bool last);

/* Returns the capacity of all flow tables of a generation, in records. */
uint64_t records_held_at_most(const struct plan *plan);

/*
 * Moves the waiting records into a report with only flows. Returns NULL if out of memory: the
 * records are lost.
 */
struct report_epoch *records_report(
	struct records *records, uint64_t epoch, uint64_t number, int64_t start, int64_t end);

/*
 * Begins the next epoch. No record may wait. Returns true if records of the last epoch were lost
 * because memory ran out.
 */
bool records_next_epoch(struct records *records);
