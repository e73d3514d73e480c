/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Statistics of a figure that was measured several times. */

#include <stdint.h>

#define BENCH_ROUNDS_MAX 101

struct bench_stats {
	double median; /* mean of the middle two for an even number of values */
	double min, max;
};

/* Returns the statistics of values[n]; n is 1 to BENCH_ROUNDS_MAX. */
struct bench_stats bench_stats_of(const double *values, uint32_t n);
