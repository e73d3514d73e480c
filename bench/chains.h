/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Distribution of keys over the buckets of a hash table. L: keys in a non-empty bucket. */

#include "tune/measure/workload.h"
#include "bench/table_hash.h"

#define CHAINS_LONG    4
/* the last one includes longer chains */
#define CHAINS_LENGTHS 16

struct chains {
	uint64_t used;
	double mean;                          /* E[L] */
	double tail;                          /* P(L >= CHAINS_LONG) */
	double of_length[CHAINS_LENGTHS + 1]; /* P(L = l), from 1 on */
	uint32_t longest;
};

/* Returns false if out of memory. The hash rss needs a workload with flow hashes. */
bool chains_of(const struct workload *workload, enum table_hash hash, uint32_t nb_buckets,
	struct chains *chains);
