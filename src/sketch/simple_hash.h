/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The simple hash table: one row of buckets, each with a key and what was counted of it. This is
 * the inside of it, for its own file and its tests; everybody else uses sketch.h.
 *
 * Two buckets, a pair, share a cache line, and the hash chooses the pair: a packet touches one
 * line, and three heavy keys must meet, not two, before any of them is hurt. In the sketch's
 * metric,
 *
 *     since     what was counted of a stored key, from the packet on with which it was stored
 *     before    an upper bound of what it had earlier
 *     upper     since + before; 0 for a free bucket
 *     rest      an upper bound of any key that the pair does not store
 *
 * A packet of a stored key adds its weight to since. For any other key rest + weight is an upper
 * bound. Of the three numbers upper, upper, rest + weight the two largest stay as buckets, and the
 * third is the new rest:
 *
 *     if rest + weight > the smaller upper: the key takes that bucket, with since = weight and
 *         before = rest, and the upper that was there is the new rest;
 *     else rest grows by weight.
 *
 * This is the summary of Misra and Gries (1982) with two counters, upper - rest. Three consequences
 * (docs/ESTIMATES.md has the proofs and how tables are merged):
 *
 * (a) since <= truth <= upper for a stored key, and truth <= rest for any other, always.
 * (b) rest <= upper, and upper + upper + rest = the weight of the pair's packets, as each adds its
 *     own to one of the three (a merged pair may have less). So rest is at most a third of it, and
 * a key with more than a third is stored, whatever the order of the packets. (c) A key that takes a
 * free bucket has before = 0 and is counted exactly. While rest = 0 every key of the pair is
 * stored.
 *
 * A key is known by its hash. For IPv4 the hash is a permutation of the key (key/hash.h): equal
 * hashes are equal keys, and the key itself takes no room, as listing inverts the hash. Two IPv6
 * keys have the same hash with probability 2^-128; these keys stand in an array beside the buckets
 * that is only touched when one is stored or listed. A free bucket has the hash 0: the one IPv4 key
 * whose hash that is finds itself stored from the start.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "key/key_burst.h"
#include "sketch/sketch.h"

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
};

extern const struct sketch_ops simple_hash_ops;

static inline uint64_t bucket_bytes(const struct bucket_pair *pair, uint32_t way)
{
	return pair->bytes_low[way] | (uint64_t)(pair->bytes_high[way] & ~BUCKET_IPV6) << 32;
}
