/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What one thread and several do alike to a bucket of candidates.h. */

#include "sketch/candidate_count.h"
#include "sketch/candidates.h"

#define ADMISSION_FACTOR 4 /* times the smallest upper */

static inline uint32_t tag_of(const struct key_hash *hash)
{
	return (uint32_t)(hash->lo >> 32) | 1; /* 0 says that a way is free */
}

static inline uint64_t add_saturating(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* An unlisted key's estimate must exceed it; of a floor or of the smallest upper itself. */
static inline uint64_t admission_of(uint64_t smallest)
{
	return smallest <= UINT64_MAX / ADMISSION_FACTOR ? smallest * ADMISSION_FACTOR : UINT64_MAX;
}

/* Of a key that is listed until this returns. */
static inline uint64_t upper_of(
	const struct candidates *candidates, const struct candidate_bucket *bucket, uint32_t way)
{
	/* Acquire: pairs with the release in list_key(). */
	uint64_t before = atomic_load_explicit(&bucket->entry[way].before, memory_order_acquire);
	uint64_t since = candidates->metric == SKETCH_PACKETS ? since_packets(bucket, way)
							      : since_bytes(bucket, way);

	return add_saturating(since, before);
}

/* What the sketch may have counted of packet i's key before it. */
static inline uint64_t counted_before(const struct candidates *candidates,
	const struct key_burst *burst, uint32_t i, uint64_t estimate)
{
	if (estimate >= candidates->saturated)
		return UINT64_MAX;
	return estimate - (candidates->metric == SKETCH_PACKETS ? 1 : burst->wire_len[i]);
}

/* What the key that takes a free way may have had before. */
static inline uint64_t before_of_first(const struct candidates *candidates,
	const struct key_burst *burst, uint32_t i, uint64_t estimate)
{
	return candidates->forgot ? counted_before(candidates, burst, i, estimate) : 0;
}

/*
 * Lists packet i's key in a way whose generation is odd and the caller's. Release: who acquires the
 * count sees all of it; who reads a part of it before that reads another generation afterwards.
 */
static inline void list_key(struct candidates *candidates, uint32_t b, uint32_t way,
	const struct key_burst *burst, uint32_t i, uint64_t before, uint64_t changing)
{
	struct candidate_bucket *bucket = &candidates->bucket[b];
	struct candidate_entry *entry = &bucket->entry[way];
	const struct key_hash *hash = &burst->hash[i];

	candidates->key[b * TAG_WAYS + way] = key_burst_get(burst, i);
	atomic_store_explicit(&bucket->carried_packets[way], 0, memory_order_release);
	atomic_store_explicit(&bucket->carried_bytes[way], 0, memory_order_release);
	atomic_store_explicit(&entry->before, before, memory_order_release);
	atomic_store_explicit(&entry->hash_lo, hash->lo, memory_order_release);
	atomic_store_explicit(&entry->hash_hi, hash->hi, memory_order_release);
	atomic_store_explicit(
		(_Atomic uint32_t *)&bucket->tag[way], tag_of(hash), memory_order_release);
	atomic_store_explicit(&entry->count,
		count_next(changing) + COUNT_PACKET + burst->wire_len[i], memory_order_release);
}

/* Keeps what was just taken out of a count, by the one thread that may. */
static inline void carry(struct candidate_bucket *bucket, uint32_t way, uint64_t count)
{
	_Atomic uint64_t *packets = &bucket->carried_packets[way];
	_Atomic uint64_t *bytes = &bucket->carried_bytes[way];

	/* Release: who reads the sum finds the count lowered. */
	atomic_store_explicit(packets,
		atomic_load_explicit(packets, memory_order_relaxed) + count_packets(count),
		memory_order_release);
	atomic_store_explicit(bytes,
		atomic_load_explicit(bytes, memory_order_relaxed) + count_bytes(count),
		memory_order_release);
}

/* After a scan of a full bucket, because of an unlisted key, found its smallest upper. */
static inline void raise_floor(struct candidates *candidates, uint32_t b, uint64_t smallest)
{
	uint64_t floor = smallest < candidates->saturated ? smallest : candidates->saturated - 1;

	/* Release: pairs with the acquire of floors in candidates_shared.c. */
	atomic_store_explicit(&candidates->floor[b], floor, memory_order_release);
	if (!atomic_load_explicit(&candidates->turned_away, memory_order_relaxed))
		atomic_store_explicit(&candidates->turned_away, true, memory_order_relaxed);
}
