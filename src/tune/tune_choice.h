/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Which of the configurations that were tried is the one. A pure function of their scores:
 *
 * 1. Only those count that were measured and keep within both targets.
 * 2. Those that had a CPU for every thread that polls come first; the others are looked at only
 *    where there is none of them.
 * 3. The fastest is the one with the highest median of measured packets per second. What comes
 *    within TUNE_AS_FAST of it is as fast: rounds differ by as much.
 * 4. Of the equally fast: the fewest threads that poll, then the least memory, then the smallest
 *    error, then the first.
 */

#include <stdbool.h>
#include <stdint.h>

#define TUNE_AS_FAST 0.97 /* of the highest rate */

struct tune_score {
	bool fits;       /* keeps within the targets, as far as they can be measured */
	bool comparable; /* a CPU for every thread that polls */
	double pps;      /* median; 0: not measured */
	uint32_t threads;
	uint64_t memory; /* bytes */
	double error;
};

/* The index of the chosen one of scores[n]; n where there is none. */
uint32_t tune_choose(const struct tune_score *scores, uint32_t n);
