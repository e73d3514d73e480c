/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * List of the heavy keys of one thread, in front of the counters of a sketch. Packets of a listed
 * key are counted exactly, in the list, and never reach the counters. If another key replaces the
 * listed key, its count is added to the counters. Most packets of skewed traffic then cost one
 * lookup and one plain addition, and heavy keys do not distort the counters of other keys. This is
 * the filter of Roy, Khan and Alonso, Augmented Sketch (SIGMOD 2016), as a set-associative table.
 *
 * The hash of a key selects a bucket of sixteen ways. A way holds a key, `since` (its count since
 * it was listed) and `before` (an upper bound of its earlier count), both in packets or in bytes.
 * Their sum is called upper. The true count of the key is at most upper.
 *
 * Every packet is counted in exactly one place, a way or the counters. Counters and ways together
 * equal a plain sketch of all packets. The counters bound the count of each unlisted key.
 *
 * Ways are never freed. While a bucket has a free way, each of its keys has been listed since its
 * first packet: `before` is 0, and its count is exact. In a full bucket, a new key replaces the key
 * with the smallest upper if the new key's estimate exceeds four times that upper. With a smaller
 * factor, keys of similar size would often replace each other: 1.25 doubles the replacements,
 * measured on captures.
 *
 * Each bucket stores its admission, the smallest estimate at which it admits a key, so that most
 * packets need no scan of the bucket. It is 0 while the bucket has a free way. Otherwise it may be
 * too low, because uppers have grown since it was set, but never too high.
 *
 * Bits of the hash: the highest bits of hash.hi select the bucket. The highest 16 bits of hash.lo
 * are the tag, which is compared before the whole hash. Rows of a sketch use the hash from the
 * lowest bit upwards (row_index.h). At default sizes, no row uses a bit of the bucket number. Keys
 * of one bucket then collide in a counter no more often than other keys.
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
	uint64_t packets, bytes; /* since the key was listed, including the packet that listed it */
};

/* Fields read only when a key is listed or reported. */
struct candidate_origin {
	struct key key;
	uint64_t before; /* upper bound of the earlier count; UINT64_MAX: unknown */
};

struct candidates {
	/*
	 * Arrays with one element per bucket. For most unlisted keys, a lookup reads only tags and
	 * admission.
	 */
	uint64_t *admission;
	uint16_t (*tag)[TAG_WAYS]; /* 0: free way */
	struct candidate_entry (*entry)[TAG_WAYS];
	struct candidate_origin (*origin)[TAG_WAYS];
	uint32_t nb_buckets;
	uint32_t bucket_shift; /* hash.hi >> bucket_shift is the bucket */
	enum sketch_metric metric;
	bool turned_away; /* true: a packet went to the counters */
	bool forgot;      /* true: the counters hold keys that were never offered to the list */
	uint64_t replaced;
} __attribute__((aligned(64)));

/*
 * Packets of a burst, split into those whose key is listed and all others. Both arrays are in
 * ascending order.
 */
struct candidates_split {
	uint32_t nb_listed, nb_others;
	uint8_t listed[BURST_MAX], others[BURST_MAX]; /* packet numbers */
	struct candidate_entry *entry[BURST_MAX];     /* entry of listed[k] */
};

/* Key that was removed from the list, with its count in the sketch's metric. */
struct candidate_evicted {
	struct key key;
	struct key_hash hash;
	uint64_t amount;
};

/* Returns the bytes of a table for `capacity` keys, 1 to CANDIDATES_MAX. */
size_t candidates_memory(uint32_t capacity);

/* Initializes the table in zeroed memory[candidates_memory(capacity)], aligned to 64 bytes. */
void candidates_init(
	struct candidates *candidates, void *memory, uint32_t capacity, enum sketch_metric metric);

/* Restores the state after candidates_init(). */
void candidates_reset(struct candidates *candidates);

/* Removes all keys, after the sketch has merged packets of another sketch. */
void candidates_forget(struct candidates *candidates);

/* Looks up the keys of packets start to burst->n - 1. */
void candidates_split(const struct candidates *candidates, const struct key_burst *burst,
	uint32_t start, struct candidates_split *split);

/* Returns the smallest k >= from with split->listed[k] >= i, or nb_listed if there is none. */
uint32_t candidates_before(const struct candidates_split *split, uint32_t from, uint32_t i);

/* Count the packets split->listed[from..until). */
void candidates_count(const struct key_burst *burst, const struct candidates_split *split,
	uint32_t from, uint32_t until);
void candidates_count_weighted(const struct key_burst *burst, const struct candidates_split *split,
	uint32_t from, uint32_t until);

/* Counts further packets of a listed key. */
void candidates_count_key(const struct candidates *candidates, const struct key_hash *hash,
	const struct weight *weight);

/*
 * Offers packet i, of `bytes` bytes and an unlisted key, to the list. All packets before it must
 * have been counted. `before` is the estimate of its key without this packet; UINT64_MAX:
 * saturated.
 *
 * Returns true if the key was listed and the packet counted. The caller must then add *evicted to
 * the counters unless its amount is 0. After false, the caller must add the packet to the counters.
 */
bool candidates_offer(struct candidates *candidates, const struct key_burst *burst, uint32_t i,
	uint64_t bytes, uint64_t before, struct candidate_evicted *evicted);

/*
 * Records that the caller added packets to the counters without an offer, because their estimates
 * were too low.
 */
static inline void candidates_turn_away(struct candidates *candidates)
{
	if (!candidates->turned_away)
		candidates->turned_away = true;
}

/* Returns the count of a key since it was listed, in the metric; 0 if it is not listed. */
uint64_t candidates_since(const struct candidates *candidates, const struct key_hash *hash);

/* Emits all listed keys, in the order of buckets and ways. */
void candidates_emit(const struct candidates *candidates, sketch_emit_fn emit, void *arg);

/* Returns true if every key that the sketch has counted is listed. */
bool candidates_complete(const struct candidates *candidates);

bool candidates_empty(const struct candidates *candidates);
