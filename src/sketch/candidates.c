/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "sketch/candidates.h"

#define ADMISSION_FACTOR 4 /* times the smallest upper */

static uint32_t buckets_for(uint32_t capacity)
{
	uint32_t buckets = 2; /* one would need a shift by 64 */

	while (buckets * TAG_WAYS < capacity)
		buckets *= 2;
	return buckets;
}

static size_t floors_size(uint32_t nb_buckets)
{
	size_t line = 64;

	return (nb_buckets * sizeof(uint64_t) + line - 1) / line * line;
}

size_t candidates_memory(uint32_t capacity)
{
	uint32_t nb_buckets = buckets_for(capacity);

	return floors_size(nb_buckets) + nb_buckets * sizeof(struct candidate_bucket) +
	       nb_buckets * TAG_WAYS * sizeof(struct key);
}

void candidates_init(struct candidates *candidates, void *memory, uint32_t capacity,
	enum sketch_metric metric, uint64_t estimate_max)
{
	uint32_t nb_buckets = buckets_for(capacity);
	uint8_t *at = memory;

	*candidates = (struct candidates){
		.nb_buckets = nb_buckets,
		.bucket_shift = 64 - (uint32_t)__builtin_ctz(nb_buckets),
		.metric = metric,
		.estimate_max = estimate_max,
	};
	candidates->floor = (uint64_t *)(void *)at;
	at += floors_size(nb_buckets);
	candidates->bucket = (struct candidate_bucket *)(void *)at;
	at += nb_buckets * sizeof(struct candidate_bucket);
	candidates->key = (struct key *)(void *)at;
}

void candidates_reset(struct candidates *candidates)
{
	candidates_forget(candidates);
	candidates->turned_away = false;
	candidates->forgot = false;
	candidates->insertions = 0;
	candidates->replacements = 0;
}

void candidates_forget(struct candidates *candidates)
{
	size_t nb_buckets = candidates->nb_buckets;

	memset(candidates->floor, 0, floors_size(candidates->nb_buckets));
	memset(candidates->bucket, 0, nb_buckets * sizeof(struct candidate_bucket));
	memset(candidates->key, 0, nb_buckets * TAG_WAYS * sizeof(struct key));
	candidates->forgot = true;
}

