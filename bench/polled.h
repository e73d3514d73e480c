/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Measures the cost of a packet on a worker: receiving from the generator's ring, parsing, hashing
 * and counting, freeing; or, for comparison, only receiving and freeing on the same path.
 *
 * If the ring is empty, the worker waits until the feeder has filled it, so that bursts are full
 * and waiting is not measured. Times are TSC cycles of the worker. A burst that took longer than
 * POLLED_LONGEST_US was interrupted by another program: it is counted as interrupted and its time
 * is left out.
 */

#include "parallel/plan/plan.h"
#include "rx/source.h"

#define POLLED_ERROR_MAX  512
#define POLLED_LONGEST_US 200 /* us per burst of 64 packets, 3 us per packet */

enum polled_kind {
	POLLED_RECEIVE_AND_FREE,
	POLLED_MEASURE,
	POLLED_TIME,       /* like POLLED_MEASURE, with the time of each part of a burst */
	POLLED_KEPT_UP,    /* queue shedding at full detail; polls empty the queue */
	POLLED_COUNT_ONLY, /* queue shedding at the level that only counts */
};

/* ns per packet, of full bursts only. */
struct polled_sample {
	double total, rx, count, free;
	double interrupted; /* fraction of packets in interrupted bursts */
};

/*
 * Runs the only worker of the plan over feeder_options(config)->packets packets of the source.
 * Needs two CPUs. Requires EAL with the lcores of the plan. Returns false with one line in
 * error[POLLED_ERROR_MAX], also if the worker did not receive or count every packet.
 */
bool polled_run(const struct config *config, const struct plan *plan, struct source *source,
	enum polled_kind kind, struct polled_sample *sample, char *error);

/*
 * Like polled_run(), but cache lines are in the state in which a NIC leaves them. The lines that
 * the feeder wrote last are dirty in its own caches. With a NIC, the driver has just written the
 * mbufs on the worker's core, and packets are in the third-level cache (DDIO). So packets wait in a
 * line of POLLED_CARD_LINE until they have left the second-level cache of the feeder. While
 * receiving, the worker writes to the first cache line of each mbuf, and then reads packets as from
 * a port. The plan must have POLLED_CARD_MBUFS mbufs.
 */
#define POLLED_CARD_LINE  32768
#define POLLED_CARD_MBUFS (2 * POLLED_CARD_LINE)
bool polled_run_card(const struct config *config, const struct plan *plan, struct source *source,
	enum polled_kind kind, struct polled_sample *sample, char *error);

/*
 * Like polled_run() with POLLED_TIME. Calls take() with the TSC cycles of the parts of each full
 * burst that was not interrupted.
 */
struct costs;
bool polled_time(const struct config *config, const struct plan *plan, struct source *source,
	void (*take)(void *arg, const struct costs *costs), void *arg, char *error);
