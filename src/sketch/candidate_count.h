/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What was counted of a listed key, and the number of times its way has changed hands, in one
 * word that a compare-and-swap changes at once:
 *
 *     generation  7 bits   0: free; odd: changing hands; else a key is listed
 *     packets    23 bits
 *     bytes      34 bits
 *
 * An addition to a count that reads 2^22 packets or 2^33 bytes must wait until that is carried into
 * the bucket's own sums; what is added at once is less than 2^22 packets and 2^33 bytes, so neither
 * number ever reaches into its neighbour.
 *
 * Generations do not wrap before the next reset, so a count never becomes again what it was before
 * its way changed hands. A way is taken once while it is free and then only by an estimate above
 * four times the upper that it replaces, which becomes the new upper, and uppers only rise: from 1
 * at least, 16 times at most below 2^32 and 32 times below 2^64, and once more by a saturated
 * estimate, which nothing exceeds. Each time is two generations: 68 at most, of 128.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sketch/candidates.h"

#define COUNT_BYTES_BITS       34
#define COUNT_GENERATION_SHIFT 57

#define COUNT_PACKET       (UINT64_C(1) << COUNT_BYTES_BITS)
#define COUNT_GENERATION   (UINT64_C(1) << COUNT_GENERATION_SHIFT)
/* What may be added at once is less; what reads this or more must be carried. */
#define COUNT_BYTES_FULL   (UINT64_C(1) << (COUNT_BYTES_BITS - 1))
#define COUNT_PACKETS_FULL (UINT64_C(1) << (COUNT_GENERATION_SHIFT - 1))

static inline uint64_t count_generation(uint64_t count)
{
	return count >> COUNT_GENERATION_SHIFT;
}

static inline bool count_is_listed(uint64_t count)
{
	return count_generation(count) != 0 && count_generation(count) % 2 == 0;
}

static inline uint64_t count_packets(uint64_t count)
{
	return (count & (COUNT_GENERATION - 1)) >> COUNT_BYTES_BITS;
}

static inline uint64_t count_bytes(uint64_t count)
{
	return count & (COUNT_PACKET - 1);
}

static inline bool count_is_full(uint64_t count)
{
	return (count & (COUNT_BYTES_FULL | COUNT_PACKETS_FULL)) != 0;
}

/* The next generation of a way, with nothing counted. */
static inline uint64_t count_next(uint64_t count)
{
	return (count_generation(count) + 1) << COUNT_GENERATION_SHIFT;
}

/*
 * Packets and bytes of a listed key. Its count is read after what was carried, and is lowered
 * before that is raised: of a count that is being carried too little is read, never too much.
 */
static inline uint64_t since_packets(const struct candidate_bucket *bucket, uint32_t way)
{
	/* Acquire: pairs with the release in carry(). */
	uint64_t carried =
		atomic_load_explicit(&bucket->carried_packets[way], memory_order_acquire);
	uint64_t count = atomic_load_explicit(&bucket->entry[way].count, memory_order_acquire);

	return carried + count_packets(count);
}

static inline uint64_t since_bytes(const struct candidate_bucket *bucket, uint32_t way)
{
	/* Acquire: pairs with the release in carry(). */
	uint64_t carried = atomic_load_explicit(&bucket->carried_bytes[way], memory_order_acquire);
	uint64_t count = atomic_load_explicit(&bucket->entry[way].count, memory_order_acquire);

	return carried + count_bytes(count);
}
