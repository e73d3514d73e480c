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

/*
 * Returns the statistics of the ratios values[i] / others[i]. Rounds are compared pair by pair,
 * because a disturbance of a round affects all of its subjects. A pair whose divisor is not above 0
 * counts as 0.
 */
struct bench_stats bench_stats_ratio(const double *values, const double *others, uint32_t n);

/* Returns the statistics of the differences values[i] - others[i]. */
struct bench_stats bench_stats_difference(const double *values, const double *others, uint32_t n);
