/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The simple hash table: one row of buckets, a key and its counts in each. Inside of the sketch,
 * for its own file and its tests. Everybody else uses sketch.h.
 *
 * Two buckets share a cache line, and a key may be stored in either: one line is touched per
 * packet, and it takes three heavy keys in one line, not two in one bucket, before any is hurt.
 *
 * In the sketch's metric, every stored key has, and every pair has for all the keys that it does
 * not store,
 *
 *     since + before = upper       (since is exact, before is from before the key was stored)
 *     rest                         (no key that is not stored has more)
 *
 * A packet of a stored key adds its weight to that key's since. A packet of any other key makes
 * that key's upper rest + weight, and of the three numbers upper, upper, rest + weight the two
 * largest stay as buckets; the third is the new rest. So:
 *
 *     if rest + weight > the smaller upper:    the key takes that bucket,
 *                                              since = weight, before = rest; rest = that upper
 *     else                                     rest = rest + weight
 *
 * A free bucket is one of upper 0, and loses to anybody. This is Misra and Gries' summary (1982)
 * with two counters, upper - rest: what both bounds are made of is in it at no cost.
 *
 * (a) since <= truth <= upper for a stored key, truth <= rest for any other: always.
 *     A key that is not stored had at most rest before this packet, rest + weight after it. If it
 *     is stored now, since counts this packet and before what came earlier. If not, the new rest
 *     covers it, as rest only rises; and the key that lost its bucket had at most its upper, which
 *     is the new rest.
 * (b) upper + upper + rest = the weight of all packets of the pair, exactly: each adds its weight
 *     to one of the three. As rest is the least of them, rest <= weight of the pair / 3: a key with
 *     more than a third of what its pair sees is stored, whatever the order of the packets.
 * (c) A key that takes a free bucket has before = 0: it is counted exactly. While rest = 0 nobody
 *     was turned away, and every key is stored.
 *
 * No number says that a bucket is free, and none is needed: a free one has the hash 0, and the one
 * IPv4 key whose hash that is may well be counted in it.
 *
 * A key is known by its 128-bit hash. For IPv4 the hash is a permutation of the key (base/hash.h):
 * equal hashes are equal keys, and the key needs no room, as its hash is inverted on listing. IPv6
 * keys have the same hash with probability 2^-128; they stand in an array beside the buckets, which
 * is only touched when such a key is stored or listed.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "base/key_burst.h"
#include "sketch/sketch.h"
#include "sketch/spinlock.h"

#define BUCKET_WAYS      2
#define BUCKET_BYTES_MAX ((UINT64_C(1) << 47) - 1)
#define BUCKET_IPV6      (1 << 15) /* of bytes_high: the key is IPv6 */
#define REST_MAX         ((UINT32_C(1) << 31) - 1)
#define REST_OWNED       (UINT32_C(1) << 31) /* of rest: a thread is changing the pair */

/*
 * Two buckets. All counts saturate: packets at UINT32_MAX, bytes at BUCKET_BYTES_MAX, before and
 * rest at REST_MAX. A bucket with a saturated count has no upper bound.
 *
 * Threads that share an instance read and write a pair only between setting REST_OWNED and clearing
 * it.
 */
struct bucket_pair {
	struct key_hash hash[BUCKET_WAYS];
	uint32_t packets[BUCKET_WAYS]; /* since the key was stored; 0: the bucket is free */
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
	struct key6 *key6; /* of each bucket, where it says BUCKET_IPV6 */
	struct spinlock lock __attribute__((aligned(64))); /* of ATOMIC_LOCK */
};

extern const struct sketch_ops simple_hash_ops;

static inline uint64_t bucket_bytes(const struct bucket_pair *pair, uint32_t way)
{
	return pair->bytes_low[way] | (uint64_t)(pair->bytes_high[way] & ~BUCKET_IPV6) << 32;
}
