/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The share 1/2^k consists of the keys whose lowest k bits of hash.hi are 0. The rank of a key is
 * the largest k of a share that contains it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key_burst.h"

#define KEY_SHARE_MAX 6 /* 1/64 */

/* Flow table buckets, HyperLogLog registers and all users of hash.lo depend on other hash bits. */
static inline bool key_share_has(const struct key_hash *hash, uint32_t k)
{
	return ((uint32_t)hash->hi & ((UINT32_C(1) << k) - 1)) == 0;
}

/* Returns at most KEY_SHARE_MAX. */
static inline uint32_t key_share_rank(const struct key_hash *hash)
{
	return (uint32_t)__builtin_ctzll(hash->hi | UINT64_C(1) << KEY_SHARE_MAX);
}

/* Packets that were not counted, because their keys are not in the share. */
struct key_sample_counts {
	uint64_t packets, bytes;
	uint64_t counted, counted_bytes; /* what these packets would have added */
};

static inline void key_sample_add(
	struct key_sample_counts *sum, const struct key_sample_counts *left_out)
{
	sum->packets += left_out->packets;
	sum->bytes += left_out->bytes;
	sum->counted += left_out->counted;
	sum->counted_bytes += left_out->counted_bytes;
}

static inline void key_sample_subtract(
	struct key_sample_counts *sum, const struct key_sample_counts *left_out)
{
	sum->packets -= left_out->packets;
	sum->bytes -= left_out->bytes;
	sum->counted -= left_out->counted;
	sum->counted_bytes -= left_out->counted_bytes;
}
