/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/counter_rows.h"

#include <string.h>

#include "sketch/error_bound.h"
#include "sketch/row_index.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

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

static uint64_t cell_of(const struct counter_rows *rows, const struct key_hash *hash, uint32_t row)
{
	return ((uint64_t)row << rows->bits) + row_index(hash, row, rows->stride, rows->bits);
}

/* Where packets add: in each row, counted from the row's first counter. */
struct cells {
	uint32_t index[BURST_MAX * ERROR_BOUND_ROWS] __attribute__((aligned(64)));
};

/* What the loops below read of struct counter_rows. For all the compiler knows counters are a part
 * of that; of this it knows better. */
struct row_bases {
	uint32_t *packets[ERROR_BOUND_ROWS];
	uint64_t *bytes[ERROR_BOUND_ROWS];
};

static ALWAYS_INLINE struct row_bases bases_of(
	const struct counter_rows *rows, const uint32_t depth)
{
	struct row_bases bases = {0};

#pragma GCC unroll 4
	for (uint32_t row = 0; row < depth; row++) {
		bases.packets[row] = rows->packets + ((uint64_t)row << rows->bits);
		bases.bytes[row] = rows->bytes + ((uint64_t)row << rows->bits);
	}
	return bases;
}

/*
 * Finds and fetches the counters of packets before the first is touched. Atomic operations do not
 * overlap, so each would wait for its own counter; plain ones do, but only as far as the core looks
 * ahead, which is not far enough once parsing and hashing have had the caches in between. Inlined
 * by force: gcc 12 takes a function that only prefetches for one without effect.
 */
static ALWAYS_INLINE void find_cells(const struct counter_rows *rows, const struct key_burst *burst,
	const uint8_t *packets, const uint32_t n, struct cells *cells, const uint32_t depth,
	const uint32_t stride)
{
	const struct row_bases bases = bases_of(rows, depth);
	const uint32_t bits = rows->bits;
	const bool count_packets = rows->metric == SKETCH_PACKETS;
	uint32_t *index = cells->index;

	for (uint32_t k = 0; k < n; k++, index += depth) {
		const struct key_hash *hash = &burst->hash[packets == NULL ? k : packets[k]];

#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++)
			index[row] = (uint32_t)row_index(hash, row, stride, bits);
#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++)
			if (count_packets)
				__builtin_prefetch(bases.packets[row] + index[row], 1);
			else
				__builtin_prefetch(bases.bytes[row] + index[row], 1);
	}
}

static ALWAYS_INLINE void fetch_cells(const struct counter_rows *rows,
	const struct key_burst *burst, const uint32_t depth, const uint32_t stride)
{
	const struct row_bases bases = bases_of(rows, depth);
	const uint32_t bits = rows->bits;
	const bool count_packets = rows->metric == SKETCH_PACKETS;

	for (uint32_t i = 0; i < burst->n; i++) {
#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++) {
			uint64_t index = row_index(&burst->hash[i], row, stride, bits);

			if (count_packets)
				__builtin_prefetch(bases.packets[row] + index, 1);
			else
				__builtin_prefetch(bases.bytes[row] + index, 1);
		}
	}
}

void counter_rows_fetch(const struct counter_rows *rows, const struct key_burst *burst)
{
	if (rows->depth == ROW_LANE_DEPTH)
		fetch_cells(rows, burst, ROW_LANE_DEPTH, ROW_LANE_BITS);
	else
		fetch_cells(rows, burst, rows->depth, rows->stride);
}

/* Depth and stride are constants where these are instantiated for the usual shape. */
static ALWAYS_INLINE uint32_t offer_packets(const struct counter_rows *rows,
	const struct counter_offer *offer, const struct cells *cells, uint64_t *before,
	const uint32_t depth, const enum counter_policy policy, const bool weighted)
{
	const struct row_bases bases = bases_of(rows, depth);
	const struct key_hash *const hashes = offer->burst->hash;
	const uint8_t *const packets = offer->packets;
	const uint64_t *const admission = offer->admission;
	const uint32_t shift = offer->admission_shift, n = offer->n;
	const uint32_t *index = cells->index;

	for (uint32_t k = 0; k < n; k++, index += depth) {
		const uint64_t amount = weight_of(offer->burst, packets[k], weighted).packets;
		uint32_t values[ERROR_BOUND_ROWS];
		uint64_t least = UINT32_MAX, reached;

#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++) {
			values[row] = counter32_read(&bases.packets[row][index[row]], policy);
			least = values[row] < least ? values[row] : least;
		}
		reached = weighted ? counter64_sum(least, amount) : least + 1;
		if (__builtin_expect(reached >= admission[hashes[packets[k]].hi >> shift], 0)) {
			*before = least < rows->full ? least : UINT64_MAX;
			return k;
		}
#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++)
			if (weighted)
				counter32_add_weight(&bases.packets[row][index[row]], values[row],
					amount, policy);
			else
				counter32_add(
					&bases.packets[row][index[row]], values[row], 1, policy);
	}
	return n;
}

