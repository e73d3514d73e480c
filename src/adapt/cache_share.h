/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Estimates the cache hit rate (P of Tangari et al.) from sampled lookup times. A time t counts as
 * a hit if 1 - CDF_cache(t) >= CDF_memory(t). The left side falls with t and the right side rises,
 * so one threshold suffices.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/distribution.h"

struct cache_share {
	double longest_ns; /* longest time that counts as a hit */
	/*
	 * fraction of hits that count as misses; the fraction of misses that count as hits is the
	 * same
	 */
	double wrong;
};

struct cache_share cache_share_of(
	const struct distribution *cached, const struct distribution *uncached);

static inline bool cache_share_hit(const struct cache_share *share, double ns)
{
	return ns <= share->longest_ns;
}

/* Returns the share of cache hits, 0 to 1, corrected for misclassified times. */
double cache_share_estimate(const struct cache_share *share, uint64_t hits, uint64_t samples);
