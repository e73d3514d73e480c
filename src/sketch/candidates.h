/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * List of the heavy keys of one thread, in front of the counters of a sketch: the filter of Roy,
 * Khan and Alonso, Augmented Sketch (SIGMOD 2016), as a set-associative table. Each packet is
 * counted exactly once: in the list if its key is listed, else in the counters. If another key
 * replaces a listed key, the counters get the count of the listed key.
 *
 * The hash of a key selects a bucket of sixteen ways. A way holds a key, `since` (its count since
 * it was listed) and `before` (an upper bound of its earlier count). Their sum is called upper.
 * Ways are never freed. While a bucket has a free way, `before` is 0, and the counts of its keys
 * are exact.
 *
 * The admission of a bucket is the smallest estimate at which it admits a key: 0 while it has a
 * free way, later ADMISSION_FACTOR times the smallest upper. It may be too low, because uppers
 * have grown since it was set, but never too high.
 *
 * The highest bits of hash.hi select the bucket, and the highest 16 bits of hash.lo are the tag.
 * At default sizes, no row of counters uses a bit of the bucket number, so that keys of one bucket
 * collide in a counter no more often than others.
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
	uint64_t packets, bytes;
};

/* Read only when a key is listed or reported. */
struct candidate_origin {
	struct key key;
	uint64_t before; /* upper bound of the earlier count; UINT64_MAX: unknown */
};

struct candidates {
	/* For most unlisted keys, a lookup reads only tags and admission. */
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

/* Both arrays are in ascending order. */
struct candidates_split {
	uint32_t nb_listed, nb_others;
	uint8_t listed[BURST_MAX], others[BURST_MAX]; /* packet numbers */
	struct candidate_entry *entry[BURST_MAX];     /* entry of listed[k] */
};

/* `amount` is in the metric. */
struct candidate_evicted {
	struct key key;
	struct key_hash hash;
	uint64_t amount;
};

/* Returns bytes. `capacity` is 1 to CANDIDATES_MAX. */
size_t candidates_memory(uint32_t capacity);

/* memory[candidates_memory(capacity)] must be zeroed and aligned to 64 bytes. */
void candidates_init(
	struct candidates *candidates, void *memory, uint32_t capacity, enum sketch_metric metric);

void candidates_reset(struct candidates *candidates);

/* Call it after the sketch has merged packets of another sketch. */
void candidates_forget(struct candidates *candidates);

/* Looks up the keys of packets start to burst->n - 1. */
void candidates_split(const struct candidates *candidates, const struct key_burst *burst,
	uint32_t start, struct candidates_split *split);

/* Returns the smallest k >= from with split->listed[k] >= i, or nb_listed. */
uint32_t candidates_before(const struct candidates_split *split, uint32_t from, uint32_t i);

/* Count the packets split->listed[from..until). */
void candidates_count(const struct key_burst *burst, const struct candidates_split *split,
	uint32_t from, uint32_t until);
void candidates_count_weighted(const struct key_burst *burst, const struct candidates_split *split,
	uint32_t from, uint32_t until);

/* The key must be listed. */
void candidates_count_key(const struct candidates *candidates, const struct key_hash *hash,
	const struct weight *weight);

/*
 * Offers packet i, of an unlisted key, after all packets before it were counted. `before` is the
 * key's estimate without this packet; UINT64_MAX: saturated. If it returns true, the packet is
 * counted, and the caller must add *evicted to the counters unless its amount is 0. If it returns
 * false, the caller must add the packet to the counters.
 */
bool candidates_offer(struct candidates *candidates, const struct key_burst *burst, uint32_t i,
	uint64_t bytes, uint64_t before, struct candidate_evicted *evicted);

/* Call it after packets were added to the counters without an offer. */
static inline void candidates_turn_away(struct candidates *candidates)
{
	if (!candidates->turned_away)
		candidates->turned_away = true;
}

/* Returns the key's count in the metric since it was listed, or 0 if it is not listed. */
uint64_t candidates_since(const struct candidates *candidates, const struct key_hash *hash);

void candidates_emit(const struct candidates *candidates, sketch_emit_fn emit, void *arg);

/* Returns true if every key that the sketch has counted is listed. */
bool candidates_complete(const struct candidates *candidates);

bool candidates_empty(const struct candidates *candidates);
