/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The heavy keys that one sketch instance remembers, written by one thread (candidates.c) or by
 * several (candidates_shared.c, which says what changes then).
 *
 * A set-associative table: a key's hash chooses a bucket of sixteen ways, and a way holds a key
 * with what was counted of it since it was listed, exactly, and an upper bound (`before`) of what
 * came earlier. All in the sketch's metric:
 *
 *     upper = since + before,  true count <= upper <= estimate.
 *
 * Beside each bucket stands its floor, which is all that most packets read:
 *
 *     floor = 0 while the bucket has a free way, else at most the smallest upper in it.
 *
 * Three consequences carry the design.
 *
 * (a) A packet whose estimate (the sketch's, right after this packet was added) does not exceed the
 *     floor is of no listed key. Proof: every packet of a key raises its estimate by at least what
 *     it adds to upper, and when the key was listed estimate >= upper held; so after this packet
 *     estimate >= upper + its own size > upper >= floor. A saturated estimate stops growing,
 *     therefore floors end one below what stands for it. (A packet of no bytes may go unseen where
 * bytes are counted; report/merge.c knows.) (b) While a bucket has a free way, each of its keys is
 * listed since its first packet: the floor is 0 and no estimate is, and ways are never freed. So a
 * key that takes a free way was never seen before, and its before is 0: it is counted exactly. (c)
 * Uppers are kept in the table, so no decision reads a counter. Whatever the sketch has already
 *     counted of later packets of the burst plays no part, and as floors only rise, what the floors
 *     at the start of the burst turn away would be turned away later too. The state is that of
 *     packets which came one by one, wherever bursts were cut.
 *
 * An unlisted key is admitted to a full bucket when its estimate exceeds the smallest upper four
 * times, and takes that key's place. The factor keeps the table at rest: keys of about the same
 * size do not evict each other packet by packet. As the smallest upper only rises, an estimate that
 * does not exceed the floor four times needs no scan of the bucket. A lower factor lets the floors
 * rise faster, which saves probes, but replaces more: twice as often at 1.25, on captures.
 *
 * Bits of the hash: the bucket is the highest bits of hash.hi, the tag the upper half of hash.lo.
 * Rows of a sketch fill the hash from below in lanes or side by side (row_index.h), so at default
 * sizes no row shares a bit with the bucket number, and keys of one bucket meet in a counter no
 * oftener than others. The tag only has to tell apart the keys of one bucket; which one it is, the
 * whole hash says.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/key_burst.h"
#include "sketch/burst_groups.h"
#include "sketch/sketch.h"
#include "sketch/spinlock.h"
#include "sketch/tag_match.h"

#define CANDIDATES_DEFAULT 2048
#define CANDIDATES_MAX     (UINT32_C(1) << 24)

struct candidate_entry {
	_Atomic uint64_t hash_lo, hash_hi;
	_Atomic uint64_t count;  /* since it was listed, that packet included: candidate_count.h */
	_Atomic uint64_t before; /* UINT64_MAX: no bound is known */
};

struct candidate_bucket {
	uint32_t tag[TAG_WAYS] __attribute__((aligned(64))); /* 0: the way is free */
	struct candidate_entry entry[TAG_WAYS];
	/* What did not fit into the entries' counts. */
	_Atomic uint64_t carried_packets[TAG_WAYS], carried_bytes[TAG_WAYS];
	/*
	 * Of the critical section. Who holds the lock may replace keys and carry counts; a thread
	 * that writes alone needs none.
	 */
	struct spinlock lock;
	uint32_t entered; /* how often the critical section was, by whoever */
	uint32_t replaced;
};

struct candidates {
	/* Read by every packet, written seldom. */
	_Atomic uint64_t *floor; /* of each bucket */
	struct candidate_bucket *bucket;
	struct key *key; /* of each way of each bucket */
	uint32_t nb_buckets;
	uint32_t bucket_shift; /* hash.hi >> bucket_shift is the bucket */
	enum sketch_metric metric;
	uint64_t saturated;                 /* estimates from here on say "at least this" */
	_Atomic bool turned_away;           /* an unlisted key met a full bucket */
	bool forgot;                        /* keys were seen that were never offered to it */
	_Atomic(const void *) first_writer; /* of candidates_update_shared(): a thread's mark */
	_Atomic bool several_writers;
};

/* Bytes of a table for `capacity` keys, 1 to CANDIDATES_MAX. */
size_t candidates_memory(uint32_t capacity);

/* Lays the table out in zeroed memory[candidates_memory(capacity)], aligned to 64 bytes. */
void candidates_init(struct candidates *candidates, void *memory, uint32_t capacity,
	enum sketch_metric metric, uint64_t saturated);

/* Back to the state after candidates_init(). */
void candidates_reset(struct candidates *candidates);

/* Lists nothing any more, for a sketch that has just taken in packets of another. */
void candidates_forget(struct candidates *candidates);

/* Offers a burst. estimate[i] is the sketch's for packet i, right after it was added. */
void candidates_update(
	struct candidates *candidates, const struct key_burst *burst, const uint64_t *estimate);

/*
 * The same for several threads at once. Before its packets are added to the counters, floors are
 * read into floor[BURST_MAX]; afterwards the burst is offered with them.
 */
void candidates_read_floors(const struct candidates *candidates, const struct key_burst *burst,
	const struct burst_groups *groups, uint64_t *floor);
void candidates_update_shared(struct candidates *candidates, const struct key_burst *burst,
	const struct burst_groups *groups, const uint64_t *floor, const uint64_t *estimate);

/*
 * Emits every listed key, by bucket and way. After several threads the `before` of a key that took
 * another's place is UINT64_MAX, and packets of it may be missing: its estimate is its only bound.
 */
void candidates_emit(const struct candidates *candidates, sketch_emit_fn emit, void *arg);

/* True while every key that the sketch counted is listed. */
bool candidates_complete(const struct candidates *candidates);

/* Since the last reset: keys that took another's place, and entries into the critical section. */
uint64_t candidates_replaced(const struct candidates *candidates);
uint64_t candidates_entered(const struct candidates *candidates);
