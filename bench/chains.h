/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * How a hash spreads the keys of a workload over buckets. L is the number of keys in a bucket that
 * has any.
 */

#include "tune/workload.h"
#include "bench/table_hash.h"

#define CHAINS_LONG 4 /* keys */

struct chains {
	uint64_t used; /* buckets that have keys */
	double single; /* P(L = 1) */
	double mean;   /* E[L] */
	double tail;   /* P(L >= CHAINS_LONG) */
	uint32_t longest;
};

/* False where memory is missing. For the hash rss the workload must have flow hashes. */
bool chains_of(const struct workload *workload, enum table_hash hash, uint32_t nb_buckets,
	struct chains *chains);
