/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/formula.h"

#define SAMPLES_LEAST 30

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

bool formula_times_find(struct formula_times *times, const struct profile *profile,
	const struct profile_what *sketch)
{
	struct profile_what what = *sketch, lookup = *sketch;
	const struct profile_row *hit, *miss, *insert, *hit_lookup, *miss_lookup;

	what.state = lookup.state = FLOW_COUNT;
	lookup.single = lookup.lookup = true;
	what.traffic = lookup.traffic = PROFILE_CACHED;
	hit = profile_find(profile, &what);
	hit_lookup = profile_find(profile, &lookup);
	what.traffic = lookup.traffic = PROFILE_UNCACHED;
	miss = profile_find(profile, &what);
	miss_lookup = profile_find(profile, &lookup);
	what.traffic = PROFILE_NEW;
	insert = profile_find(profile, &what);
	if (hit == NULL || miss == NULL || insert == NULL || hit_lookup == NULL ||
		miss_lookup == NULL)
		return false;
	*times = (struct formula_times){
		.hit_ns = hit->times.mean,
		.miss_ns = miss->times.mean,
		.insert_ns = insert->times.mean,
		.hit_lookup_ns = hit_lookup->times.mean,
		.miss_lookup_ns = miss_lookup->times.mean,
		.share = cache_share_of(&hit_lookup->times, &miss_lookup->times),
	};
	return true;
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
