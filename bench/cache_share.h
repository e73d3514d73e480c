/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Estimates the cache hit rate (P of Tangari et al.) from sampled lookup times, and from the
 * distributions of lookup times in a cache and in memory.
 *
 * A time t counts as a hit if 1 - CDF_cache(t) >= CDF_memory(t): a lookup in a cache takes t or
 * more with at least the probability that one in memory takes t or less. The left side falls with t
 * and the right side rises, so only the time at which they meet is needed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/distribution.h"

struct cache_share {
	double longest_ns; /* ns, the longest time that counts as a hit */
	/* fraction of hits that count as misses, equal to that of misses that count as hits */
	double wrong;
};

struct cache_share cache_share_of(
	const struct distribution *cached, const struct distribution *uncached);

static inline bool cache_share_hit(const struct cache_share *share, double ns)
{
	return ns <= share->longest_ns;
}

/* Returns the estimated share of cache hits, 0 to 1, corrected for misclassified times. */
double cache_share_estimate(const struct cache_share *share, uint64_t hits, uint64_t samples);
