/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The list of heavy keys of one thread, in front of a sketch's counters. Packets of a listed key
 * are counted here, exactly, and never reach the counters. When another key replaces it, its count
 * is added to the counters. (The "filter" of Roy, Khan, Alonso, "Augmented Sketch", SIGMOD 2016, as
 * a set-associative table.) So most packets of skewed traffic cost one lookup and one plain
 * addition, and heavy keys do not distort the counters of other keys.
 *
 * The hash of a key selects a bucket of sixteen ways. A way holds a key, its count since it was
 * listed, and `before`, an upper bound of its earlier count. In the sketch's metric:
 *
 *     upper = since + before,  true count <= upper.
 *
 * Every packet is counted in exactly one place, a way or the counters. So the counters plus all
 * ways equal a plain sketch that counted every packet, and the counters bound the count of a key
 * that is not listed.
 *
 * Ways are never freed. While a bucket has a free way, each of its keys has been listed since its
 * first packet: before = 0, and its count is exact. In a full bucket, an unlisted key replaces the
 * key with the smallest upper if its estimate exceeds four times that upper. The factor keeps keys
 * of similar size from evicting each other packet by packet. A factor of 1.25 doubles the
 * replacements, measured on captures.
 *
 * Each bucket stores its admission, the smallest estimate at which a key may be admitted, so that
 * most packets need no scan of the bucket. It is 0 while the bucket has a free way, and otherwise
 * at most the limit that its present uppers give.
 *
 * Bits of the hash: the highest bits of hash.hi select the bucket, the highest 16 bits of hash.lo
 * are the tag. Rows of a sketch use the hash from the lowest bit upwards (row_index.h). So at
 * default sizes no row shares a bit with the bucket number, and keys of one bucket collide in a
 * counter no more often than others. The tag only narrows the search; the whole hash identifies the
 * key.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/key_burst.h"
#include "sketch/sketch.h"
#include "sketch/tag_match.h"
#include "sketch/weight.h"

#define CANDIDATES_DEFAULT 4096
#define CANDIDATES_MAX     (UINT32_C(1) << 24)

struct candidate_entry {
	uint64_t hash_lo, hash_hi;
	uint64_t packets, bytes; /* since the key was listed, including that packet */
};

/* Fields read only when a key is listed or reported. */
struct candidate_origin {
	struct key key;
	uint64_t before; /* upper bound of the earlier count; UINT64_MAX: unknown */
};

struct candidates {
	/*
	 * Arrays over the buckets. The lookup of most unlisted keys reads only tags and admission.
	 */
	uint64_t *admission;
	uint16_t (*tag)[TAG_WAYS]; /* 0: free way */
	struct candidate_entry (*entry)[TAG_WAYS];
	struct candidate_origin (*origin)[TAG_WAYS];
	uint32_t nb_buckets;
	uint32_t bucket_shift; /* hash.hi >> bucket_shift is the bucket */
	enum sketch_metric metric;
	bool turned_away; /* true: a packet went to the counters */
	bool forgot; /* true: the sketch has counted keys that were never offered to the list */
	uint64_t replaced;
} __attribute__((aligned(64)));

/* Packets of a burst, divided by whether their key is listed; both arrays ascend. */
struct candidates_split {
	uint32_t nb_listed, nb_others;
	uint8_t listed[BURST_MAX], others[BURST_MAX]; /* packet numbers */
	struct candidate_entry *entry[BURST_MAX];     /* entry of listed[k] */
};

/* Count of a key that was removed from the list, in the metric. */
struct candidate_evicted {
	struct key key;
	struct key_hash hash;
	uint64_t amount;
};

/* Bytes of a table for `capacity` keys, 1 to CANDIDATES_MAX. */
size_t candidates_memory(uint32_t capacity);

/* Lays the table out in zeroed memory[candidates_memory(capacity)], aligned to 64 bytes. */
void candidates_init(
	struct candidates *candidates, void *memory, uint32_t capacity, enum sketch_metric metric);

/* Restores the state after candidates_init(). */
void candidates_reset(struct candidates *candidates);

/* Removes all keys, for a sketch that has just merged packets of another. */
void candidates_forget(struct candidates *candidates);

/* Looks up the keys of packets start to burst->n - 1. */
void candidates_split(const struct candidates *candidates, const struct key_burst *burst,
	uint32_t start, struct candidates_split *split);

/* Returns the first index in split->listed, from `from` on, of a packet >= i. */
uint32_t candidates_before(const struct candidates_split *split, uint32_t from, uint32_t i);

/* Counts split->listed[from] to [until - 1]. */
void candidates_count(const struct key_burst *burst, const struct candidates_split *split,
	uint32_t from, uint32_t until);
void candidates_count_weighted(const struct key_burst *burst, const struct candidates_split *split,
	uint32_t from, uint32_t until);

/* Counts further packets of a listed key. */
void candidates_count_key(const struct candidates *candidates, const struct key_hash *hash,
	const struct weight *weight);

/*
 * Offers unlisted packet i of `bytes` bytes. Everything before it must have been counted. `before`
 * is the estimate of its key without this packet; UINT64_MAX: saturated. Returns true if the key
 * was listed and the packet counted: then the caller must add *evicted to the counters if its
 * amount is not 0. Otherwise the caller must add the packet to the counters.
 */
bool candidates_offer(struct candidates *candidates, const struct key_burst *burst, uint32_t i,
	uint64_t bytes, uint64_t before, struct candidate_evicted *evicted);

/*
 * Records that packets were added to the counters without being offered, because their estimates
 * were too low.
 */
static inline void candidates_turn_away(struct candidates *candidates)
{
	if (!candidates->turned_away)
		candidates->turned_away = true;
}

/* Returns the count of a key in the list, in the metric; 0 if it is not listed. */
uint64_t candidates_since(const struct candidates *candidates, const struct key_hash *hash);

/* Emits every listed key, by bucket and way. */
void candidates_emit(const struct candidates *candidates, sketch_emit_fn emit, void *arg);

/* True while every key that the sketch counted is listed. */
bool candidates_complete(const struct candidates *candidates);

/* True while no key is listed. */
bool candidates_empty(const struct candidates *candidates);
