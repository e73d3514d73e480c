/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Distribution of keys over the buckets of a hash table. L: keys in a non-empty bucket. */

#include "tune/measure/workload.h"
#include "bench/table_hash.h"

#define CHAINS_LONG 4

struct chains {
	uint64_t used;
	double mean; /* E[L] */
	double tail; /* P(L >= CHAINS_LONG) */
	uint32_t longest;
	double *of_length; /* P(L = l), [longest + 1], from 1 on */
};

/*
 * Returns false if out of memory. The hash rss needs a workload with flow hashes. The result must
 * be passed to chains_free().
 */
bool chains_of(const struct workload *workload, enum table_hash hash, uint32_t nb_buckets,
	struct chains *chains);

/* Chains that are all 0 are allowed. */
void chains_free(struct chains *chains);
