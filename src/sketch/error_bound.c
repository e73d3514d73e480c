/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/error_bound.h"

#include "base/assertion.h"

/*
 * Below ROW_HISTOGRAM_EXACT each bucket of the histogram is one value. Without a branch, because
 * counters of both kinds take turns.
 */
static inline uint32_t step_of(uint64_t value)
{
	uint32_t shift = 63 - (uint32_t)__builtin_clzll(value | ROW_HISTOGRAM_STEPS) -
			 ROW_HISTOGRAM_STEP_BITS;

	return (uint32_t)(value >> shift) + shift * ROW_HISTOGRAM_STEPS;
}

/* Returns the largest value that is counted in bucket `step`. */
static uint64_t step_edge(uint32_t step)
{
	uint32_t shift;
	uint64_t first;

	if (step < ROW_HISTOGRAM_EXACT)
		return step;
	shift = step / ROW_HISTOGRAM_STEPS - 1;
	first = (uint64_t)(step % ROW_HISTOGRAM_STEPS + ROW_HISTOGRAM_STEPS) << shift;
	return first + ((UINT64_C(1) << shift) - 1);
}

void row_histogram_add(
	struct row_histogram *histogram, const uint64_t *counters, uint32_t n, uint64_t saturated)
{
	uint64_t largest = histogram->largest;

	for (uint32_t i = 0; i < n; i++) {
		if (counters[i] == saturated)
			continue;
		histogram->count[step_of(counters[i])]++;
		largest = counters[i] > largest ? counters[i] : largest;
	}
	histogram->largest = largest;
}

static uint64_t largest_counter(const struct row_histogram *rows, uint32_t depth)
{
	uint64_t largest = 0;

	for (uint32_t r = 0; r < depth; r++)
		if (rows[r].largest > largest)
			largest = rows[r].largest;
	return largest;
}

uint64_t error_bound(const struct row_histogram *rows, uint32_t depth, uint64_t width,
	uint64_t keys, double confidence)
{
	uint64_t largest = largest_counter(rows, depth);
	uint64_t above[ERROR_BOUND_ROWS];

	VERIFY(depth, <=, (uint32_t)ERROR_BOUND_ROWS);
	for (uint32_t r = 0; r < depth; r++)
		above[r] = width;
	for (uint32_t step = 0; step < ROW_HISTOGRAM_SIZE; step++) {
		uint64_t edge = step_edge(step);
		double expected =
			(double)keys; /* expected number of keys with an error above edge */

		for (uint32_t r = 0; r < depth; r++) {
			above[r] -= rows[r].count[step];
			expected *= (double)above[r] / (double)width;
		}
		if (expected <= 1 - confidence)
			return edge < largest ? edge : largest;
		if (edge >= largest)
			break;
	}
	return UINT64_MAX;
}
