/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The account of --forward: what lcores sent, and what the devices made of it. */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/run/run.h"
#include "report/rows/report.h"
#include "rx/port/sending.h"

/* Totals of the run. */
struct forwarded_sum {
	struct forwarded_counts of_all;
	uint64_t unaccounted; /* packets that a device took and does not say to have sent */
};

struct forwarded {
	const struct run *run;
	struct forwarded_sum sum;
	int64_t looked; /* monotonic ns, when MTUs and counters were last read */
	struct forwarded_port {
		struct port_sent sent;
		uint64_t taken;  /* accepted by the device */
		uint64_t unsent; /* tx_errors of the epochs so far */
		bool too_long_warned;
	} out[OPTION_LIST_MAX];                          /* by output port */
	struct forwarded_counts so_far[OPTION_LIST_MAX]; /* by ingress port */
};

/* Before the run starts. Without --forward there is nothing to do, here and below. */
void forwarded_start(struct forwarded *forwarded, const struct run *run);

/* Tells who sends what may have changed; up[]: the link of each port. Call often. */
void forwarded_look(struct forwarded *forwarded, int64_t now, const bool *up);

/*
 * Closes an epoch, oldest first. `last`: all queues are empty. Fills the rows of the report, if
 * there is one. Returns false if out of memory.
 */
bool forwarded_close(struct forwarded *forwarded, uint64_t epoch, uint64_t number, bool last,
	struct report_epoch *report);

/* For a person: "5 of 7 packets forwarded, 2 not sent (2 tx_full)". */
struct text;
void forwarded_sentence(struct text *text, const struct forwarded_sum *sum);

/* Returns the received packets that were not forwarded. */
static inline uint64_t forwarded_unsent(const struct forwarded_counts *counts)
{
	return counts->tx_full + counts->too_long + counts->no_link + counts->tx_errors;
}
