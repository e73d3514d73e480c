/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/reversible/chunk_rows.h"

#include <stdbool.h>
#include <string.h>

#include "base/assertion.h"
#include "sketch/implement.h"
#include "sketch/weight.h"

#define PREFETCH_AHEAD 8 /* packets */
#define WORDS_PER_LINE 8

/* Four words of a bucket, for one 64-bit word of a mangled key. */
typedef uint64_t quad __attribute__((vector_size(32), may_alias));

size_t chunk_rows_size(uint32_t bits, uint32_t words)
{
	return (size_t)CHUNK_ROWS * words * sizeof(uint64_t) << bits;
}

void chunk_rows_init(struct chunk_rows *rows, uint32_t bits, uint32_t words,
	enum sketch_atomic atomic, void *memory)
{
	VERIFY(bits, <=, (uint32_t)PIECE_BITS);
	rows->buckets = memory;
	rows->bits = bits;
	rows->words = words;
	rows->full = atomic == ATOMIC_ADD ? COUNTER64_GUARD : UINT64_MAX;
}

void chunk_rows_reset(const struct chunk_rows *rows)
{
	memset(rows->buckets, 0, chunk_rows_size(rows->bits, rows->words));
}

static inline uint64_t *bucket_of(
	const struct chunk_rows *rows, const uint64_t *mangled, uint32_t row, const uint32_t words)
{
	uint32_t counter = chunk_rows_counter(row);
	uint64_t piece = mangled[counter / 4] >> PIECE_BITS * (counter % 4) & PIECE_MASK;

	return rows->buckets +
	       (((uint64_t)row << rows->bits) + (piece >> (PIECE_BITS - rows->bits))) * words;
}

/* Stores one 16-bit mask per chunk, with only the bit of the chunk's value. */
static inline void singletons(uint64_t mangled, quad *chunks)
{
	const quad shift = {0, PIECE_BITS, 2 * PIECE_BITS, 3 * PIECE_BITS};
	const quad one = {1, 1, 1, 1};
	quad piece = ((quad){mangled, mangled, mangled, mangled} >> shift) & PIECE_MASK;

	*chunks = one << (piece & CHUNK_MASK) | one << ((piece >> 4 & CHUNK_MASK) + 16) |
		  one << ((piece >> 8 & CHUNK_MASK) + 32) | one << ((piece >> 12) + 48);
}

/* A narrow store of the counter could not be forwarded to the next load, which is wider. */
static ALWAYS_INLINE void add_owned(
	uint64_t *bucket, uint32_t row, const quad *chunks, uint64_t weight, const uint32_t quads)
{
	const uint32_t counter = chunk_rows_counter(row);
	quad *bucket_quads = (quad *)bucket;

	weight = bucket[counter] <= UINT64_MAX - weight ? weight : UINT64_MAX - bucket[counter];
	for (uint32_t q = 0; q < quads; q++) {
		quad keep = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}, add = {0};

		if (q == counter / 4) {
			keep[counter % 4] = 0;
			add[counter % 4] = weight;
		}
		bucket_quads[q] = (bucket_quads[q] | (chunks[q] & keep)) + add;
	}
}

/*
 * Bits of a set are never cleared, so that a thread only sets missing bits, without the locks of
 * Algorithm 5 of Wu et al. 2016.
 */
static ALWAYS_INLINE void add_shared(uint64_t *bucket, uint32_t row, const uint64_t *chunks,
	uint64_t weight, const uint32_t words, const enum counter_policy policy,
	const bool weighted)
{
	const uint32_t counter = chunk_rows_counter(row);
	_Atomic uint64_t *sets = (_Atomic uint64_t *)bucket;
	uint32_t lacking = 0; /* bit w: a bit is missing in word w */

#pragma GCC unroll 8
	for (uint32_t w = 0; w < words; w++)
		if (w != counter) {
			uint64_t has = atomic_load_explicit(&sets[w], memory_order_relaxed);

			lacking |= (uint32_t)((chunks[w] & ~has) != 0) << w;
		}
	for (; lacking != 0; lacking &= lacking - 1) {
		uint32_t w = (uint32_t)__builtin_ctz(lacking);

		atomic_fetch_or_explicit(&sets[w], chunks[w], memory_order_relaxed);
	}
	if (weighted)
		counter64_add_weight(
			&bucket[counter], counter64_read(&bucket[counter], policy), weight, policy);
	else
		counter64_add(
			&bucket[counter], counter64_read(&bucket[counter], policy), weight, policy);
}

