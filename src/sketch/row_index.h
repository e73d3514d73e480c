/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The index of a key's counter is `bits` bits of its hash, from bit row * stride upwards. Bit 64
 * is the lowest bit of hash.hi. No two rows share a bit, so that rows are independent.
 */

#include <stdint.h>

#include "base/assertion.h"
#include "key/key_burst.h"

#define ROW_HASH_BITS  128
#define ROW_LANE_BITS  32
#define ROW_LANE_DEPTH (ROW_HASH_BITS / ROW_LANE_BITS)

static inline uint32_t row_stride(uint32_t depth, uint32_t bits)
{
	return depth <= ROW_LANE_DEPTH && bits <= ROW_LANE_BITS ? ROW_LANE_BITS : bits;
}

/* With compile-time constants and the stride ROW_LANE_BITS, this is one load and one AND. */
static inline __attribute__((always_inline)) uint64_t row_index(
	const struct key_hash *hash, uint32_t row, uint32_t stride, uint32_t bits)
{
	uint64_t mask = (UINT64_C(1) << bits) - 1;
	unsigned __int128 word;

	ASSERT((row + 1) * stride, <=, (uint32_t)ROW_HASH_BITS);
	ASSERT(bits, <, 64u);
	if (__builtin_constant_p(stride) && stride == ROW_LANE_BITS && __builtin_constant_p(row))
		return (uint32_t)((row < 2 ? hash->lo : hash->hi) >> (row % 2 * ROW_LANE_BITS)) &
		       mask;
	word = (unsigned __int128)hash->hi << 64 | hash->lo;
	return (uint64_t)(word >> (row * stride)) & mask;
}
