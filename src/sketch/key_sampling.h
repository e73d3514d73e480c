/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Samples keys by bits of their hashes. A share 1/2^k consists of the keys whose lowest k bits are
 * 0. Shares are nested: a key in the share 1/4 is also in the share 1/2. The rank of a key is the
 * largest k of a share that contains it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key_burst.h"

#define KEY_SHARE_MAX 6 /* 1/64 */

/*
 * Returns true if the share 1/2^k contains the key. Flow table buckets, HyperLogLog registers and
 * all users of hash.lo (sketch/flow_states.h, report/merge/merge.c) depend on other bits of the
 * hash.
 */
static inline bool key_share_has(const struct key_hash *hash, uint32_t k)
{
	return ((uint32_t)hash->hi & ((UINT32_C(1) << k) - 1)) == 0;
}

/* Returns the rank of a key, at most KEY_SHARE_MAX. */
static inline uint32_t key_share_rank(const struct key_hash *hash)
{
	return (uint32_t)__builtin_ctzll(hash->hi | UINT64_C(1) << KEY_SHARE_MAX);
}

/*
 * Packets of keys that are not in the counted share, and their contribution if they had been
 * counted.
 */
struct key_sample_counts {
	uint64_t packets, bytes;
	uint64_t counted, counted_bytes; /* including weights */
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
