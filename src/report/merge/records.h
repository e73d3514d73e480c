/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Collects the flow records of the oldest epoch that was not reported yet: flows that expire during
 * the epoch, and flows that are in the tables at its end. Expired flows are also passed to the
 * merger, so that --output includes them. With --flows, the records of an epoch are handed over in
 * parts of RECORDS_ENOUGH.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parallel/run/run.h"
#include "report/rows/report.h"

#define RECORDS_ENOUGH 65536

struct records_list {
	struct report_flow *flows;
	struct flow_figures *figures; /* details of each flow with --flow-detail; else NULL */
	size_t n, max;
};

struct records {
	struct run *run;
	struct records_list lists[CONFIG_MEASUREMENTS_MAX];
	uint64_t nb_told; /* records in reports so far */
	size_t waiting;   /* number of records in all lists, below RECORDS_ENOUGH */
	uint64_t expired; /* records that have expired in this epoch so far */
	/* records were lost because memory ran out; reset by records_next_epoch() */
	bool no_memory;
	void (*hand_over)(void *arg);
	void *arg;
};

/*
 * Whenever RECORDS_ENOUGH records wait, records_take() and records_take_rest() call hand_over(). It
 * must call records_report().
 */
void records_init(
	struct records *records, struct run *run, void (*hand_over)(void *arg), void *arg);
void records_fini(struct records *records);

/* Takes the flows that have expired since the last call. Workers may count at the same time. */
void records_take(struct records *records, uint64_t epoch);

/*
 * Takes the flows that are still in the tables of a closed epoch. last: true if no epoch follows.
 */
void records_take_rest(struct records *records, uint64_t epoch, bool last);

/* Returns the total capacity of all flow tables of one generation, in records. */
uint64_t records_held_at_most(const struct plan *plan);

/*
 * Moves the waiting records into a report that contains nothing else. If out of memory, returns
 * NULL, and the records are lost.
 */
struct report_epoch *records_report(
	struct records *records, uint64_t epoch, uint64_t number, int64_t start, int64_t end);

/*
 * Begins the next epoch. No record may be waiting. Returns true if records of the previous epoch
 * were lost because memory ran out.
 */
bool records_next_epoch(struct records *records);
