/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Chooses one of the measured configurations by their scores only.
 *
 * 1. Only configurations that were measured and meet all targets qualify.
 *
 * 2. Configurations with a CPU for each polling thread are preferred. Others qualify only if there
 * are none of these.
 *
 * 3. The fastest configuration has the highest median of measured packets per second.
 * Configurations with at least TUNE_AS_FAST of its rate count as equally fast, because rounds
 * differ by that much.
 *
 * 4. The choice among equally fast configurations: the fewest polling threads, then the least memory,
 * then the smallest error, then the first.
 */

#include <stdbool.h>
#include <stdint.h>

#define TUNE_AS_FAST 0.97 /* share of the highest rate */

struct tune_score {
	bool fits;       /* meets all targets that can be measured */
	bool comparable; /* has a CPU for every polling thread */
	double pps;      /* median packets/s; 0: not measured */
	uint32_t threads;
	uint64_t memory; /* bytes */
	double error;
};

/* Returns the index of the choice in scores[n], n if there is none. */
uint32_t tune_choose(const struct tune_score *scores, uint32_t n);
