/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Simple hash table. The hash of a key selects a pair of two buckets in one cache line, each with
 * a key and its counts, in packets or in bytes:
 *
 *     since     count of a stored key from the packet on with which it was stored
 *     before    upper bound of its earlier count
 *     upper     since + before; 0 for a free bucket
 *     rest      upper bound of the count of each key that the pair does not store
 *
 * A packet of a stored key adds its weight to since. For any other key, if rest + weight exceeds
 * the smaller upper of the pair, the key replaces the key of that bucket: since = weight, before =
 * rest, and the old upper is the new rest. Otherwise rest grows by weight. This is the summary of
 * Misra and Gries (1982) with two counters, upper - rest (proofs: docs/ESTIMATES.md):
 *
 * (a) For a stored key, since <= true count <= upper. For any other key, true count <= rest.
 * (b) rest <= upper. The uppers and rest together equal the weight of all packets of the pair
 * (less in a merged pair), so that a key with more than a third of this weight is always stored.
 * (c) A key that takes a free bucket has an exact count. While rest is 0, all keys are stored.
 *
 * IPv4 keys need no memory: listing inverts the hash. Two IPv6 keys have the same hash with a
 * probability of 2^-128. A free bucket has the hash 0. The only IPv4 key with this hash counts as
 * stored from the start.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "key/key_burst.h"
#include "sketch/sketch.h"

#define BUCKET_WAYS      2
#define BUCKET_BYTES_MAX ((UINT64_C(1) << 47) - 1)
#define BUCKET_IPV6      (1 << 15) /* bit of bytes_high: the key is IPv6 */
#define REST_MAX         ((UINT32_C(1) << 31) - 1)
#define REST_OWNED       (UINT32_C(1) << 31) /* bit of rest: a thread is changing the pair */

/*
 * All counts saturate, and then have no upper bound. Threads that share an instance access a pair
 * only between setting and clearing REST_OWNED.
 */
struct bucket_pair {
	struct key_hash hash[BUCKET_WAYS];
	uint32_t packets[BUCKET_WAYS]; /* since the key was stored; 0: free bucket */
	uint32_t bytes_low[BUCKET_WAYS];
	uint32_t before[BUCKET_WAYS];
	uint16_t bytes_high[BUCKET_WAYS]; /* 15 bits, and BUCKET_IPV6 */
	_Atomic uint32_t rest;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct bucket_pair) == 64, "two buckets are one cache line");

struct simple_hash {
	struct sketch sketch;
	uint32_t bits; /* log2 of the number of pairs */
	struct bucket_pair *pairs;
	struct key6 *key6; /* one per bucket, valid if the bucket has BUCKET_IPV6 */
};

extern const struct sketch_ops simple_hash_ops;

static inline uint64_t bucket_bytes(const struct bucket_pair *pair, uint32_t way)
{
	return pair->bytes_low[way] | (uint64_t)(pair->bytes_high[way] & ~BUCKET_IPV6) << 32;
}
