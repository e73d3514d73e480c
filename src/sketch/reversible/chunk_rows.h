/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Rows of buckets, from which heavy keys are recovered (Schweller et al., Reversible sketches for
 * efficient and accurate change detection, 2004). The key is mangled first (key/mangle6.h; for
 * IPv4, key/hash.h). Bits of the mangled key select one bucket in each row.
 *
 * A chunk is 4 bits of the mangled key, and a piece is four chunks. For each chunk, a bucket has
 * the set of the values that occurred in its keys: one bit for each of the 16 values. A bucket has
 * one word per piece:
 *
 *     word w        the sets of the four chunks of piece w
 *     word 2r + 1   in row r: not sets, but the counter of the bucket
 *
 * A bucket of row r needs no sets of piece 2r + 1. The upper `bits` bits of this piece are the
 * index of the bucket. A packet of an IPv4 key therefore writes to one cache line per row.
 *
 * Piece 2r, the lower half of a 32-bit lane of the hash, is used by row r of counter_rows.h, which
 * takes bits from the lowest upwards.
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
 * Words of a bucket, one per piece of a mangled key. An IPv6 key has its 20 pieces and four more:
 * the parity of its last three words, chunk by chunk. During recovery, the sets of the three words
 * are nearly independent. The sets of their parity exclude most wrong combinations.
 */
#define CHUNK_WORDS_IPV4 8
#define CHUNK_WORDS_IPV6 24

struct chunk_rows {
	uint64_t *buckets; /* all rows, one after the other, with `words` words per bucket */
	uint32_t bits;     /* log2 of the buckets of a row */
	uint32_t words;
	uint64_t full; /* counters at or above this value are saturated */
};

/* Returns the bytes of all rows, with 2^bits buckets each. */
size_t chunk_rows_size(uint32_t bits, uint32_t words);

/* Initializes the rows in zeroed memory[chunk_rows_size(bits, words)], aligned to 64 bytes. */
void chunk_rows_init(struct chunk_rows *rows, uint32_t bits, uint32_t words,
	enum sketch_atomic atomic, void *memory);

void chunk_rows_reset(const struct chunk_rows *rows);

/*
 * Count the packets of a hashed burst whose bit is set in `which`. add4 counts IPv4 keys, in rows
 * of CHUNK_WORDS_IPV4. add6 counts IPv6 keys, in rows of CHUNK_WORDS_IPV6; mangled[] comes from
 * mangle6_burst().
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

/* Words of a mangled IPv6 key and, as the last word, their parity. */
#define KEY_WORDS_IPV6 (CHUNK_WORDS_IPV6 / 4)

/* Returns a bucket by its number. Buckets are numbered row by row. */
static inline uint64_t *chunk_rows_bucket(const struct chunk_rows *rows, uint64_t bucket)
{
	return rows->buckets + bucket * rows->words;
}

/* Returns the number of the word that is the counter in a bucket of this row. */
static inline uint32_t chunk_rows_counter(uint32_t row)
{
	return 2 * row + 1;
}
