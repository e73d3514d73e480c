/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The heavy keys that one thread remembers, in front of a sketch's counters: packets of a listed
 * key are counted here, exactly, and never reach the counters; what a key counted here goes down
 * into the counters when another takes its place. (The "filter" of Roy, Khan, Alonso, "Augmented
 * Sketch", SIGMOD 2016, as a set-associative table.) Most packets of skewed traffic so cost one
 * lookup and one plain addition, and heavy keys do not spoil the counters for the others.
 *
 * A key's hash chooses a bucket of sixteen ways, and a way holds a key with what was counted of it
 * since it was listed, and an upper bound (`before`) of what came earlier. All in the sketch's
 * metric:
 *
 *     upper = since + before,  true count <= upper.
 *
 * Every packet is counted in exactly one place, a way or the counters. So the counters plus all
 * ways are those of a plain sketch that saw every packet, and for a key that is not listed the
 * counters alone bound its count.
 *
 * While a bucket has a free way, each of its keys is listed since its first packet, as ways are
 * never freed: before = 0, and the key is counted exactly. In a full bucket an unlisted key is
 * admitted when its estimate exceeds the smallest upper four times, and takes that key's place. The
 * factor keeps the table at rest: keys of about the same size do not evict each other packet by
 * packet. A lower factor replaces more: twice as often at 1.25, on captures.
 *
 * Beside each bucket stands the estimate from which on a key may be admitted, so that most packets
 * need no scan of the bucket: 0 while it has a free way, else at most what its uppers ask for now.
 *
 * Bits of the hash: the bucket is the highest bits of hash.hi, the tag the highest 16 of hash.lo.
 * Rows of a sketch fill the hash from below in lanes or side by side (row_index.h), so at default
 * sizes no row shares a bit with the bucket number, and keys of one bucket meet in a counter no
 * oftener than others. The tag only has to tell apart the keys of one bucket; which one it is, the
 * whole hash says.
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
	uint64_t packets, bytes; /* since it was listed, that packet included */
};

/* Fields read only when a key is listed or reported. */
struct candidate_origin {
	struct key key;
	uint64_t before; /* UINT64_MAX: no bound is known */
};

struct candidates {
	/* Of each bucket, and of each way of each. Tags lie side by side: of most keys that are not
	 * listed only they and the admission are looked at. */
	uint64_t *admission;
	uint16_t (*tag)[TAG_WAYS]; /* 0: the way is free */
	struct candidate_entry (*entry)[TAG_WAYS];
	struct candidate_origin (*origin)[TAG_WAYS];
	uint32_t nb_buckets;
	uint32_t bucket_shift; /* hash.hi >> bucket_shift is the bucket */
	enum sketch_metric metric;
	bool turned_away; /* a packet went to the counters */
	bool forgot;      /* keys were seen that were never offered to it */
	uint64_t replaced;
} __attribute__((aligned(64)));

/* The packets of a burst from one on, by whether their key is listed; each part ascending. */
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

/* Back to the state after candidates_init(). */
void candidates_reset(struct candidates *candidates);

/* Lists nothing any more, for a sketch that has just taken in packets of another. */
void candidates_forget(struct candidates *candidates);

/* Looks packets start to burst->n - 1 up. */
void candidates_split(const struct candidates *candidates, const struct key_burst *burst,
	uint32_t start, struct candidates_split *split);

/* Where in split->listed, from `from` on, those end that come before packet i. */
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
 * Packet i, of so many bytes, is of no listed key, everything before it is counted, and `before` is
 * its key's estimate without it, UINT64_MAX where that is saturated. Returns true where it was
 * listed, with the packet counted: then *evicted has to go into the counters, if its amount is not
 * 0. Else the packet itself has to.
 */
bool candidates_offer(struct candidates *candidates, const struct key_burst *burst, uint32_t i,
	uint64_t bytes, uint64_t before, struct candidate_evicted *evicted);

/* Says that packets went into the counters which were not offered, their estimates being too
 * low. */
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