static ALWAYS_INLINE uint32_t offer_bytes(const struct counter_rows *rows,
	const struct counter_offer *offer, const struct cells *cells, uint64_t *before,
	const uint32_t depth, const enum counter_policy policy, const bool weighted)
{
	const struct row_bases bases = bases_of(rows, depth);
	const struct key_burst *const burst = offer->burst;
	const uint8_t *const packets = offer->packets;
	const uint64_t *const admission = offer->admission;
	const uint32_t shift = offer->admission_shift, n = offer->n;
	const uint32_t *index = cells->index;

	for (uint32_t k = 0; k < n; k++, index += depth) {
		const uint64_t amount = weight_of(burst, packets[k], weighted).bytes;
		uint64_t values[ERROR_BOUND_ROWS], least = UINT64_MAX;

#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++) {
			values[row] = counter64_read(&bases.bytes[row][index[row]], policy);
			least = values[row] < least ? values[row] : least;
		}
		if (__builtin_expect(counter64_sum(least, amount) >=
					     admission[burst->hash[packets[k]].hi >> shift],
			    0)) {
			*before = least < rows->full ? least : UINT64_MAX;
			return k;
		}
#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++)
			if (weighted)
				counter64_add_weight(
					&bases.bytes[row][index[row]], values[row], amount, policy);
			else
				counter64_add(
					&bases.bytes[row][index[row]], values[row], amount, policy);
	}
	return n;
}

static ALWAYS_INLINE uint32_t offer_depth(const struct counter_rows *rows,
	const struct counter_offer *offer, uint64_t *before, const uint32_t depth,
	const uint32_t stride, const enum counter_policy policy, const bool weighted)
{
	struct cells cells;

	find_cells(rows, offer->burst, offer->packets, offer->n, &cells, depth, stride);
	if (rows->metric == SKETCH_PACKETS)
		return offer_packets(rows, offer, &cells, before, depth, policy, weighted);
	return offer_bytes(rows, offer, &cells, before, depth, policy, weighted);
}

static ALWAYS_INLINE uint32_t offer_rows(const struct counter_rows *rows,
	const struct counter_offer *offer, uint64_t *before, const enum counter_policy policy,
	const bool weighted)
{
	if (rows->depth == ROW_LANE_DEPTH)
		return offer_depth(
			rows, offer, before, ROW_LANE_DEPTH, ROW_LANE_BITS, policy, weighted);
	return offer_depth(rows, offer, before, rows->depth, rows->stride, policy, weighted);
}

uint32_t counter_rows_offer(const struct counter_rows *rows, const struct counter_offer *offer,
	enum counter_policy policy, uint64_t *before)
{
	switch (policy) {
	case COUNTER_CAS: return offer_rows(rows, offer, before, COUNTER_CAS, false);
	case COUNTER_ADD: return offer_rows(rows, offer, before, COUNTER_ADD, false);
	case COUNTER_OWNED: break;
	}
	return offer_rows(rows, offer, before, COUNTER_OWNED, false);
}

uint32_t counter_rows_offer_weighted(const struct counter_rows *rows,
	const struct counter_offer *offer, enum counter_policy policy)
{
	uint64_t before;

	switch (policy) {
	case COUNTER_CAS: return offer_rows(rows, offer, &before, COUNTER_CAS, true);
	case COUNTER_ADD: return offer_rows(rows, offer, &before, COUNTER_ADD, true);
	case COUNTER_OWNED: break;
	}
	return offer_rows(rows, offer, &before, COUNTER_OWNED, true);
}

/* As they are read by who adds. */
static uint64_t least_of(
	const struct counter_rows *rows, const struct key_hash *hash, enum counter_policy policy)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t row = 0; row < rows->depth; row++) {
		uint64_t cell = cell_of(rows, hash, row);
		uint64_t value = rows->metric == SKETCH_PACKETS
					 ? counter32_read(&rows->packets[cell], policy)
					 : counter64_read(&rows->bytes[cell], policy);

		least = value < least ? value : least;
	}
	return least;
}

uint64_t counter_rows_offer_key(const struct counter_rows *rows, const struct key_hash *hash,
	struct weight *weight, uint64_t admission, enum counter_policy policy, uint64_t *before)
{
	uint64_t least = least_of(rows, hash, policy), n = 0, amount;
	struct weight added;

