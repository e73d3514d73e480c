/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Simple hash table: one row of buckets, each with a key and its count. Internals for
 * simple_hash.c and its tests. Other code uses sketch.h.
 *
 * The hash of a key selects a pair of two buckets in one cache line. A packet therefore touches
 * one cache line, and a heavy key loses accuracy only if three heavy keys, not two, share a pair.
 * These numbers are in packets or in bytes:
 *
 *     since     count of a stored key, including the packet with which it was stored
 *     before    upper bound of its earlier count
 *     upper     since + before; 0 for a free bucket
 *     rest      upper bound of the count of each key that the pair does not store
 *
 * A packet of a stored key adds its weight to since. Any other key has at most rest + weight. If
 * this exceeds the smaller upper of the pair, the key replaces the key of that bucket:
 * since = weight, before = rest, and the upper that was there is the new rest. Otherwise rest
 * grows by weight.
 *
 * This is the summary of Misra and Gries (1982) with two counters, upper - rest. It has three
 * consequences (proofs, and the merging of tables: docs/ESTIMATES.md):
 *
 * (a) For a stored key, since <= true count <= upper. For any other key, true count <= rest.
 *
 * (b) rest <= upper. The upper of both buckets and rest together equal the weight of all packets of
 * the pair, because each packet adds its weight to one of the three (a merged pair may have less).
 * rest is therefore at most a third of this weight. A key with more than a third is always stored.
 *
 * (c) A key that takes a free bucket has before = 0 and an exact count. While rest is 0, all keys
 * of the pair are stored.
 *
 * The hash identifies the key. For IPv4 it is a permutation of the key (key/hash.h), so that the
 * key needs no memory: listing inverts the hash. Two IPv6 keys have the same hash with a
 * probability of 2^-128. IPv6 keys are in a separate array, which is accessed only when a key is
 * stored or listed. A free bucket has the hash 0. The only IPv4 key with this hash counts as
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
 * Two buckets. All counts saturate: packets at UINT32_MAX, bytes at BUCKET_BYTES_MAX, before and
 * rest at REST_MAX. A bucket with a saturated count has no upper bound.
 *
 * Threads that share an instance access a pair only while they own it: from setting to clearing
 * REST_OWNED.
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
	uint32_t bits; /* log2 of the number of elements of `pairs` */
	struct bucket_pair *pairs;
	struct key6 *key6; /* one per bucket, valid if the bucket has BUCKET_IPV6 */
};

extern const struct sketch_ops simple_hash_ops;

static inline uint64_t bucket_bytes(const struct bucket_pair *pair, uint32_t way)
{
	return pair->bytes_low[way] | (uint64_t)(pair->bytes_high[way] & ~BUCKET_IPV6) << 32;
}
