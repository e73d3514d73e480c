/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * How far any estimate of rows of counters can be off, from the counters themselves
 * (docs/ESTIMATES.md has the proof): with F_r(t) the share of row r's counters above t, the least t
 * with keys * prod_r F_r(t) <= 1 - confidence.
 *
 * A row's histogram is exact below ROW_HISTOGRAM_EXACT and has ROW_HISTOGRAM_STEPS steps per octave above;
 * the bound is then the upper edge of its step, at most 1 / ROW_HISTOGRAM_STEPS too large.
 */

#include <stdint.h>

#define ERROR_BOUND_ROWS 16 /* at most */

#define ROW_HISTOGRAM_STEP_BITS 6
#define ROW_HISTOGRAM_STEPS     (1 << ROW_HISTOGRAM_STEP_BITS)
#define ROW_HISTOGRAM_EXACT     (2 * ROW_HISTOGRAM_STEPS)
#define ROW_HISTOGRAM_SIZE      ((64 - ROW_HISTOGRAM_STEP_BITS + 1) * ROW_HISTOGRAM_STEPS)

struct row_histogram {
	uint64_t count[ROW_HISTOGRAM_SIZE]; /* histogram of unsaturated counters */
	uint64_t largest;                   /* largest of them */
};

/* Adds counters of a row to a histogram that began as zeroes. */
void row_histogram_add(
	struct row_histogram *histogram, const uint64_t *counters, uint32_t n, uint64_t saturated);

/*
 * Returns the bound for `keys` distinct keys over rows[depth <= ERROR_BOUND_ROWS] of `width`
 * counters each; UINT64_MAX if too many counters are saturated.
 */
uint64_t error_bound(const struct row_histogram *rows, uint32_t depth, uint64_t width,
	uint64_t keys, double confidence);
