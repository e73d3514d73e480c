/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Quantiles are at most 1/16 too high. Not thread-safe. */

#include <stdint.h>

#include "base/assertion.h"

#define HISTOGRAM_BITS  4
#define HISTOGRAM_STEPS (1U << HISTOGRAM_BITS)
/* Larger values are counted as this value. */
#define HISTOGRAM_MAX   ((UINT64_C(1) << 44) - 1)
#define HISTOGRAM_SIZE  ((44 - HISTOGRAM_BITS + 1) * HISTOGRAM_STEPS)

struct histogram {
	uint64_t n, max;
	uint64_t counts[HISTOGRAM_SIZE];
};

static inline uint32_t histogram_step(uint64_t value)
{
	uint32_t shift;

	if (value < HISTOGRAM_STEPS)
		return (uint32_t)value;
	if (value > HISTOGRAM_MAX)
		value = HISTOGRAM_MAX;
	shift = 63 - (uint32_t)__builtin_clzll(value) - HISTOGRAM_BITS;
	return shift * HISTOGRAM_STEPS + (uint32_t)(value >> shift);
}

/* Returns the largest value that is counted in bucket `step`. */
static inline uint64_t histogram_value(uint32_t step)
{
	uint32_t shift;

	ASSERT(step, <, (uint32_t)HISTOGRAM_SIZE);
	if (step < 2 * HISTOGRAM_STEPS)
		return step;
	shift = step / HISTOGRAM_STEPS - 1;
	return ((uint64_t)(step % HISTOGRAM_STEPS + HISTOGRAM_STEPS + 1) << shift) - 1;
}

static inline void histogram_add(struct histogram *histogram, uint64_t value, uint64_t times)
{
	histogram->n += times;
	if (value > histogram->max)
		histogram->max = value;
	histogram->counts[histogram_step(value)] += times;
}

static inline void histogram_merge(struct histogram *sum, const struct histogram *part)
{
	if (part->n == 0)
		return;
	sum->n += part->n;
	if (part->max > sum->max)
		sum->max = part->max;
	for (uint32_t s = 0; s < HISTOGRAM_SIZE; s++)
		sum->counts[s] += part->counts[s];
}

/* Returns the quantile `share` (0 to 1), or 0 if the histogram is empty. */
static inline uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
	uint64_t seen = 0, wanted = (uint64_t)(share * (double)histogram->n);
	uint32_t step = 0;

	if (histogram->n == 0)
		return 0;
	if ((double)wanted < share * (double)histogram->n)
		wanted++;
	while (step + 1 < HISTOGRAM_SIZE && (seen += histogram->counts[step]) < wanted)
		step++;
	return histogram_value(step) < histogram->max ? histogram_value(step) : histogram->max;
}
