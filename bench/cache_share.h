/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Estimates the cache hit rate (P of Tangari et al.) from sampled lookup times and the
 * distributions of times in a cache and in memory.
 *
 * A time t counts as a hit if 1 - CDF_cache(t) >= CDF_memory(t): a cache takes at least t more
 * often than memory takes at most t. The left side falls and the right side rises, so a run needs
 * only the time at which they meet.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/distribution.h"

struct cache_share {
	double longest_ns; /* ns, the longest time that counts as a hit */
	double wrong;      /* fraction of hits, and of misses, that is misclassified */
};

struct cache_share cache_share_of(
	const struct distribution *cached, const struct distribution *uncached);

static inline bool cache_share_hit(const struct cache_share *share, double ns)
{
	return ns <= share->longest_ns;
}

/* Returns P, corrected for misclassified times: 0 to 1. */
double cache_share_estimate(const struct cache_share *share, uint64_t hits, uint64_t samples);
