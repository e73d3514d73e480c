/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * When epochs of live ports start and end, by the wall clock, which may be set at any time. Epochs
 * end on multiples of the interval since 1970. A step of the wall clock against the monotonic one
 * ends the open epoch: it lasted as long as the monotonic clock says, and the next one starts at
 * the new time. Numbers count intervals, so that a step forward skips some; they never go back.
 * Slewing, which goes a little at a time (adjtime(3)), is no step: epochs follow the wall clock.
 */

#include <stdbool.h>
#include <stdint.h>

/* More than this between two looks is a step. */
#define EPOCH_CLOCK_STEP_NS INT64_C(100000000)

/* All in ns; real: since 1970-01-01 UTC. */
struct clock_time {
	int64_t real, monotonic;
};

struct epoch_clock {
	int64_t interval; /* 0: one epoch */
	int64_t boundary; /* real: where the open epoch ends */
	int64_t start;    /* real: where it started on paper */
	int64_t opened;   /* monotonic: when it did */
	int64_t offset;   /* ns of CLOCK_REALTIME minus CLOCK_MONOTONIC at the last call */
	int64_t first;    /* the multiple of the interval that has number 0 */
	uint64_t number;  /* number of the open epoch */
	bool stepped;     /* since it was opened */
};

/* Both clocks at one moment, as far as two readings are one. */
struct clock_time clock_time_now(void);

/* Opens epoch 0. */
void epoch_clock_start(struct epoch_clock *clock, int64_t interval, struct clock_time now);

/* By how many ns the wall clock was set since the last look; 0: it was not. Call often. */
int64_t epoch_clock_look(struct epoch_clock *clock, struct clock_time now);

/* After a look: the open epoch is to end. */
bool epoch_clock_is_due(const struct epoch_clock *clock, struct clock_time now);

/* The open epoch, which is due, ends now and should have before: one that a step ends is never late. */
bool epoch_clock_is_late(const struct epoch_clock *clock, struct clock_time now);

/* Where the open epoch ends on paper if it ends now, real; never before its start. */
int64_t epoch_clock_end(const struct epoch_clock *clock, struct clock_time now);

/* Ends the open epoch, which is due, and opens the next: clock->start and clock->number. */
void epoch_clock_next(struct epoch_clock *clock, struct clock_time now);
