/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Measures the cost of a packet on a worker, in TSC cycles. If the ring is empty, the worker waits
 * unmeasured until the feeder has filled it, so that bursts are full. Bursts longer than
 * POLLED_LONGEST_US are interruptions and are left out.
 */

#include "parallel/plan/plan.h"
#include "rx/source.h"

#define POLLED_ERROR_MAX  512
#define POLLED_LONGEST_US 200 /* per burst of 64 packets */

enum polled_kind {
	POLLED_RECEIVE_AND_FREE,
	POLLED_MEASURE,
	POLLED_TIME, /* like POLLED_MEASURE, and also times each part of a burst */
	/* counts with queue shedding at full detail; each poll appears to empty the queue */
	POLLED_KEPT_UP,
	POLLED_COUNT_ONLY, /* queue shedding at the level that only counts packets */
};

/* ns per packet of full bursts */
struct polled_sample {
	double total, rx, count, free;
	double interrupted; /* share of packets in interrupted bursts */
};

/*
 * Runs the single worker of the plan on feeder_options(config)->packets packets. Requires two CPUs,
 * and EAL with the lcores of the plan. Returns false with one line in error[POLLED_ERROR_MAX], also
 * if the worker did not count every packet.
 */
bool polled_run(const struct config *config, const struct plan *plan, struct source *source,
	enum polled_kind kind, struct polled_sample *sample, char *error);

/*
 * Like polled_run(), but with cache lines as a NIC leaves them: mbufs written on the worker's core,
 * packets in the third-level cache (DDIO). So packets wait in a line of POLLED_CARD_LINE mbufs
 * until they have left the second-level cache of the feeder. The plan must have POLLED_CARD_MBUFS
 * mbufs.
 */
#define POLLED_CARD_LINE  32768
#define POLLED_CARD_MBUFS (2 * POLLED_CARD_LINE)
bool polled_run_card(const struct config *config, const struct plan *plan, struct source *source,
	enum polled_kind kind, struct polled_sample *sample, char *error);

/* take() receives the TSC cycles of each full burst that was not interrupted. */
struct costs;
bool polled_time(const struct config *config, const struct plan *plan, struct source *source,
	void (*take)(void *arg, const struct costs *costs), void *arg, char *error);