static ALWAYS_INLINE void add_key(const struct chunk_rows *rows, const uint64_t *mangled,
	uint64_t weight, const uint32_t words, const enum counter_policy policy,
	const bool weighted)
{
	quad chunks[KEY_WORDS_IPV6];

	for (uint32_t q = 0; q < words / 4; q++)
		singletons(mangled[q], &chunks[q]);
	for (uint32_t row = 0; row < CHUNK_ROWS; row++) {
		uint64_t *bucket = bucket_of(rows, mangled, row, words);

		if (policy == COUNTER_OWNED)
			add_owned(bucket, row, chunks, weight, words / 4);
		else
			add_shared(bucket, row, (const uint64_t *)chunks, weight, words, policy,
				weighted);
	}
}

/* Always inline: gcc 12 removes calls of functions that only prefetch. */
static ALWAYS_INLINE void prefetch_buckets(
	const struct chunk_rows *rows, const uint64_t *mangled, const uint32_t words)
{
	for (uint32_t row = 0; row < CHUNK_ROWS; row++)
		for (uint32_t w = 0; w < words; w += WORDS_PER_LINE)
			__builtin_prefetch(bucket_of(rows, mangled, row, words) + w, 1);
}

static inline const uint64_t *mangled4(const struct key_burst *burst, uint32_t i)
{
	return &burst->hash[i].lo;
}

static ALWAYS_INLINE uint64_t amount_of(
	const struct key_burst *burst, uint32_t i, enum sketch_metric metric, const bool weighted)
{
	struct weight weight = weight_of(burst, i, weighted);

	return weight_amount(&weight, metric);
}

static uint32_t ipv4_packets(const struct key_burst *burst, uint64_t which, uint8_t *packets)
{
	uint32_t n = 0;

	for (uint64_t left = which & ~burst->v6; left != 0; left &= left - 1)
		packets[n++] = (uint8_t)__builtin_ctzll(left);
	return n;
}

static ALWAYS_INLINE void add4(const struct chunk_rows *rows, const struct key_burst *burst,
	uint64_t which, enum sketch_metric metric, const enum counter_policy policy,
	const bool weighted)
{
	uint8_t packets[BURST_MAX];
	const uint32_t n = ipv4_packets(burst, which, packets);

	ASSERT(rows->words, ==, (uint32_t)CHUNK_WORDS_IPV4);
	for (uint32_t k = 0; k < n && k < PREFETCH_AHEAD; k++)
		prefetch_buckets(rows, mangled4(burst, packets[k]), CHUNK_WORDS_IPV4);
	for (uint32_t k = 0; k < n; k++) {
		if (k + PREFETCH_AHEAD < n)
			prefetch_buckets(rows, mangled4(burst, packets[k + PREFETCH_AHEAD]),
				CHUNK_WORDS_IPV4);
		add_key(rows, mangled4(burst, packets[k]),
			amount_of(burst, packets[k], metric, weighted), CHUNK_WORDS_IPV4, policy,
			weighted);
	}
}

static ALWAYS_INLINE void add4_policy(const struct chunk_rows *rows, const struct key_burst *burst,
	uint64_t which, enum sketch_metric metric, enum counter_policy policy, const bool weighted)
{
	switch (policy) {
	case COUNTER_OWNED: add4(rows, burst, which, metric, COUNTER_OWNED, weighted); break;
	case COUNTER_CAS: add4(rows, burst, which, metric, COUNTER_CAS, weighted); break;
	case COUNTER_ADD: add4(rows, burst, which, metric, COUNTER_ADD, weighted); break;
	}
}

void chunk_rows_add4(const struct chunk_rows *rows, const struct key_burst *burst, uint64_t which,
	enum sketch_metric metric, enum counter_policy policy)
{
	add4_policy(rows, burst, which, metric, policy, false);
}

void chunk_rows_add4_weighted(const struct chunk_rows *rows, const struct key_burst *burst,
	uint64_t which, enum sketch_metric metric, enum counter_policy policy)
{
	add4_policy(rows, burst, which, metric, policy, true);
}

