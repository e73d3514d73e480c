/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Rows of counters as in Count-Min (Cormode, Muthukrishnan, 2005). A packet adds to one counter of
 * each row. The estimate of a key is the minimum of its counters.
 *
 * A counter has 32 bits for packets and 64 bits for bytes. With a single writer each counter is
 * split into two parts (counter_parts.h). Several writers use whole counters and atomic operations.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/key_burst.h"
#include "sketch/counter.h"
#include "sketch/counter_parts.h"
#include "sketch/sketch.h"
#include "sketch/weight.h"

#define COUNTER_ROWS_DEPTH 4 /* default shape */
#define COUNTER_ROWS_WIDTH (UINT64_C(1) << 18)

#define COUNTER_ROWS_WIDTH_BITS_MIN 4
#define COUNTER_ROWS_WIDTH_BITS_MAX 32

struct counter_rows {
	uint32_t depth;
	uint32_t bits;   /* log2 of the width */
	uint32_t stride; /* stride of row_index() */
	enum sketch_metric metric;
	uint64_t full; /* counters at or above this value are saturated */
	bool in_parts;
	union { /* arrays of all rows, one row after the other */
		uint32_t *packets;
		uint64_t *bytes;
		struct counter_parts parts;
	};
};

/*
 * Sets depth and width of *params to their defaults if they are 0. Returns NULL, or the reason if
 * the shape is not supported.
 */
const char *counter_rows_check(struct sketch_params *params);

/* Returns the bytes of the counters. counter_rows_check() must have accepted `params`. */
size_t counter_rows_size(const struct sketch_params *params);

/* Initializes the rows in zeroed memory[counter_rows_size(params)], aligned to 64 bytes. */
void counter_rows_init(struct counter_rows *rows, const struct sketch_params *params, void *memory);

void counter_rows_reset(const struct counter_rows *rows);

/* Prefetches the counters of a burst that will be added or offered. */
void counter_rows_fetch(const struct counter_rows *rows, const struct key_burst *burst);

/* Add a burst. The caller must be the only writer. */
void counter_rows_add(const struct counter_rows *rows, const struct key_burst *burst);
void counter_rows_add_weighted(const struct counter_rows *rows, const struct key_burst *burst);

/*
 * Adds an amount, in the metric, to the counters of a key. `policy` depends on whether other
 * threads write at the same time (counter.h).
 */
void counter_rows_add_key(const struct counter_rows *rows, const struct key_hash *hash,
	uint64_t amount, enum counter_policy policy);

/*
 * Packets of a burst that are added to the counters if their estimates stay below an admission
 * (candidates.h). The highest bits of a packet's hash select its admission.
 */
struct counter_offer {
	const struct key_burst *burst;
	const uint8_t *packets; /* [n], numbers of packets */
	uint32_t n;
	uint32_t admission_shift;
	const uint64_t *admission; /* [hash.hi >> admission_shift] */
};

/*
 * Adds packets in order. Stops before the first packet whose estimate would reach its admission.
 * Returns the index of this packet in `packets`, and stores its estimate without it in *before
 * (UINT64_MAX: saturated). Returns n if all packets were added.
 */
uint32_t counter_rows_offer(const struct counter_rows *rows, const struct counter_offer *offer,
	enum counter_policy policy, uint64_t *before);

/*
 * Same for a weighted burst. Stops before the first entry whose packets may raise the estimate to
 * its admission. Use counter_rows_offer_key() to find the packet of the entry.
 */
uint32_t counter_rows_offer_weighted(const struct counter_rows *rows,
	const struct counter_offer *offer, enum counter_policy policy);

/*
 * Moves packets from a weight to the counters of its key while the estimate stays below
 * `admission`. Stores the resulting estimate in *before (UINT64_MAX: saturated). Returns the amount
 * added, in the metric.
 */
uint64_t counter_rows_offer_key(const struct counter_rows *rows, const struct key_hash *hash,
	struct weight *weight, uint64_t admission, enum counter_policy policy, uint64_t *before);

/* Returns the value that represents a saturated counter. */
static inline uint64_t counter_rows_max(const struct counter_rows *rows)
{
	return rows->metric == SKETCH_PACKETS ? UINT32_MAX : UINT64_MAX;
}

/* Returns the raw value of a cell. Cells are numbered row by row. */
static inline uint64_t counter_rows_value(const struct counter_rows *rows, uint64_t cell)
{
	if (rows->metric == SKETCH_PACKETS)
		return rows->in_parts ? counter_parts_get(&rows->parts, cell, false)
				      : rows->packets[cell];
	return rows->in_parts ? counter_parts_get(&rows->parts, cell, true) : rows->bytes[cell];
}

/* Returns the value of a cell, counter_rows_max() if it is saturated. */
static inline uint64_t counter_rows_at(const struct counter_rows *rows, uint64_t cell)
{
	uint64_t value = counter_rows_value(rows, cell);

	return value < rows->full ? value : counter_rows_max(rows);
}

/* Sets a cell to a value of at most counter_rows_max(). */
void counter_rows_set(const struct counter_rows *rows, uint64_t cell, uint64_t value);

struct sketch_estimate counter_rows_query(
	const struct counter_rows *rows, const struct key_hash *hash);

/* Adds src to dst. Both must have the same shape, metric, seed and `full`. */
void counter_rows_merge(const struct counter_rows *dst, const struct counter_rows *src);

/* Same as sketch_ops.error_bound. Returns UINT64_MAX also if out of memory. */
uint64_t counter_rows_bound(const struct counter_rows *rows, uint64_t keys, double confidence,
	const struct sketch_allocator *allocator);

/* Adds cells `first` to first + n - 1 to sums[n]. Returns false if one of them is saturated. */
bool counter_rows_sum(const struct counter_rows *rows, uint64_t first, uint32_t n, uint64_t *sums);

/* Returns the total of a row; UINT64_MAX if the totals of two rows differ. */
uint64_t counter_rows_total(const struct counter_rows *rows);
