/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What is said of a figure that was measured several times. */

#include <stdint.h>

#define BENCH_ROUNDS_MAX 101

struct bench_stats {
	double median; /* of an even number of values: the mean of the two in the middle */
	double min, max;
};

/* Of values[n], which stay as they are; n is 1 to BENCH_ROUNDS_MAX. */
struct bench_stats bench_stats_of(const double *values, uint32_t n);

/*
 * Of the ratios values[i] / others[i]: rounds are compared pair by pair, because what disturbs one
 * contestant of a round disturbs the others too. A pair whose divisor is not above 0 counts as 0.
 */
struct bench_stats bench_stats_ratio(const double *values, const double *others, uint32_t n);

/* Of the differences values[i] - others[i]. */
struct bench_stats bench_stats_difference(const double *values, const double *others, uint32_t n);