static inline void with_parity(const struct mangled6 *mangled, uint64_t words[KEY_WORDS_IPV6])
{
	const uint64_t *word = mangled->word;

	memcpy(words, word, sizeof(mangled->word));
	words[KEY_WORDS_IPV6 - 1] = word[2] ^ word[3] ^ word[4];
}

static ALWAYS_INLINE void add6(const struct chunk_rows *rows, const struct key_burst *burst,
	uint64_t which, const struct mangled6 *mangled, enum sketch_metric metric,
	const enum counter_policy policy, const bool weighted)
{
	const uint32_t n = (uint32_t)__builtin_popcountll(burst->v6);
	uint64_t left = burst->v6;

	ASSERT(rows->words, ==, (uint32_t)CHUNK_WORDS_IPV6);
	for (uint32_t k = 0; k < n && k < PREFETCH_AHEAD; k++)
		prefetch_buckets(rows, mangled[k].word, CHUNK_WORDS_IPV6);
	for (uint32_t k = 0; k < n; k++, left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);
		uint64_t key[KEY_WORDS_IPV6];

		if (k + PREFETCH_AHEAD < n)
			prefetch_buckets(rows, mangled[k + PREFETCH_AHEAD].word, CHUNK_WORDS_IPV6);
		if ((which >> i & 1) == 0)
			continue;
		with_parity(&mangled[k], key);
		add_key(rows, key, amount_of(burst, i, metric, weighted), CHUNK_WORDS_IPV6, policy,
			weighted);
	}
}

static ALWAYS_INLINE void add6_policy(const struct chunk_rows *rows, const struct key_burst *burst,
	uint64_t which, const struct mangled6 *mangled, enum sketch_metric metric,
	enum counter_policy policy, const bool weighted)
{
	switch (policy) {
	case COUNTER_OWNED:
		add6(rows, burst, which, mangled, metric, COUNTER_OWNED, weighted);
		break;
	case COUNTER_CAS: add6(rows, burst, which, mangled, metric, COUNTER_CAS, weighted); break;
	case COUNTER_ADD: add6(rows, burst, which, mangled, metric, COUNTER_ADD, weighted); break;
	}
}

void chunk_rows_add6(const struct chunk_rows *rows, const struct key_burst *burst, uint64_t which,
	const struct mangled6 *mangled, enum sketch_metric metric, enum counter_policy policy)
{
	add6_policy(rows, burst, which, mangled, metric, policy, false);
}

void chunk_rows_add6_weighted(const struct chunk_rows *rows, const struct key_burst *burst,
	uint64_t which, const struct mangled6 *mangled, enum sketch_metric metric,
	enum counter_policy policy)
{
	add6_policy(rows, burst, which, mangled, metric, policy, true);
}

void chunk_rows_add_key4(const struct chunk_rows *rows, const struct key_hash *hash,
	uint64_t amount, enum counter_policy policy)
{
	add_key(rows, &hash->lo, amount, CHUNK_WORDS_IPV4, policy, true);
}

void chunk_rows_add_key6(const struct chunk_rows *rows, const struct mangled6 *mangled,
	uint64_t amount, enum counter_policy policy)
{
	uint64_t key[KEY_WORDS_IPV6];

	with_parity(mangled, key);
	add_key(rows, key, amount, CHUNK_WORDS_IPV6, policy, true);
}

void chunk_rows_merge(const struct chunk_rows *dst, const struct chunk_rows *src)
{
	uint64_t nb_buckets = (uint64_t)CHUNK_ROWS << dst->bits;

	VERIFY(dst->bits, ==, src->bits);
	VERIFY(dst->words, ==, src->words);
	for (uint64_t b = 0; b < nb_buckets; b++) {
		const uint32_t counter = chunk_rows_counter((uint32_t)(b >> dst->bits));
		uint64_t *to = chunk_rows_bucket(dst, b);
		const uint64_t *from = chunk_rows_bucket(src, b);
		uint64_t count = from[counter] < src->full ? from[counter] : UINT64_MAX;

		count = counter64_sum(to[counter], count);
		for (uint32_t w = 0; w < dst->words; w++)
			to[w] |= from[w];
		to[counter] = count;
	}
}
