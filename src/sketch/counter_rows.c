/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/counter_rows.h"

#include <string.h>

#include "sketch/counter.h"
#include "sketch/error_bound.h"
#include "sketch/row_index.h"

const char *counter_rows_check(struct sketch_params *params)
{
	if (params->depth == 0)
		params->depth = COUNTER_ROWS_DEPTH;
	if (params->width == 0)
		params->width = COUNTER_ROWS_WIDTH;

	if (params->depth > ERROR_BOUND_ROWS)
		return "depth is 1 to 16";
	if ((params->width & (params->width - 1)) != 0 ||
		params->width < UINT64_C(1) << COUNTER_ROWS_WIDTH_BITS_MIN ||
		params->width > UINT64_C(1) << COUNTER_ROWS_WIDTH_BITS_MAX)
		return "width is a power of two, 16 to 4294967296";
	if (params->depth * (uint32_t)__builtin_ctzll(params->width) > ROW_HASH_BITS)
		return "depth x log2(width) is at most 128, the bits of the hash";
	return NULL;
}

size_t counter_rows_size(const struct sketch_params *params)
{
	return params->depth * params->width *
	       (params->metric == SKETCH_PACKETS ? sizeof(uint32_t) : sizeof(uint64_t));
}

void counter_rows_init(struct counter_rows *rows, const struct sketch_params *params, void *memory)
{
	bool packets = params->metric == SKETCH_PACKETS;

	rows->depth = params->depth;
	rows->bits = (uint32_t)__builtin_ctzll(params->width);
	rows->stride = row_stride(rows->depth, rows->bits);
	rows->metric = params->metric;
	rows->full = counter_rows_max(rows);
	if (params->atomic == ATOMIC_ADD)
		rows->full = packets ? COUNTER32_GUARD : COUNTER64_GUARD;
	if (packets)
		rows->packets = memory;
	else
		rows->bytes = memory;
}

void counter_rows_reset(const struct counter_rows *rows)
{
	size_t cells = (size_t)rows->depth << rows->bits;

	if (rows->metric == SKETCH_PACKETS)
		memset(rows->packets, 0, cells * sizeof(*rows->packets));
	else
		memset(rows->bytes, 0, cells * sizeof(*rows->bytes));
}

/*
 * Fetches every counter of a burst before the first is touched. Atomic operations do not overlap,
 * so each would wait for its own counter; plain ones do, but only as far as the core looks ahead,
 * which is not far enough once parsing and hashing have had the caches in between. Inlined by
 * force: gcc 12 takes a function that only prefetches for one without effect.
 */
static inline __attribute__((always_inline)) void prefetch_counters(const struct counter_rows *rows,
	const struct key_burst *burst, const uint32_t depth, const uint32_t stride)
{
	const uint32_t bits = rows->bits, n = burst->n;

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t row = 0; row < depth; row++) {
			uint64_t cell = ((uint64_t)row << bits) +
					row_index(&burst->hash[i], row, stride, bits);

			if (rows->metric == SKETCH_PACKETS)
				__builtin_prefetch(&rows->packets[cell], 1);
			else
				__builtin_prefetch(&rows->bytes[cell], 1);
		}
	}
}

/* Depth and stride are constants where these are instantiated for the usual shape. */
static inline __attribute__((always_inline)) void add_packets(const struct counter_rows *rows,
	const struct key_burst *burst, uint64_t *estimate, const uint32_t depth,
	const uint32_t stride, const enum counter_policy policy)
{
	uint32_t *const counters = rows->packets;
	const uint32_t bits = rows->bits, n = burst->n;

	prefetch_counters(rows, burst, depth, stride);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t least = UINT32_MAX;

		for (uint32_t row = 0; row < depth; row++) {
			uint32_t value = counter32_increment(
				counters + ((uint64_t)row << bits) +
					row_index(&burst->hash[i], row, stride, bits),
				policy);

			least = value < least ? value : least;
		}
		estimate[i] = least;
	}
}

