/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * How a hash spreads the keys of a workload over buckets. L is the number of keys in a bucket that
 * has any.
 */

#include "tune/measure/workload.h"
#include "bench/table_hash.h"

#define CHAINS_LONG    4  /* keys */
#define CHAINS_LENGTHS 16 /* told apart; what is longer counts as the last */

struct chains {
	uint64_t used;                        /* buckets that have keys */
	double mean;                          /* E[L] */
	double tail;                          /* P(L >= CHAINS_LONG) */
	double of_length[CHAINS_LENGTHS + 1]; /* P(L = l), from 1 on */
	uint32_t longest;
};

/* False where memory is missing. For the hash rss the workload must have flow hashes. */
bool chains_of(const struct workload *workload, enum table_hash hash, uint32_t nb_buckets,
	struct chains *chains);
