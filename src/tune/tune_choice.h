/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Chooses one of the measured configurations. Those with a CPU for each polling thread are
 * preferred. Among configurations that are almost as fast as the fastest, decide the fewest polling
 * threads, then the least memory, then the smallest error.
 */

#include <stdbool.h>
#include <stdint.h>

#define TUNE_AS_FAST 0.97 /* share of the highest rate; rounds differ by this much */

struct tune_score {
	bool fits;
	bool comparable;
	double pps; /* median packets/s; 0: not measured */
	uint32_t threads;
	uint64_t memory;
	double error;
};

/* Returns an index in scores[n]; n: no configuration meets the targets. */
uint32_t tune_choose(const struct tune_score *scores, uint32_t n);
