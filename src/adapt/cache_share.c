/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/cache_share.h"

#include <math.h>

#include "base/assertion.h"

#define STEPS 60

struct cache_share cache_share_of(
	const struct distribution *cached, const struct distribution *uncached)
{
	double low = fmin(cached->p5, uncached->p5), high = fmax(cached->p95, uncached->p95);

	for (uint32_t step = 0; step < STEPS; step++) {
		double t = (low + high) / 2;

		if (1 - distribution_below(cached, t) >= distribution_below(uncached, t))
			low = t;
		else
			high = t;
	}
	return (struct cache_share){low, distribution_below(uncached, low)};
}

double cache_share_estimate(const struct cache_share *share, uint64_t hits, uint64_t samples)
{
	double found = (double)hits / (double)samples;

	VERIFY(hits, <=, samples);
	if (share->wrong >= 0.5)
		return found;
	return fmin(fmax((found - share->wrong) / (1 - 2 * share->wrong), 0), 1);
}
