/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Rows from which heavy keys are recovered: buckets indexed by modular hashing of a mangled key.
 * Each bucket has a counter and the sets of the key's chunks that occurred there (Schweller et al.,
 * "Reversible sketches for efficient and accurate change detection", 2004).
 *
 * A chunk is CHUNK_BITS bits of the mangled key, a piece is four chunks. A bucket has a word for
 * every piece:
 *
 *     word w of a bucket = the sets of piece w's four chunks, one bit for each value of each chunk
 *     word 2r + 1 of a bucket of row r = its counter instead
 *
 * because piece 2r + 1 contains the index of row r: its upper `bits` bits, chunk by chunk. So a
 * packet of an IPv4 key writes to one cache line per row, and adds the same eight words to the sets
 * in all rows. The lower half of each 32-bit lane of a hash, piece 2r, is left to the rows of
 * counter_rows.h, which use the lane from its lowest bit at the usual depth.
 */

#include <stddef.h>
#include <stdint.h>

#include "key/key_burst.h"
#include "key/mangle6.h"
#include "sketch/counter.h"
#include "sketch/sketch.h"

#define CHUNK_ROWS       4
#define CHUNK_BITS       4
#define CHUNK_VALUES     (1 << CHUNK_BITS)
#define CHUNK_MASK       UINT64_C(15)
#define CHUNKS_PER_PIECE 4
#define PIECE_BITS       (CHUNK_BITS * CHUNKS_PER_PIECE)
#define PIECE_MASK       ((UINT64_C(1) << PIECE_BITS) - 1)

/*
 * Words of a bucket, one per piece of a mangled key. An IPv6 key has four pieces more than its 40
 * bytes: the parity of the last three words, chunk by chunk. The sets of three chunks are nearly
 * independent; the set of their parity excludes most wrong combinations.
 */
#define CHUNK_WORDS_IPV4 8
#define CHUNK_WORDS_IPV6 24

struct chunk_rows {
	uint64_t *buckets; /* rows follow each other, `words` words per bucket */
	uint32_t bits;     /* log2 of the buckets of a row */
	uint32_t words;
	uint64_t full; /* a counter is saturated from this value on */
};

/* Returns the bytes of rows of 2^bits buckets. */
size_t chunk_rows_size(uint32_t bits, uint32_t words);

/* Initializes the rows in zeroed memory[chunk_rows_size(bits, words)], aligned to 64 bytes. */
void chunk_rows_init(struct chunk_rows *rows, uint32_t bits, uint32_t words,
	enum sketch_atomic atomic, void *memory);

void chunk_rows_reset(const struct chunk_rows *rows);

/*
 * Count the IPv4 keys of a hashed burst in rows of CHUNK_WORDS_IPV4, and its IPv6 keys, which
 * mangle6_burst() has mangled, in rows of CHUNK_WORDS_IPV6. Only packets whose bit is in `which`.
 */
void chunk_rows_add4(const struct chunk_rows *rows, const struct key_burst *burst, uint64_t which,
	enum sketch_metric metric, enum counter_policy policy);
void chunk_rows_add6(const struct chunk_rows *rows, const struct key_burst *burst, uint64_t which,
	const struct mangled6 *mangled, enum sketch_metric metric, enum counter_policy policy);

/* Same for a weighted burst. */
void chunk_rows_add4_weighted(const struct chunk_rows *rows, const struct key_burst *burst,
	uint64_t which, enum sketch_metric metric, enum counter_policy policy);
void chunk_rows_add6_weighted(const struct chunk_rows *rows, const struct key_burst *burst,
	uint64_t which, const struct mangled6 *mangled, enum sketch_metric metric,
	enum counter_policy policy);

/* Add an amount, in the metric, to one key. */
void chunk_rows_add_key4(const struct chunk_rows *rows, const struct key_hash *hash,
	uint64_t amount, enum counter_policy policy);
void chunk_rows_add_key6(const struct chunk_rows *rows, const struct mangled6 *mangled,
	uint64_t amount, enum counter_policy policy);

/* Adds src to dst. */
void chunk_rows_merge(const struct chunk_rows *dst, const struct chunk_rows *src);

/* Words of the mangled key, with its parity as the last word. */
#define KEY_WORDS_IPV6 (CHUNK_WORDS_IPV6 / 4)

/* Returns a bucket by its number, counted through all rows. */
static inline uint64_t *chunk_rows_bucket(const struct chunk_rows *rows, uint64_t bucket)
{
	return rows->buckets + bucket * rows->words;
}

/* Returns the word of a bucket of row r that is the counter. */
static inline uint32_t chunk_rows_counter(uint32_t row)
{
	return 2 * row + 1;
}
