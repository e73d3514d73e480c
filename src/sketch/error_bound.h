/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Error bound of the estimates of counter rows, computed from the counters (proof:
 * docs/ESTIMATES.md). With F_r(t) the share of the counters of row r above t, the bound is the
 * smallest t with keys * prod_r F_r(t) <= 1 - confidence.
 *
 * A row's histogram is exact below ROW_HISTOGRAM_EXACT and has ROW_HISTOGRAM_STEPS steps per octave
 * above. There the bound is the upper edge of its step, at most 1 / ROW_HISTOGRAM_STEPS too large.
 */

#include <stdint.h>

#define ERROR_BOUND_ROWS 16 /* maximum depth */

#define ROW_HISTOGRAM_STEP_BITS 6
#define ROW_HISTOGRAM_STEPS     (1 << ROW_HISTOGRAM_STEP_BITS)
#define ROW_HISTOGRAM_EXACT     (2 * ROW_HISTOGRAM_STEPS)
#define ROW_HISTOGRAM_SIZE      ((64 - ROW_HISTOGRAM_STEP_BITS + 1) * ROW_HISTOGRAM_STEPS)

struct row_histogram {
	uint64_t count[ROW_HISTOGRAM_SIZE]; /* unsaturated counters per step */
	uint64_t largest;                   /* largest unsaturated counter */
};

/*
 * Adds counters of a row to a histogram, which must start zeroed. Skips counters equal to
 * `saturated`.
 */
void row_histogram_add(
	struct row_histogram *histogram, const uint64_t *counters, uint32_t n, uint64_t saturated);

/*
 * Returns the bound for `keys` distinct keys over rows[depth <= ERROR_BOUND_ROWS] of `width`
 * counters each; UINT64_MAX if too many counters are saturated.
 */
uint64_t error_bound(const struct row_histogram *rows, uint32_t depth, uint64_t width,
	uint64_t keys, double confidence);
