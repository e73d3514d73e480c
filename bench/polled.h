/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Measures the cost of a packet on a worker: receiving from the ring of the generator, parsing,
 * hashing, counting and freeing. For comparison, also only receiving and freeing.
 *
 * If the ring is empty, the worker waits until the feeder has filled it. So bursts are full, and
 * the wait is not measured. Times are TSC cycles of the worker. If a burst takes longer than
 * POLLED_LONGEST_US, another program interrupted it: it counts as interrupted, and its time is left
 * out.
 */

#include "parallel/plan/plan.h"
#include "rx/source.h"

#define POLLED_ERROR_MAX  512
#define POLLED_LONGEST_US 200 /* us per burst of 64 packets: 3 us per packet */

enum polled_kind {
	POLLED_RECEIVE_AND_FREE,
	POLLED_MEASURE,
	POLLED_TIME, /* like POLLED_MEASURE, and also times each part of a burst */
	/* counts with queue shedding at full detail; each poll appears to empty the queue */
	POLLED_KEPT_UP,
	POLLED_COUNT_ONLY, /* queue shedding at the level that only counts packets */
};

/* ns per packet. Only full bursts count. */
struct polled_sample {
	double total, rx, count, free;
	double interrupted; /* share of packets that were in interrupted bursts */
};

/*
 * Runs the worker of the plan, which has only one, on feeder_options(config)->packets packets of
 * the source. Requires two CPUs, and EAL with the lcores of the plan. Returns false with one line
 * in error[POLLED_ERROR_MAX], also if the worker did not receive or count every packet.
 */
bool polled_run(const struct config *config, const struct plan *plan, struct source *source,
	enum polled_kind kind, struct polled_sample *sample, char *error);

/*
 * Like polled_run(), but with cache lines in the state in which a NIC leaves them. The lines that
 * the feeder wrote last are dirty in its own caches. With a NIC, the driver has just written the
 * mbufs on the worker's core, and packets are in the third-level cache (DDIO). So packets wait in a
 * queue of POLLED_CARD_LINE mbufs (the line) until they have left the second-level cache of the
 * feeder. While receiving, the worker writes to the first cache line of each mbuf, as a driver
 * does, and then reads packets as from a port. The plan must have POLLED_CARD_MBUFS mbufs.
 */
#define POLLED_CARD_LINE  32768
#define POLLED_CARD_MBUFS (2 * POLLED_CARD_LINE)
bool polled_run_card(const struct config *config, const struct plan *plan, struct source *source,
	enum polled_kind kind, struct polled_sample *sample, char *error);

/*
 * Like polled_run() with POLLED_TIME. For each full burst that was not interrupted, calls take()
 * with the TSC cycles of its parts.
 */
struct costs;
bool polled_time(const struct config *config, const struct plan *plan, struct source *source,
	void (*take)(void *arg, const struct costs *costs), void *arg, char *error);
