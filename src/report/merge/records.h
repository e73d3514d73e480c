/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Collects the flow records of the oldest epoch without a report: flows that expire in it, and
 * flows in the tables at its end. Expired flows also go to the merger, so that --output includes
 * them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parallel/run/run.h"
#include "report/rows/report.h"

#define RECORDS_ENOUGH 65536

struct records_list {
	struct report_flow *flows;
	struct flow_figures *figures; /* NULL without --flow-detail */
	size_t n, max;
};

struct records {
	struct run *run;
	struct records_list lists[CONFIG_MEASUREMENTS_MAX];
	uint64_t nb_told; /* records in reports so far */
	size_t waiting;   /* records in all lists, less than RECORDS_ENOUGH */
	uint64_t expired; /* records that expired in this epoch */
	/* Records of this epoch were lost. */
	bool no_memory;
	void (*hand_over)(void *arg);
	void *arg;
};

/* hand_over() is called when RECORDS_ENOUGH records wait. It must call records_report(). */
void records_init(
	struct records *records, struct run *run, void (*hand_over)(void *arg), void *arg);
void records_fini(struct records *records);

/* Takes the flows that expired since the last call. Workers may count at the same time. */
void records_take(struct records *records, uint64_t epoch);

/* Takes the flows in the tables of a closed epoch. last: no epoch follows. */
void records_take_rest(struct records *records, uint64_t epoch, bool last);

/* Returns the number of records in all flow tables of one generation if they are full. */
uint64_t records_held_at_most(const struct plan *plan);

/*
 * Moves the waiting records into a report without other contents. Returns NULL if out of memory;
 * the records are then lost.
 */
struct report_epoch *records_report(
	struct records *records, uint64_t epoch, uint64_t number, int64_t start, int64_t end);

/* No record may be waiting. Returns true if records of the previous epoch were lost. */
bool records_next_epoch(struct records *records);
