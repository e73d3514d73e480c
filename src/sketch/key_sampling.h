/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Shares of the keys: 1/2^k of them, by k bits of their hashes. They are nested: a key of 1/4 is one
 * of 1/2. A key's rank is the largest k of a share that it is in.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key_burst.h"

#define KEY_SHARE_MAX 6 /* 1/64 */

/*
 * The bits choose no bucket of a flow table, nothing in what is
 * made of `lo` beside (sketch/flow_states.h, report/merge/merge.c), and no register of a
 * HyperLogLog.
 */
static inline bool key_share_has(const struct key_hash *hash, uint32_t k)
{
	return ((uint32_t)hash->hi & ((UINT32_C(1) << k) - 1)) == 0;
}

/* KEY_SHARE_MAX: of larger ones, too. */
static inline uint32_t key_share_rank(const struct key_hash *hash)
{
	return (uint32_t)__builtin_ctzll(hash->hi | UINT64_C(1) << KEY_SHARE_MAX);
}

/* Packets of keys that were in no share that was counted then, and what they would have counted. */
struct key_sample_counts {
	uint64_t packets, bytes;
	uint64_t counted, counted_bytes; /* with their weights */
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