static inline __attribute__((always_inline)) void add_bytes(const struct counter_rows *rows,
	const struct key_burst *burst, uint64_t *estimate, const uint32_t depth,
	const uint32_t stride, const enum counter_policy policy)
{
	uint64_t *const counters = rows->bytes;
	const uint32_t bits = rows->bits, n = burst->n;

	prefetch_counters(rows, burst, depth, stride);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t least = UINT64_MAX;

		for (uint32_t row = 0; row < depth; row++) {
			uint64_t value =
				counter64_add(counters + ((uint64_t)row << bits) +
						      row_index(&burst->hash[i], row, stride, bits),
					burst->wire_len[i], policy);

			least = value < least ? value : least;
		}
		estimate[i] = least;
	}
}

static inline __attribute__((always_inline)) void add(const struct counter_rows *rows,
	const struct key_burst *burst, uint64_t *estimate, const enum counter_policy policy)
{
	if (rows->metric == SKETCH_PACKETS) {
		if (rows->depth == ROW_LANE_DEPTH)
			add_packets(rows, burst, estimate, ROW_LANE_DEPTH, ROW_LANE_BITS, policy);
		else
			add_packets(rows, burst, estimate, rows->depth, rows->stride, policy);
	} else {
		if (rows->depth == ROW_LANE_DEPTH)
			add_bytes(rows, burst, estimate, ROW_LANE_DEPTH, ROW_LANE_BITS, policy);
		else
			add_bytes(rows, burst, estimate, rows->depth, rows->stride, policy);
	}
}

void counter_rows_add(
	const struct counter_rows *rows, const struct key_burst *burst, uint64_t *estimate)
{
	add(rows, burst, estimate, COUNTER_OWNED);
}

void counter_rows_add_shared(const struct counter_rows *rows, const struct key_burst *burst,
	enum sketch_atomic atomic, uint64_t *estimate)
{
	if (atomic == ATOMIC_ADD)
		add(rows, burst, estimate, COUNTER_ADD);
	else
		add(rows, burst, estimate, COUNTER_CAS);
}

struct sketch_estimate counter_rows_query(
	const struct counter_rows *rows, const struct key_hash *hash)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t row = 0; row < rows->depth; row++) {
		uint64_t value = counter_rows_at(
			rows, ((uint64_t)row << rows->bits) +
				      row_index(hash, row, rows->stride, rows->bits));

		if (value < least)
			least = value;
	}
	return (struct sketch_estimate){
		.value = least, .saturated = least == counter_rows_max(rows)};
}

void counter_rows_merge(const struct counter_rows *dst, const struct counter_rows *src)
{
	uint64_t cells = (uint64_t)dst->depth << dst->bits;

	if (dst->metric == SKETCH_PACKETS) {
		for (uint64_t i = 0; i < cells; i++) {
			uint32_t value = src->packets[i];

			value = value < src->full ? value : UINT32_MAX;
			dst->packets[i] = counter32_sum(dst->packets[i], value);
		}
	} else {
		for (uint64_t i = 0; i < cells; i++) {
			uint64_t value = src->bytes[i];

			value = value < src->full ? value : UINT64_MAX;
			dst->bytes[i] = counter64_sum(dst->bytes[i], value);
		}
	}
}

uint64_t counter_rows_bound(const struct counter_rows *rows, uint64_t keys, double confidence,
	const struct sketch_allocator *allocator)
{
	size_t size = rows->depth * sizeof(struct row_histogram);
	struct row_histogram *histograms = allocator->alloc(size, allocator->arg);
	uint64_t width = UINT64_C(1) << rows->bits, result;
	bool full = false;

	if (histograms == NULL)
		return UINT64_MAX;
	for (uint32_t r = 0; r < rows->depth; r++) {
		struct row_histogram *histogram = &histograms[r];

		if (rows->metric == SKETCH_PACKETS)
			row_histogram_fill32(histogram, rows->packets + r * width, width);
		else
			row_histogram_fill64(histogram, rows->bytes + r * width, width);
		full |= histogram->largest >= rows->full;
	}
	/* A counter that stopped between guard and maximum would pass for a true sum. */
	result = full ? UINT64_MAX : error_bound(histograms, rows->depth, width, keys, confidence);
	allocator->free(histograms, size, allocator->arg);
	return result;
}
