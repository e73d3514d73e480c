/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Chooses one of the measured configurations. A pure function of their scores:
 *
 * 1. Only configurations that were measured and meet both targets qualify.
 *
 * 2. Configurations with a CPU for every polling thread come first; others qualify only if there
 * are none of these.
 *
 * 3. The fastest is the one with the highest median of measured packets per second. Configurations
 * within TUNE_AS_FAST of it are equally fast, because rounds differ by that much.
 *
 * 4. Among these: the fewest polling threads, then the least memory, then the smallest error, then
 * the first.
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