static inline uint32_t tag_of(const struct key_hash *hash)
{
	return (uint32_t)(hash->lo >> 32) | 1; /* 0 says that a way is free */
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t upper_of(
	const struct candidates *candidates, const struct candidate_bucket *bucket, uint32_t way)
{
	const struct candidate_entry *entry = &bucket->entry[way];
	uint64_t since = candidates->metric == SKETCH_PACKETS ? entry->packets : entry->bytes;

	return add_saturating(since, bucket->before[way]);
}

static void list_key(struct candidates *candidates, uint32_t b, uint32_t way,
	const struct key_burst *burst, uint32_t i, uint64_t before)
{
	struct candidate_bucket *bucket = &candidates->bucket[b];

	bucket->tag[way] = tag_of(&burst->hash[i]);
	bucket->entry[way] = (struct candidate_entry){
		.hash = burst->hash[i],
		.packets = 1,
		.bytes = burst->wire_len[i],
	};
	bucket->before[way] = before;
	candidates->key[b * TAG_WAYS + way] = key_burst_get(burst, i);
}

/* What the sketch may have counted of packet i's key before it. */
static uint64_t counted_before(const struct candidates *candidates, const struct key_burst *burst,
	uint32_t i, uint64_t estimate)
{
	if (estimate == candidates->estimate_max)
		return UINT64_MAX;
	return estimate - (candidates->metric == SKETCH_PACKETS ? 1 : burst->wire_len[i]);
}

/* Packet i is of no listed key, and its bucket is full. */
static void challenge(struct candidates *candidates, uint32_t b, const struct key_burst *burst,
	uint32_t i, uint64_t estimate)
{
	struct candidate_bucket *bucket = &candidates->bucket[b];
	uint64_t smallest = upper_of(candidates, bucket, 0);
	uint32_t way = 0;

	for (uint32_t w = 1; w < TAG_WAYS; w++) {
		uint64_t upper = upper_of(candidates, bucket, w);

		if (upper < smallest) {
			smallest = upper;
			way = w;
		}
	}

	candidates->turned_away = true;
	candidates->floor[b] =
		smallest < candidates->estimate_max ? smallest : candidates->estimate_max - 1;
	bucket->admission = smallest <= UINT64_MAX / ADMISSION_FACTOR ? smallest * ADMISSION_FACTOR
								      : UINT64_MAX;
	if (estimate > bucket->admission) {
		list_key(candidates, b, way, burst, i,
			counted_before(candidates, burst, i, estimate));
		candidates->replacements++;
	}
}

/* Packet i is of no listed key. */
static __attribute__((noinline)) void miss(struct candidates *candidates, uint32_t b,
	const struct key_burst *burst, uint32_t i, uint64_t estimate)
{
	uint32_t empty = tag_match(candidates->bucket[b].tag, 0);

	/* A floor that rose since the burst began is not above the admission. */
	if (empty != 0) {
		list_key(candidates, b, (uint32_t)__builtin_ctz(empty), burst, i,
			candidates->forgot ? counted_before(candidates, burst, i, estimate) : 0);
		candidates->insertions++;
	} else if (estimate > candidates->bucket[b].admission) {
		challenge(candidates, b, burst, i, estimate);
	}
}

static inline struct candidate_entry *probe(
	struct candidate_bucket *bucket, const struct key_hash *hash)
{
	uint32_t match = tag_match(bucket->tag, tag_of(hash));

	for (; match != 0; match &= match - 1) {
		struct candidate_entry *entry = &bucket->entry[__builtin_ctz(match)];

		if (((entry->hash.lo ^ hash->lo) | (entry->hash.hi ^ hash->hi)) == 0)
			return entry;
	}
	return NULL;
}

void candidates_update(
	struct candidates *candidates, const struct key_burst *burst, const uint64_t *estimate)
{
	const uint64_t *const floor = candidates->floor;
	struct candidate_bucket *const bucket = candidates->bucket;
	const uint32_t shift = candidates->bucket_shift, nb_packets = burst->n;
	uint8_t passed[BURST_MAX];
	uint32_t nb_passed = 0;

	/* Written before it is known whether it stays: a branch here would be a coin's toss. */
	for (uint32_t i = 0; i < nb_packets; i++) {
		passed[nb_passed] = (uint8_t)i;
		nb_passed += estimate[i] > floor[burst->hash[i].hi >> shift];
	}
	for (uint32_t k = 0; k < nb_passed; k++) {
		uint32_t i = passed[k];
		uint32_t b = (uint32_t)(burst->hash[i].hi >> shift);
		struct candidate_entry *entry = probe(&bucket[b], &burst->hash[i]);

		if (__builtin_expect(entry != NULL, 1)) {
			entry->packets++;
			entry->bytes += burst->wire_len[i];
		} else {
			miss(candidates, b, burst, i, estimate[i]);
		}
	}
}

void candidates_emit(const struct candidates *candidates, sketch_emit_fn emit, void *arg)
{
	for (uint32_t b = 0; b < candidates->nb_buckets; b++) {
		const struct candidate_bucket *bucket = &candidates->bucket[b];

		for (uint32_t way = 0; way < TAG_WAYS && bucket->tag[way] != 0; way++) {
			struct sketch_candidate candidate = {
				.key = candidates->key[b * TAG_WAYS + way],
				.hash = bucket->entry[way].hash,
				.packets = bucket->entry[way].packets,
				.bytes = bucket->entry[way].bytes,
				.before = bucket->before[way],
			};

			emit(&candidate, arg);
		}
	}
}

bool candidates_complete(const struct candidates *candidates)
{
	return !candidates->turned_away && !candidates->forgot;
}
