/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Packet counts of --forward: handed over by lcores, and sent by the devices. */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/run/run.h"
#include "report/rows/report.h"
#include "rx/port/sending.h"

/* Totals of the run. */
struct forwarded_sum {
	struct forwarded_counts of_all;
	uint64_t unaccounted; /* packets accepted by a device, neither sent nor failed */
};

struct forwarded {
	const struct run *run;
	struct forwarded_sum sum;
	int64_t looked; /* monotonic ns; last read of MTUs and counters */
	struct forwarded_port {
		struct port_sent sent;
		uint64_t taken;  /* packets accepted by the device */
		uint64_t unsent; /* packets reported as tx_errors so far */
		bool too_long_warned;
	} out[OPTION_LIST_MAX];                          /* one per output port */
	struct forwarded_counts so_far[OPTION_LIST_MAX]; /* one per ingress port */
};

/* Call it before the run starts. Without --forward, the functions below do nothing. */
void forwarded_start(struct forwarded *forwarded, const struct run *run);

/* Updates link and MTU of the sending side. up[]: link of each port. Call it often. */
void forwarded_look(struct forwarded *forwarded, int64_t now, const bool *up);

/*
 * Closes an epoch, oldest first. `last`: all queues are empty. Fills the rows of the report, if
 * there is one. Returns false if out of memory.
 */
bool forwarded_close(struct forwarded *forwarded, uint64_t epoch, uint64_t number, bool last,
	struct report_epoch *report);

/* Appends "5 of 7 packets forwarded, 2 not sent (2 tx_full)". */
struct text;
void forwarded_sentence(struct text *text, const struct forwarded_sum *sum);

/* Returns the received packets that were not forwarded. */
static inline uint64_t forwarded_unsent(const struct forwarded_counts *counts)
{
	return counts->tx_full + counts->too_long + counts->no_link + counts->tx_errors;
}
