/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "sketch/candidate_list.h"

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
	enum sketch_metric metric, uint64_t saturated)
{
	uint32_t nb_buckets = buckets_for(capacity);
	uint8_t *at = memory;

	*candidates = (struct candidates){
		.nb_buckets = nb_buckets,
		.bucket_shift = 64 - (uint32_t)__builtin_ctz(nb_buckets),
		.metric = metric,
		.saturated = saturated,
	};
	candidates->floor = (_Atomic uint64_t *)(void *)at;
	at += floors_size(nb_buckets);
	candidates->bucket = (struct candidate_bucket *)(void *)at;
	at += nb_buckets * sizeof(struct candidate_bucket);
	candidates->key = (struct key *)(void *)at;
}

void candidates_reset(struct candidates *candidates)
{
	candidates_forget(candidates);
	candidates->forgot = false;
	atomic_store_explicit(&candidates->turned_away, false, memory_order_relaxed);
	atomic_store_explicit(&candidates->first_writer, NULL, memory_order_relaxed);
	atomic_store_explicit(&candidates->several_writers, false, memory_order_relaxed);
}

void candidates_forget(struct candidates *candidates)
{
	size_t nb_buckets = candidates->nb_buckets;

	for (size_t b = 0; b < nb_buckets; b++)
		atomic_store_explicit(&candidates->floor[b], 0, memory_order_relaxed);
	memset(candidates->bucket, 0, nb_buckets * sizeof(struct candidate_bucket));
	memset(candidates->key, 0, nb_buckets * TAG_WAYS * sizeof(struct key));
	candidates->forgot = true;
}

static uint64_t count_of(const struct candidate_bucket *bucket, uint32_t way)
{
	return atomic_load_explicit(&bucket->entry[way].count, memory_order_relaxed);
}

static uint64_t floor_of(const struct candidates *candidates, uint32_t b)
{
	return atomic_load_explicit(&candidates->floor[b], memory_order_relaxed);
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

	raise_floor(candidates, b, smallest);
	if (estimate > admission_of(smallest)) {
		bucket->entered++;
		list_key(candidates, b, way, burst, i,
			counted_before(candidates, burst, i, estimate),
			count_next(count_of(bucket, way)));
		bucket->replaced++;
	}
}

/* Packet i is of no listed key. */
static __attribute__((noinline)) void miss(struct candidates *candidates, uint32_t b,
	const struct key_burst *burst, uint32_t i, uint64_t estimate)
{
	struct candidate_bucket *bucket = &candidates->bucket[b];
	uint32_t empty = tag_match(bucket->tag, 0);

	/* A floor that rose since the burst began is not above the admission. */
	if (empty != 0)
		list_key(candidates, b, (uint32_t)__builtin_ctz(empty), burst, i,
			before_of_first(candidates, burst, i, estimate), count_next(0));
	else if (estimate > admission_of(floor_of(candidates, b)))
		challenge(candidates, b, burst, i, estimate);
}

static inline struct candidate_entry *probe(
	struct candidate_bucket *bucket, const struct key_hash *hash)
{
	uint32_t match = tag_match(bucket->tag, tag_of(hash));

	for (; match != 0; match &= match - 1) {
		struct candidate_entry *entry = &bucket->entry[__builtin_ctz(match)];
		uint64_t lo = atomic_load_explicit(&entry->hash_lo, memory_order_relaxed);
		uint64_t hi = atomic_load_explicit(&entry->hash_hi, memory_order_relaxed);

		if (((lo ^ hash->lo) | (hi ^ hash->hi)) == 0)
			return entry;
	}
	return NULL;
}

static __attribute__((noinline)) void carry_full(
	struct candidate_bucket *bucket, struct candidate_entry *entry, uint64_t count)
{
	atomic_store_explicit(&entry->count, count & -COUNT_GENERATION, memory_order_relaxed);
	carry(bucket, (uint32_t)(entry - bucket->entry), count);
}

void candidates_update(
	struct candidates *candidates, const struct key_burst *burst, const uint64_t *estimate)
{
	struct candidate_bucket *const bucket = candidates->bucket;
	const uint32_t shift = candidates->bucket_shift, nb_packets = burst->n;
	uint8_t passed[BURST_MAX];
	uint32_t nb_passed = 0;

	/* Written before it is known whether it stays: a branch here would be a coin's toss. */
	for (uint32_t i = 0; i < nb_packets; i++) {
		passed[nb_passed] = (uint8_t)i;
		nb_passed +=
			estimate[i] > floor_of(candidates, (uint32_t)(burst->hash[i].hi >> shift));
	}
	for (uint32_t k = 0; k < nb_passed; k++) {
		uint32_t i = passed[k];
		uint32_t b = (uint32_t)(burst->hash[i].hi >> shift);
		struct candidate_entry *entry = probe(&bucket[b], &burst->hash[i]);
		uint64_t count;

		if (__builtin_expect(entry == NULL, 0)) {
			miss(candidates, b, burst, i, estimate[i]);
			continue;
		}
		count = atomic_load_explicit(&entry->count, memory_order_relaxed) + COUNT_PACKET +
			burst->wire_len[i];
		atomic_store_explicit(&entry->count, count, memory_order_relaxed);
		if (__builtin_expect(count_is_full(count), 0))
			carry_full(&bucket[b], entry, count);
	}
}

/*
 * After several threads only a key that took a free way is known to have nothing uncounted
 * (candidates_shared.c). Its generation is the first that lists a key.
 */
static uint64_t before_at_rest(
	const struct candidates *candidates, const struct candidate_bucket *bucket, uint32_t way)
{
	bool first = count_generation(count_of(bucket, way)) == 2 && !candidates->forgot;

	if (!first && atomic_load_explicit(&candidates->several_writers, memory_order_relaxed))
		return UINT64_MAX;
	return atomic_load_explicit(&bucket->entry[way].before, memory_order_relaxed);
}

void candidates_emit(const struct candidates *candidates, sketch_emit_fn emit, void *arg)
{
	for (uint32_t b = 0; b < candidates->nb_buckets; b++) {
		const struct candidate_bucket *bucket = &candidates->bucket[b];

		for (uint32_t way = 0; way < TAG_WAYS && count_of(bucket, way) != 0; way++) {
			const struct candidate_entry *entry = &bucket->entry[way];
			struct sketch_candidate candidate = {
				.key = candidates->key[b * TAG_WAYS + way],
				.hash.lo =
					atomic_load_explicit(&entry->hash_lo, memory_order_relaxed),
				.hash.hi =
					atomic_load_explicit(&entry->hash_hi, memory_order_relaxed),
				.packets = since_packets(bucket, way),
				.bytes = since_bytes(bucket, way),
				.before = before_at_rest(candidates, bucket, way),
			};

			emit(&candidate, arg);
		}
	}
}

bool candidates_complete(const struct candidates *candidates)
{
	return !atomic_load_explicit(&candidates->turned_away, memory_order_relaxed) &&
	       !candidates->forgot;
}

uint64_t candidates_replaced(const struct candidates *candidates)
{
	uint64_t sum = 0;

	for (uint32_t b = 0; b < candidates->nb_buckets; b++)
		sum += candidates->bucket[b].replaced;
	return sum;
}

uint64_t candidates_entered(const struct candidates *candidates)
{
	uint64_t sum = 0;

	for (uint32_t b = 0; b < candidates->nb_buckets; b++)
		sum += candidates->bucket[b].entered;
	return sum;
}
