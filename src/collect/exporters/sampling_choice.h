/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Chooses the sampling interval N of an exporter, once per measurement interval, so that it sends
 * at most a number of records per second (R1 of Mann, Vishnoi and Bidkar, "Living on the Edge",
 * 2013, section III), and the bounds of the top keys stay within a target. docs/COLLECTOR.md has
 * the rules.
 */

#include <stdbool.h>
#include <stdint.h>

/* Coarser sampling is never chosen. */
#define SAMPLING_COARSEST (1U << 20)
/* Number of measurement intervals that must agree before a change that is not urgent. */
#define SAMPLING_PATIENCE 3
/* Finer sampling keeps the budget with the traffic of the last 8 to 16 measurement intervals. */
#define SAMPLING_MEMORY   8

struct sampling_limits {
	double budget; /* records per second of an exporter; 0: no limit */
	bool error;    /* the bounds have a target */
};

struct sampling_seen {
	uint32_t interval; /* N in effect, at least 1 */
	double records;    /* per second */
	/* coarsest interval with which the bounds meet their target; 0: unknown */
	double tolerable;
};

enum sampling_reason {
	SAMPLING_STAYS,
	SAMPLING_BUDGET, /* coarser: there are more records than the budget */
	SAMPLING_ERROR,  /* finer: the bounds are wider than their target */
	SAMPLING_CALM,   /* coarser: the bounds are narrower than needed */
	SAMPLING_ROOM,   /* finer: the budget has room, and there is no target */
};

/* State of an exporter. Initialize with 0. */
struct sampling_chooser {
	enum sampling_reason reason; /* wanted in the last measurement interval */
	uint32_t agreed;             /* measurement intervals with this reason in a row */
	uint32_t cautious;           /* smallest change that one of them wanted */
	/* Largest number of records per second at 1:1: since `age` intervals, and before. */
	double load, former_load;
	uint32_t age;      /* measurement intervals, below SAMPLING_MEMORY */
	uint32_t interval; /* N of the last measurement interval; 0: none */
};

struct sampling_choice {
	enum sampling_reason reason;
	uint32_t interval; /* N to use from now on; unchanged if SAMPLING_STAYS */
	/* No interval meets the budget, or none meets budget and target. The budget precedes. */
	bool over_budget, over_error;
};

struct sampling_choice sampling_choose(struct sampling_chooser *chooser,
	const struct sampling_limits *limits, const struct sampling_seen *seen);

/* Returns false if a change from `now` to `interval` is too small to matter. `now` may be 0: none. */
bool sampling_differs(uint32_t interval, uint32_t now);

/* Returns a word for --export sampling, such as "budget". */
const char *sampling_reason_word(enum sampling_reason reason);
