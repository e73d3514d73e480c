/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Rows of buckets, from which heavy keys are recovered (Schweller et al., Reversible sketches for
 * efficient and accurate change detection, 2004). Bits of the mangled key (key/mangle6.h; for
 * IPv4, key/hash.h) select one bucket in each row.
 *
 * A chunk is 4 bits of the mangled key. A piece is four chunks. Word w of a bucket has a 16-bit
 * set for each chunk of piece w: the values that occurred in its keys. In row r, word 2r + 1 is
 * the bucket's counter instead, because the upper `bits` bits of piece 2r + 1 are the bucket's
 * index. Row r of counter_rows.h takes its index from piece 2r upwards.
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
 * An IPv6 key has 20 pieces, and four for the parity of its last three words, chunk by chunk. The
 * parity excludes most wrong combinations of the three words.
 */
#define CHUNK_WORDS_IPV4 8
#define CHUNK_WORDS_IPV6 24

struct chunk_rows {
	uint64_t *buckets; /* row by row, with `words` words per bucket */
	uint32_t bits;     /* log2 of the buckets of a row */
	uint32_t words;
	uint64_t full; /* counters at or above this value are saturated */
};

/* Returns the bytes for 2^bits buckets per row. */
size_t chunk_rows_size(uint32_t bits, uint32_t words);

/* memory[chunk_rows_size(bits, words)] must be zeroed and aligned to 64 bytes. */
void chunk_rows_init(struct chunk_rows *rows, uint32_t bits, uint32_t words,
	enum sketch_atomic atomic, void *memory);

void chunk_rows_reset(const struct chunk_rows *rows);

/*
 * Count the packets with a bit in `which`: IPv4 keys in rows of CHUNK_WORDS_IPV4, or IPv6 keys in
 * rows of CHUNK_WORDS_IPV6. mangled[] is from mangle6_burst().
 */
void chunk_rows_add4(const struct chunk_rows *rows, const struct key_burst *burst, uint64_t which,
	enum sketch_metric metric, enum counter_policy policy);
void chunk_rows_add6(const struct chunk_rows *rows, const struct key_burst *burst, uint64_t which,
	const struct mangled6 *mangled, enum sketch_metric metric, enum counter_policy policy);

void chunk_rows_add4_weighted(const struct chunk_rows *rows, const struct key_burst *burst,
	uint64_t which, enum sketch_metric metric, enum counter_policy policy);
void chunk_rows_add6_weighted(const struct chunk_rows *rows, const struct key_burst *burst,
	uint64_t which, const struct mangled6 *mangled, enum sketch_metric metric,
	enum counter_policy policy);

/* `amount` is in the metric. */
void chunk_rows_add_key4(const struct chunk_rows *rows, const struct key_hash *hash,
	uint64_t amount, enum counter_policy policy);
void chunk_rows_add_key6(const struct chunk_rows *rows, const struct mangled6 *mangled,
	uint64_t amount, enum counter_policy policy);

void chunk_rows_merge(const struct chunk_rows *dst, const struct chunk_rows *src);

/* Words of a mangled IPv6 key, and their parity. */
#define KEY_WORDS_IPV6 (CHUNK_WORDS_IPV6 / 4)

/* Buckets are numbered row by row. */
static inline uint64_t *chunk_rows_bucket(const struct chunk_rows *rows, uint64_t bucket)
{
	return rows->buckets + bucket * rows->words;
}

static inline uint32_t chunk_rows_counter(uint32_t row)
{
	return 2 * row + 1;
}
