/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Start and end of epochs of live ports by the wall clock, which may be set at any time. Epochs end
 * on multiples of the interval since 1970.
 *
 * A step of the wall clock against the monotonic clock ends the open epoch. That epoch lasted as
 * long as the monotonic clock shows, and the next one starts at the new time. Numbers count
 * intervals: a step forward skips some, and they never decrease. Slewing (adjtime(3)) is not a
 * step: epochs follow the wall clock.
 */

#include <stdbool.h>
#include <stdint.h>

/* ns. A larger change between two calls of epoch_clock_look() is a step. */
#define EPOCH_CLOCK_STEP_NS INT64_C(100000000)

/* All in ns; real is since 1970-01-01 UTC. */
struct clock_time {
	int64_t real, monotonic;
};

struct epoch_clock {
	int64_t interval; /* ns; 0: one epoch */
	int64_t boundary; /* real time at which the open epoch is due to end */
	int64_t start;    /* real time at which it started */
	int64_t opened;   /* monotonic time at which it started */
	int64_t offset;   /* ns of CLOCK_REALTIME minus CLOCK_MONOTONIC at the last call */
	int64_t first;    /* multiple of the interval with number 0 */
	uint64_t number;  /* number of the open epoch */
	bool stepped;     /* clock stepped since the epoch was opened */
};

/* Reads both clocks within 0.1 ms if possible. */
struct clock_time clock_time_now(void);

/* Opens epoch 0. */
void epoch_clock_start(struct epoch_clock *clock, int64_t interval, struct clock_time now);

/*
 * Returns the ns by which the wall clock was set since the last call; 0 if it was not. Call often.
 */
int64_t epoch_clock_look(struct epoch_clock *clock, struct clock_time now);

/* Called after epoch_clock_look(). Returns true if the open epoch must end. */
bool epoch_clock_is_due(const struct epoch_clock *clock, struct clock_time now);

/*
 * Returns true if the due epoch ends after its boundary. An epoch that a step ends is never late.
 */
bool epoch_clock_is_late(const struct epoch_clock *clock, struct clock_time now);

/* Returns the real time of the end of the open epoch if it ends now; never before its start. */
int64_t epoch_clock_end(const struct epoch_clock *clock, struct clock_time now);

/* Ends the due epoch and opens the next one. Updates clock->start and clock->number. */
void epoch_clock_next(struct epoch_clock *clock, struct clock_time now);
