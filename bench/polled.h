/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What a packet costs on a worker of a run: receiving it from the generator's ring, parsing,
 * hashing and counting it, freeing it; or, to compare with, receiving and freeing alone, on the
 * same path.
 *
 * A worker that finds its ring empty waits until the feeder has filled it again, so that every
 * measurement sees full bursts and none is measured waiting. Times are TSC cycles of the worker
 * alone. A burst that took longer than POLLED_LONGEST_US was interrupted by another program: it is
 * counted as such, and its time is not.
 */

#include "parallel/plan/plan.h"
#include "rx/source.h"

#define POLLED_ERROR_MAX  512
#define POLLED_LONGEST_US 200 /* of 64 packets: three microseconds a packet */

enum polled_kind {
	POLLED_RECEIVE_AND_FREE,
	POLLED_MEASURE,
	POLLED_TIME,    /* the same, every burst part by part */
	POLLED_KEPT_UP, /* with --overload valve, whose valve is told that polls empty the queue */
	POLLED_COUNT_ONLY, /* the same, of a full queue, at its last level */
};

/* Of full bursts only: nanoseconds per packet. */
struct polled_sample {
	double total, rx, count, free;
	double interrupted; /* share of the bursts */
};

/*
 * Runs the plan's one worker over feeder_options(config)->packets packets of the source, with two CPUs or more. EAL
 * must be up with the plan's lcores. Returns false with one line in error[POLLED_ERROR_MAX], also
 * where the worker did not see or count every packet.
 */
bool polled_run(const struct config *config, const struct plan *plan, struct source *source,
	enum polled_kind kind, struct polled_sample *sample, char *error);

/*
 * The same where lines are as a card leaves them. What the feeder wrote last is dirty in its own
 * caches, which a worker behind a card never sees: there the driver, on the worker's core, has just
 * written the mbufs, and packets are in the third cache (DDIO). So packets wait in a line of so many
 * until the feeder's second cache has let go of them; as part of receiving the worker writes to the
 * first line of each mbuf, and then reads packets as those of a port. The plan has that many mbufs.
 */
#define POLLED_CARD_LINE  32768
#define POLLED_CARD_MBUFS (2 * POLLED_CARD_LINE)
bool polled_run_card(const struct config *config, const struct plan *plan, struct source *source,
	enum polled_kind kind, struct polled_sample *sample, char *error);

/* As polled_run() with POLLED_TIME: take() gets each full burst that was not interrupted, with its parts in
 * cycles of the TSC. */
struct costs;
bool polled_time(const struct config *config, const struct plan *plan, struct source *source,
	void (*take)(void *arg, const struct costs *costs), void *arg, char *error);
