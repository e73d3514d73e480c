/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * How many of the entries that packets asked for were in a cache (P of Tangari et al.), by the times
 * of some of them and how such times are distributed, in a cache and in memory.
 *
 * A time t is a cache's where a cache takes as long or longer more often than memory takes no longer:
 * 1 - CDF_cache(t) >= CDF_memory(t). The left side falls and the right one rises, so all that is
 * needed of both in a run is the time at which they meet.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/distribution.h"

struct cache_share {
	double longest_ns; /* that is a cache's */
	double wrong;      /* share of either that is taken for the other */
};

struct cache_share cache_share_of(
	const struct distribution *cached, const struct distribution *uncached);

static inline bool cache_share_hit(const struct cache_share *share, double ns)
{
	return ns <= share->longest_ns;
}

/* P, less what is known to be taken for the other: 0 to 1. */
double cache_share_estimate(const struct cache_share *share, uint64_t hits, uint64_t samples);
