/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Error bound from the counters themselves (proof: docs/ESTIMATES.md): the smallest t with keys *
 * F_1(t) * F_2(t) * ... <= 1 - confidence, where F_r(t) is the share of the counters in row r that
 * exceed t. Rounded up by at most 1 / ROW_HISTOGRAM_STEPS.
 */

#include <stdint.h>

#define ERROR_BOUND_ROWS 16 /* maximum depth */

#define ROW_HISTOGRAM_STEP_BITS 6
#define ROW_HISTOGRAM_STEPS     (1 << ROW_HISTOGRAM_STEP_BITS)
#define ROW_HISTOGRAM_EXACT     (2 * ROW_HISTOGRAM_STEPS)
#define ROW_HISTOGRAM_SIZE      ((64 - ROW_HISTOGRAM_STEP_BITS + 1) * ROW_HISTOGRAM_STEPS)

struct row_histogram {
	uint64_t count[ROW_HISTOGRAM_SIZE]; /* unsaturated counters per bucket */
	uint64_t largest;                   /* largest unsaturated counter */
};

/* The histogram must start zeroed. Skips counters equal to `saturated`. */
void row_histogram_add(
	struct row_histogram *histogram, const uint64_t *counters, uint32_t n, uint64_t saturated);

/* `width` is the number of counters in a row. Returns UINT64_MAX if too many are saturated. */
uint64_t error_bound(const struct row_histogram *rows, uint32_t depth, uint64_t width,
	uint64_t keys, double confidence);
