/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/formula.h"

#define SAMPLES_LEAST 30

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void formula_estimate(const struct formula_times *times, const struct formula_lookups *lookups,
	struct formula_window *window)
{
	uint64_t samples = lookups->samples;

	if (samples < SAMPLES_LEAST)
		return;
	window->known = true;
	window->lambda = (double)least(lookups->new_flows, samples) / (double)samples;
	window->p = cache_share_estimate(&times->share, least(lookups->hits, samples), samples);
}

double formula_ns(const struct formula_times *times, const struct formula_window *window)
{
	double known = times->hit_ns * window->p + times->miss_ns * (1 - window->p);

	return (1 - window->lambda) * known + window->lambda * times->insert_ns;
}

double formula_lookup_ns(const struct formula_times *times, const struct formula_window *window)
{
	return times->hit_lookup_ns * window->p + times->miss_lookup_ns * (1 - window->p);
}