	if (least < admission)
		n = weight_within(weight, rows->metric, admission - 1 - least);
	added = weight_take(weight, n);
	amount = weight_amount(&added, rows->metric);
	if (amount > 0)
		counter_rows_add_key(rows, hash, amount, policy);
	least = counter64_sum(least, amount);
	*before = least < rows->full ? least : UINT64_MAX;
	return amount;
}

static ALWAYS_INLINE void add_burst(const struct counter_rows *rows, const struct key_burst *burst,
	const uint32_t depth, const uint32_t stride, const bool weighted)
{
	const struct row_bases bases = bases_of(rows, depth);
	const bool count_packets = rows->metric == SKETCH_PACKETS;
	const uint32_t n = burst->n;
	struct cells cells;
	const uint32_t *index = cells.index;

	find_cells(rows, burst, NULL, n, &cells, depth, stride);
	for (uint32_t i = 0; i < n; i++, index += depth) {
		const struct weight weight = weight_of(burst, i, weighted);

#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++) {
			if (count_packets) {
				uint32_t *counter = &bases.packets[row][index[row]];

				if (weighted)
					counter32_add_weight(
						counter, *counter, weight.packets, COUNTER_OWNED);
				else
					*counter = counter32_sum(*counter, 1);
			} else {
				uint64_t *counter = &bases.bytes[row][index[row]];

				*counter = counter64_sum(*counter, weight.bytes);
			}
		}
	}
}

static ALWAYS_INLINE void add_rows(
	const struct counter_rows *rows, const struct key_burst *burst, const bool weighted)
{
	if (rows->depth == ROW_LANE_DEPTH)
		add_burst(rows, burst, ROW_LANE_DEPTH, ROW_LANE_BITS, weighted);
	else
		add_burst(rows, burst, rows->depth, rows->stride, weighted);
}

void counter_rows_add(const struct counter_rows *rows, const struct key_burst *burst)
{
	add_rows(rows, burst, false);
}

void counter_rows_add_weighted(const struct counter_rows *rows, const struct key_burst *burst)
{
	add_rows(rows, burst, true);
}

void counter_rows_add_key(const struct counter_rows *rows, const struct key_hash *hash,
	uint64_t amount, enum counter_policy policy)
{
	for (uint32_t row = 0; row < rows->depth; row++) {
		uint64_t cell = cell_of(rows, hash, row);

		if (rows->metric == SKETCH_PACKETS)
			counter32_add_much(&rows->packets[cell], amount, policy);
		else
			counter64_add_much(&rows->bytes[cell], amount, policy);
	}
}

struct sketch_estimate counter_rows_query(
	const struct counter_rows *rows, const struct key_hash *hash)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t row = 0; row < rows->depth; row++) {
		uint64_t value = counter_rows_at(rows, cell_of(rows, hash, row));

		if (value < least)
			least = value;
	}
	return (struct sketch_estimate){
		.value = least, .saturated = least == counter_rows_max(rows)};
}

void counter_rows_merge(const struct counter_rows *dst, const struct counter_rows *src)
{
	uint64_t cells = (uint64_t)dst->depth << dst->bits;

	/* One that stopped at the guard goes on saying so: the maximum would say that as much
	 * came. */
	if (dst->metric == SKETCH_PACKETS)
		for (uint64_t i = 0; i < cells; i++)
			dst->packets[i] = counter32_sum(dst->packets[i], src->packets[i]);
	else
		for (uint64_t i = 0; i < cells; i++)
			dst->bytes[i] = counter64_sum(dst->bytes[i], src->bytes[i]);
}

bool counter_rows_sum(const struct counter_rows *rows, uint64_t first, uint32_t n, uint64_t *sums)
{
	if (rows->metric == SKETCH_PACKETS) {
		const uint32_t *packets = rows->packets + first;
		uint32_t largest = 0;

		for (uint32_t i = 0; i < n; i++)
			largest = packets[i] > largest ? packets[i] : largest;
		for (uint32_t i = 0; i < n; i++)
			sums[i] += packets[i];
		return largest < rows->full;
	} else {
		const uint64_t *bytes = rows->bytes + first;
		uint64_t largest = 0;

		for (uint32_t i = 0; i < n; i++) {
			largest = bytes[i] > largest ? bytes[i] : largest;
			sums[i] = counter64_sum(sums[i], bytes[i]);
		}
		return largest < rows->full;
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

uint64_t counter_rows_total(const struct counter_rows *rows)
{
	uint64_t width = UINT64_C(1) << rows->bits, total = 0;

	for (uint32_t row = 0; row < rows->depth; row++) {
		uint64_t sum = 0;

		for (uint64_t i = 0; i < width; i++)
			sum += counter_rows_at(rows, row * width + i);
		if (row > 0 && sum != total)
			return UINT64_MAX;
		total = sum;
	}
	return total;
}
