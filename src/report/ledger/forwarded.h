/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Packet counts of --forward: packets that lcores passed to the output devices, and packets that
 * these devices sent.
 */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/run/run.h"
#include "report/rows/report.h"
#include "rx/port/sending.h"

/* Totals of the run. */
struct forwarded_sum {
	struct forwarded_counts of_all;
	/*
	 * difference between packets that devices accepted and packets that they counted as sent or
	 * failed; set at the end of the run
	 */
	uint64_t unaccounted;
};

struct forwarded {
	const struct run *run;
	struct forwarded_sum sum;
	int64_t looked; /* monotonic ns; last read of MTUs and counters */
	struct forwarded_port {
		struct port_sent sent;
		uint64_t taken; /* packets accepted by the device */
		/* failed packets of the device that were already reported as tx_errors */
		uint64_t unsent;
		bool too_long_warned;
	} out[OPTION_LIST_MAX];                          /* one per output port */
	struct forwarded_counts so_far[OPTION_LIST_MAX]; /* one per ingress port */
};

/* Call it before the run starts. Without --forward, the functions below do nothing. */
void forwarded_start(struct forwarded *forwarded, const struct run *run);

/*
 * Stores the link state of each output port and, once a second, its MTU and counters. up[]: true if
 * the link of the port is up. Call it often.
 */
void forwarded_look(struct forwarded *forwarded, int64_t now, const bool *up);

/*
 * Ends an epoch. Call it for each epoch, oldest first. last: true if all queues are empty, at the
 * end of the run. Fills report->forwarded unless `report` is NULL. Returns false if out of memory.
 */
bool forwarded_close(struct forwarded *forwarded, uint64_t epoch, uint64_t number, bool last,
	struct report_epoch *report);

/* Appends a sentence, such as "5 of 7 packets forwarded, 2 not sent (2 tx_full)". */
struct text;
void forwarded_sentence(struct text *text, const struct forwarded_sum *sum);

static inline uint64_t forwarded_unsent(const struct forwarded_counts *counts)
{
	return counts->tx_full + counts->too_long + counts->no_link + counts->tx_errors;
}
