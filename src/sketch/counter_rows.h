/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Rows of counters as in Count-Min (Cormode, Muthukrishnan, 2005). A packet adds to one counter of
 * each row. With a single writer, counters are split (counter_parts.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/key_burst.h"
#include "sketch/counter.h"
#include "sketch/counter_parts.h"
#include "sketch/sketch.h"
#include "sketch/weight.h"

#define COUNTER_ROWS_DEPTH 4
#define COUNTER_ROWS_WIDTH (UINT64_C(1) << 18)

#define COUNTER_ROWS_WIDTH_BITS_MIN 4
#define COUNTER_ROWS_WIDTH_BITS_MAX 32

struct counter_rows {
	uint32_t depth;
	uint32_t bits;   /* log2 of the width */
	uint32_t stride; /* distance in the hash between the indices of two rows, in bits */
	enum sketch_metric metric;
	uint64_t full; /* counters at or above this value are saturated */
	bool in_parts;
	union { /* row by row */
		uint32_t *packets;
		uint64_t *bytes;
		struct counter_parts parts;
	};
};

/* Sets defaults. Returns NULL, or the reason if the shape is not supported. */
const char *counter_rows_check(struct sketch_params *params);

/* Returns bytes. counter_rows_check() must have accepted `params`. */
size_t counter_rows_size(const struct sketch_params *params);

/* memory[counter_rows_size(params)] must be zeroed and aligned to 64 bytes. */
void counter_rows_init(struct counter_rows *rows, const struct sketch_params *params, void *memory);

void counter_rows_reset(const struct counter_rows *rows);

void counter_rows_fetch(const struct counter_rows *rows, const struct key_burst *burst);

/* The caller must be the only writer. */
void counter_rows_add(const struct counter_rows *rows, const struct key_burst *burst);
void counter_rows_add_weighted(const struct counter_rows *rows, const struct key_burst *burst);

/* `amount` is in the metric. */
void counter_rows_add_key(const struct counter_rows *rows, const struct key_hash *hash,
	uint64_t amount, enum counter_policy policy);

/* Packets to add to the counters while their estimates stay below an admission (candidates.h). */
struct counter_offer {
	const struct key_burst *burst;
	const uint8_t *packets; /* [n], packet numbers in the burst */
	uint32_t n;
	uint32_t admission_shift;
	const uint64_t *admission; /* [hash.hi >> admission_shift] */
};

/*
 * Adds packets in order, up to the first whose estimate would reach its admission. Returns this
 * packet's index in `packets`, or n. Stores its estimate without it in *before (UINT64_MAX:
 * saturated).
 */
uint32_t counter_rows_offer(const struct counter_rows *rows, const struct counter_offer *offer,
	enum counter_policy policy, uint64_t *before);

/* Stops before the first entry whose packets may raise the estimate to its admission. */
uint32_t counter_rows_offer_weighted(const struct counter_rows *rows,
	const struct counter_offer *offer, enum counter_policy policy);

/*
 * Moves packets from a weight to the counters while the key's estimate stays below `admission`.
 * Stores this estimate in *before (UINT64_MAX: saturated). Returns the amount added, in the
 * metric.
 */
uint64_t counter_rows_offer_key(const struct counter_rows *rows, const struct key_hash *hash,
	struct weight *weight, uint64_t admission, enum counter_policy policy, uint64_t *before);

/* Returns the value of a saturated counter. */
static inline uint64_t counter_rows_max(const struct counter_rows *rows)
{
	return rows->metric == SKETCH_PACKETS ? UINT32_MAX : UINT64_MAX;
}

/* Returns the raw value. Cells are numbered row by row. */
static inline uint64_t counter_rows_value(const struct counter_rows *rows, uint64_t cell)
{
	if (rows->metric == SKETCH_PACKETS)
		return rows->in_parts ? counter_parts_get(&rows->parts, cell, false)
				      : rows->packets[cell];
	return rows->in_parts ? counter_parts_get(&rows->parts, cell, true) : rows->bytes[cell];
}

/* Returns counter_rows_max() if the cell is saturated. */
static inline uint64_t counter_rows_at(const struct counter_rows *rows, uint64_t cell)
{
	uint64_t value = counter_rows_value(rows, cell);

	return value < rows->full ? value : counter_rows_max(rows);
}

void counter_rows_set(const struct counter_rows *rows, uint64_t cell, uint64_t value);

struct sketch_estimate counter_rows_query(
	const struct counter_rows *rows, const struct key_hash *hash);

/* Adds src to dst. Both must have the same shape, metric, seed and `full`. */
void counter_rows_merge(const struct counter_rows *dst, const struct counter_rows *src);

/* Implements sketch_ops.error_bound. Returns UINT64_MAX also if out of memory. */
uint64_t counter_rows_bound(const struct counter_rows *rows, uint64_t keys, double confidence,
	const struct sketch_allocator *allocator);

/* Adds cells [first, first + n) to sums[n]. Returns false if one of them is saturated. */
bool counter_rows_sum(const struct counter_rows *rows, uint64_t first, uint32_t n, uint64_t *sums);

/* Returns UINT64_MAX if the totals of two rows differ. */
uint64_t counter_rows_total(const struct counter_rows *rows);
