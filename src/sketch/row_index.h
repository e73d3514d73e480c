/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Selects bits of a key's 128-bit hash as the index of its counter in each row.
 *
 * Row r uses `bits` bits of the hash, from bit r * stride upwards. Bit 0 is the lowest bit of
 * hash.lo, bit 64 the lowest bit of hash.hi. With up to four rows of up to 2^32 counters the stride
 * is 32, so that each row has its own 32-bit lane. Otherwise the stride is `bits`. No two rows
 * share a bit, so that rows are independent if the hash is uniform.
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

/*
 * Returns the index of the counter in the row, without a branch at run time. If `row` and `stride`
 * are compile-time constants and stride is ROW_LANE_BITS, this is one load and one AND.
 */
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
