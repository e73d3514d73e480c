/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Packet counts of --forward: packets passed to the output devices, and packets sent by them. */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/run/run.h"
#include "report/rows/report.h"
#include "rx/port/sending.h"

struct forwarded_sum {
	struct forwarded_counts of_all;
	/* packets by which the counts of the devices differ; set at the end of the run */
	uint64_t unaccounted;
};

struct forwarded {
	const struct run *run;
	struct forwarded_sum sum;
	int64_t looked; /* monotonic ns */
	struct forwarded_port {
		struct port_sent sent;
		uint64_t taken; /* packets accepted by the device */
		/* failed packets reported so far */
		uint64_t unsent;
		bool too_long_warned;
	} out[OPTION_LIST_MAX];
	struct forwarded_counts so_far[OPTION_LIST_MAX];
};

/* Call it before the run starts. Without --forward, the functions below do nothing. */
void forwarded_start(struct forwarded *forwarded, const struct run *run);

/*
 * Reads the link state of the output ports and, once a second, their MTU and counters. up[]: the
 * link of the port is up.
 */
void forwarded_look(struct forwarded *forwarded, int64_t now, const bool *up);

/*
 * Ends an epoch; oldest first. last: the run has ended and all queues are empty. `report` may be
 * NULL. Returns false if out of memory.
 */
bool forwarded_close(struct forwarded *forwarded, uint64_t epoch, uint64_t number, bool last,
	struct report_epoch *report);

/* Appends a sentence such as "5 of 7 packets forwarded, 2 not sent (2 tx_full)". */
struct text;
void forwarded_sentence(struct text *text, const struct forwarded_sum *sum);

static inline uint64_t forwarded_unsent(const struct forwarded_counts *counts)
{
	return counts->tx_full + counts->too_long + counts->no_link + counts->tx_errors;
}
