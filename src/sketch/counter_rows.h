/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Rows of counters as Count-Min has them (Cormode, Muthukrishnan, 2005): a packet adds to one
 * counter of every row, and the least of a key's counters is its estimate. 32 bits a counter for
 * packets, 64 for bytes: of one writer in two parts (counter_parts.h), of several, who add by
 * atomic operations, in one. For sketches that are made of such rows.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/key_burst.h"
#include "sketch/counter.h"
#include "sketch/counter_parts.h"
#include "sketch/sketch.h"
#include "sketch/weight.h"

#define COUNTER_ROWS_DEPTH 4 /* the defaults */
#define COUNTER_ROWS_WIDTH (UINT64_C(1) << 18)

#define COUNTER_ROWS_WIDTH_BITS_MIN 4
#define COUNTER_ROWS_WIDTH_BITS_MAX 32

struct counter_rows {
	uint32_t depth;
	uint32_t bits;   /* log2 of the width */
	uint32_t stride; /* stride of row_index() */
	enum sketch_metric metric;
	uint64_t full; /* values from here on stand for a saturated counter */
	bool in_parts;
	union { /* row after row */
		uint32_t *packets;
		uint64_t *bytes;
		struct counter_parts parts;
	};
};

/* Completes depth and width of *params. Returns NULL, or why this shape cannot be. */
const char *counter_rows_check(struct sketch_params *params);

/* Bytes of the counters of checked params. */
size_t counter_rows_size(const struct sketch_params *params);

/* Lays rows out in zeroed memory[counter_rows_size(params)], aligned to 64 bytes. */
void counter_rows_init(struct counter_rows *rows, const struct sketch_params *params, void *memory);

void counter_rows_reset(const struct counter_rows *rows);

/* Fetches the counters of a burst that will be added or offered. */
void counter_rows_fetch(const struct counter_rows *rows, const struct key_burst *burst);

/* Adds a burst, as the only writer. */
void counter_rows_add(const struct counter_rows *rows, const struct key_burst *burst);
void counter_rows_add_weighted(const struct counter_rows *rows, const struct key_burst *burst);

/* Adds an amount, in the metric, to a key's counters. The policy says who else writes
 * (counter.h). */
void counter_rows_add_key(const struct counter_rows *rows, const struct key_hash *hash,
	uint64_t amount, enum counter_policy policy);

/*
 * Packets of a burst, and the estimates from which they are not added: the admission of a packet is
 * selected by the highest bits of its hash.
 */
struct counter_offer {
	const struct key_burst *burst;
	const uint8_t *packets; /* [n], numbers of packets */
	uint32_t n;
	uint32_t admission_shift;
	const uint64_t *admission; /* [hash.hi >> admission_shift] */
};

/*
 * Adds packets in order, up to the first whose estimate would reach its admission. Returns its
 * index in `packets` and stores its estimate without it in *before (UINT64_MAX: saturated); or
 * returns n.
 */
uint32_t counter_rows_offer(const struct counter_rows *rows, const struct counter_offer *offer,
	enum counter_policy policy, uint64_t *before);

/*
 * The same of a weighted burst, up to the first entry whose key's estimate may reach its admission
 * while its packets are added, counter_rows_offer_key() knows with which of them.
 */
uint32_t counter_rows_offer_weighted(const struct counter_rows *rows,
	const struct counter_offer *offer, enum counter_policy policy);

/*
 * Adds the first packets of a key's weight and takes them out of it, up to the first with which its
 * estimate would reach `admission`; then *before is its estimate without that. Returns what it
 * added, in the metric.
 */
uint64_t counter_rows_offer_key(const struct counter_rows *rows, const struct key_hash *hash,
	struct weight *weight, uint64_t admission, enum counter_policy policy, uint64_t *before);

/* The value that says "at least this". */
static inline uint64_t counter_rows_max(const struct counter_rows *rows)
{
	return rows->metric == SKETCH_PACKETS ? UINT32_MAX : UINT64_MAX;
}

/* Cells are numbered row after row. */
static inline uint64_t counter_rows_value(const struct counter_rows *rows, uint64_t cell)
{
	if (rows->metric == SKETCH_PACKETS)
		return rows->in_parts ? counter_parts_get(&rows->parts, cell, false)
				      : rows->packets[cell];
	return rows->in_parts ? counter_parts_get(&rows->parts, cell, true) : rows->bytes[cell];
}

/* Saturated ones read as counter_rows_max(). */
static inline uint64_t counter_rows_at(const struct counter_rows *rows, uint64_t cell)
{
	uint64_t value = counter_rows_value(rows, cell);

	return value < rows->full ? value : counter_rows_max(rows);
}

/* Makes a cell's value, of at most counter_rows_max(). */
void counter_rows_set(const struct counter_rows *rows, uint64_t cell, uint64_t value);

struct sketch_estimate counter_rows_query(
	const struct counter_rows *rows, const struct key_hash *hash);

/* dst := the rows that had counted both. They have one shape, metric, seed and `full`. */
void counter_rows_merge(const struct counter_rows *dst, const struct counter_rows *src);

/* As sketch_ops.error_bound; without memory for the histograms there is no bound. */
uint64_t counter_rows_bound(const struct counter_rows *rows, uint64_t keys, double confidence,
	const struct sketch_allocator *allocator);

/* Adds cells `first` to first + n - 1 to sums[n]. Returns false where one of them is saturated. */
bool counter_rows_sum(const struct counter_rows *rows, uint64_t first, uint32_t n, uint64_t *sums);

/* Returns the total of each row; UINT64_MAX if two rows differ. */
uint64_t counter_rows_total(const struct counter_rows *rows);
