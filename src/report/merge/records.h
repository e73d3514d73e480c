/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Records of the flow-tables in the oldest epoch that is not reported: those that idle flows leave
 * behind while it runs, as workers give them out, and those that end with it. The former are added
 * up in the measurement's merger, by key, so that --output has all that a key had. With --flows all
 * of them wait here until there are enough to be handed over.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parallel/run/run.h"
#include "report/rows/report.h"

#define RECORDS_ENOUGH 65536

struct records_list {
	struct report_flow *flows;
	struct flow_figures *figures; /* figures of each, with --flow-detail */
	size_t n, max;
};

struct records {
	struct run *run;
	struct records_list lists[CONFIG_MEASUREMENTS_MAX];
	uint64_t nb_told; /* records, in reports so far */
	size_t waiting;   /* records, in all lists: fewer than RECORDS_ENOUGH */
	uint64_t expired; /* expired in this epoch so far */
	bool no_memory;   /* records were lost for lack of it; until asked */
	void (*hand_over)(void *arg);
	void *arg;
};

/* hand_over() is called, while records are taken, when RECORDS_ENOUGH wait: it calls
 * records_report(). */
void records_init(
	struct records *records, struct run *run, void (*hand_over)(void *arg), void *arg);
void records_fini(struct records *records);

/* Takes what workers gave out since. They may go on counting. */
void records_take(struct records *records, uint64_t epoch);

/* Also takes the flows in the tables of a closed epoch. `last`: no epoch follows. */
void records_take_rest(struct records *records, uint64_t epoch, bool last);

/* As many as all tables of a generation have room for. */
uint64_t records_held_at_most(const struct plan *plan);

/*
 * Returns the waiting records of the epoch as a report with only flows, and clears them. Returns
 * NULL if out of memory: they are then lost.
 */
struct report_epoch *records_report(
	struct records *records, uint64_t epoch, uint64_t number, int64_t start, int64_t end);

/* The next epoch begins; nothing waits. Returns whether records of the last one were lost for
 * lack of memory. */
bool records_next_epoch(struct records *records);
