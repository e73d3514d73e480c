/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/counter_rows.h"

#include <string.h>

#include "base/assertion.h"
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

static size_t counter_size(enum sketch_metric metric)
{
	return metric == SKETCH_PACKETS ? sizeof(uint32_t) : sizeof(uint64_t);
}

static bool in_parts(const struct sketch_params *params)
{
	return params->writers <= 1;
}

size_t counter_rows_size(const struct sketch_params *params)
{
	size_t cells = params->depth * params->width;

	return cells * counter_size(params->metric) + (in_parts(params) ? cells / 8 : 0);
}

void counter_rows_init(struct counter_rows *rows, const struct sketch_params *params, void *memory)
{
	size_t half = params->depth * params->width * counter_size(params->metric) / 2;

	rows->depth = params->depth;
	rows->bits = (uint32_t)__builtin_ctzll(params->width);
	rows->stride = row_stride(rows->depth, rows->bits);
	rows->metric = params->metric;
	rows->full = counter_rows_max(rows);
	if (params->atomic == ATOMIC_ADD)
		rows->full = params->metric == SKETCH_PACKETS ? COUNTER32_GUARD : COUNTER64_GUARD;
	rows->in_parts = in_parts(params);
	if (rows->in_parts)
		rows->parts = (struct counter_parts){.low = memory,
			.rest = (uint8_t *)memory + half,
			.top = (uint8_t *)memory + 2 * half};
	else if (params->metric == SKETCH_PACKETS)
		rows->packets = memory;
	else
		rows->bytes = memory;
}

static uint64_t nb_cells(const struct counter_rows *rows)
{
	return (uint64_t)rows->depth << rows->bits;
}

void counter_rows_reset(const struct counter_rows *rows)
{
	size_t cells = nb_cells(rows), size = counter_size(rows->metric);

	if (!rows->in_parts) {
		memset(rows->packets, 0, cells * size);
		return;
	}
	memset(rows->parts.low, 0, cells * size / 2);
	memset(rows->parts.rest, 0, cells * size / 2);
	memset(rows->parts.top, 0, cells / 8);
}

static uint64_t cell_of(const struct counter_rows *rows, const struct key_hash *hash, uint32_t row)
{
	return ((uint64_t)row << rows->bits) + row_index(hash, row, rows->stride, rows->bits);
}

/* Reads an unsplit counter that the calling thread also writes. */
static ALWAYS_INLINE uint64_t read_whole(const struct counter_rows *rows, uint64_t cell,
	const enum counter_policy policy, const bool wide)
{
	return wide ? counter64_read(&rows->bytes[cell], policy)
		    : counter32_read(&rows->packets[cell], policy);
}

static uint64_t least_of(
	const struct counter_rows *rows, const struct key_hash *hash, enum counter_policy policy)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t row = 0; row < rows->depth; row++) {
		uint64_t cell = cell_of(rows, hash, row);
		uint64_t value = rows->in_parts ? counter_rows_value(rows, cell)
						: read_whole(rows, cell, policy,
							  rows->metric == SKETCH_BYTES);

		least = value < least ? value : least;
	}
	return least;
}

/* Cells are numbered row by row. */
struct counter_rows_cells {
	uint64_t cell[BURST_MAX * ERROR_BOUND_ROWS] __attribute__((aligned(64)));
};

/* Split counters always have a single writer. */
static enum counter_policy policy_of(const struct counter_rows *rows, enum counter_policy policy)
{
	if (rows->in_parts)
		return COUNTER_OWNED;
	return policy == COUNTER_ADD ? COUNTER_ADD : COUNTER_CAS;
}

/* `wide` is a compile-time constant in this file. true: counters of bytes. false: of packets. */
static ALWAYS_INLINE uint32_t touched_shift(const bool in_parts, const bool wide)
{
	return 2 + wide - in_parts;
}

typedef uint32_t lanes __attribute__((vector_size(16)));
typedef uint64_t lane_cells __attribute__((vector_size(32)));

/* Each of four rows uses its own 32-bit lane of the hash. */
static ALWAYS_INLINE void find_in_lanes(const struct key_hash *hash, const lane_cells *mask,
	const lane_cells *first, uint64_t *cell)
{
	lane_cells *const found = (lane_cells *)(void *)cell;
	lanes lane;

	memcpy(&lane, hash, sizeof(lane));
	*found = (__builtin_convertvector(lane, lane_cells) & *mask) + *first;
	/* Prevent the compiler from splitting the vector before the store. */
	__asm__("" : "+m"(*found));
}

static ALWAYS_INLINE void find_cells(const struct counter_rows *rows, const struct key_burst *burst,
	const uint8_t *packets, const uint32_t n, struct counter_rows_cells *cells,
	const uint32_t depth)
{
	const uint64_t width = UINT64_C(1) << rows->bits, ones = width - 1;
	const lane_cells mask = {ones, ones, ones, ones}, first = {0, width, 2 * width, 3 * width};
	uint64_t *cell = cells->cell;

	for (uint32_t k = 0; k < n; k++, cell += depth) {
		const struct key_hash *hash = &burst->hash[packets == NULL ? k : packets[k]];

		if (__builtin_constant_p(depth) && depth == ROW_LANE_DEPTH)
			find_in_lanes(hash, &mask, &first, cell);
		else
			for (uint32_t row = 0; row < depth; row++)
				cell[row] = cell_of(rows, hash, row);
	}
}

/*
 * Prefetch distance, in packets. A prefetch of the whole burst would exceed the outstanding loads
 * of a core. Functions that prefetch are always inlined, because gcc 12 removes calls of functions
 * that only prefetch.
 */
#define FETCH_AHEAD 8

static ALWAYS_INLINE void fetch_ahead(const void *counters, const uint64_t *cell, uint32_t k,
	uint32_t n, const uint32_t depth, const uint32_t shift)
{
	if (k + FETCH_AHEAD >= n)
		return;
#pragma GCC unroll 4
	for (uint32_t row = 0; row < depth; row++)
		__builtin_prefetch(
			(const uint8_t *)counters + (cell[FETCH_AHEAD * depth + row] << shift), 1);
}

static ALWAYS_INLINE void fetch_cells(const struct counter_rows *rows,
	const struct key_burst *burst, const uint32_t depth, const uint32_t stride)
{
	const uint32_t shift = touched_shift(rows->in_parts, rows->metric == SKETCH_BYTES);
	const uint8_t *first = rows->in_parts ? rows->parts.low : (const void *)rows->packets;
	const uint32_t bits = rows->bits;

	for (uint32_t i = 0; i < burst->n; i++)
#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++)
			__builtin_prefetch(
				first + ((((uint64_t)row << bits) +
						 row_index(&burst->hash[i], row, stride, bits))
						<< shift),
				1);
}

void counter_rows_fetch(const struct counter_rows *rows, const struct key_burst *burst)
{
	if (rows->depth == ROW_LANE_DEPTH)
		fetch_cells(rows, burst, ROW_LANE_DEPTH, ROW_LANE_BITS);
	else
		fetch_cells(rows, burst, rows->depth, rows->stride);
}

static ALWAYS_INLINE uint64_t amount_of(
	const struct key_burst *burst, uint32_t i, const bool wide, const bool weighted)
{
	const struct weight weight = weight_of(burst, i, weighted);

	return wide ? weight.bytes : weight.packets;
}

/* `value` was just read from the unsplit counter. */
static ALWAYS_INLINE void add_whole(const struct counter_rows *rows, uint64_t cell, uint64_t value,
	uint64_t amount, const enum counter_policy policy, const bool wide, const bool weighted)
{
	if (wide && weighted)
		counter64_add_weight(&rows->bytes[cell], value, amount, policy);
	else if (wide)
		counter64_add(&rows->bytes[cell], value, amount, policy);
	else if (weighted)
		counter32_add_weight(&rows->packets[cell], (uint32_t)value, amount, policy);
	else
		counter32_add(&rows->packets[cell], (uint32_t)value, 1, policy);
}

static ALWAYS_INLINE uint64_t admission_of(
	const struct counter_offer *offer, const struct key_hash *hash)
{
	return offer->admission[hash->hi >> offer->admission_shift];
}

/* For unsplit counters. `depth` is a compile-time constant if there are four rows. */
static ALWAYS_INLINE uint32_t submit_whole(const struct counter_rows *rows,
	const struct counter_offer *offer, uint64_t *before, const uint32_t depth,
	const enum counter_policy policy, const bool wide, const bool weighted)
{
	const uint32_t n = offer->n;
	struct counter_rows_cells cells;
	const uint64_t *cell = cells.cell;

	find_cells(rows, offer->burst, offer->packets, n, &cells, depth);
	for (uint32_t k = 0; k < n; k++, cell += depth) {
		const struct key_hash *hash = &offer->burst->hash[offer->packets[k]];
		const uint64_t amount = amount_of(offer->burst, offer->packets[k], wide, weighted);
		uint64_t values[ERROR_BOUND_ROWS], least = UINT64_MAX;

		fetch_ahead(rows->packets, cell, k, n, depth, touched_shift(false, wide));
#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++) {
			values[row] = read_whole(rows, cell[row], policy, wide);
			least = values[row] < least ? values[row] : least;
		}
		if (__builtin_expect(
			    counter64_sum(least, amount) >= admission_of(offer, hash), 0)) {
			*before = least < rows->full ? least : UINT64_MAX;
			return k;
		}
#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++)
			add_whole(rows, cell[row], values[row], amount, policy, wide, weighted);
	}
	return n;
}

static ALWAYS_INLINE uint32_t submit_metric(const struct counter_rows *rows,
	const struct counter_offer *offer, uint64_t *before, const enum counter_policy policy,
	const bool wide, const bool weighted)
{
	if (rows->depth == ROW_LANE_DEPTH)
		return submit_whole(rows, offer, before, ROW_LANE_DEPTH, policy, wide, weighted);
	return submit_whole(rows, offer, before, rows->depth, policy, wide, weighted);
}

static ALWAYS_INLINE uint32_t submit_rows(const struct counter_rows *rows,
	const struct counter_offer *offer, uint64_t *before, const enum counter_policy policy,
	const bool weighted)
{
	if (rows->metric == SKETCH_PACKETS)
		return submit_metric(rows, offer, before, policy, false, weighted);
	return submit_metric(rows, offer, before, policy, true, weighted);
}

/*
 * add_low() stopped at packet k. If row < depth, the low part of this row's counter has just
 * wrapped. Only the counters of the rows before it are updated.
 */
struct stop {
	uint32_t k, row;
};

/*
 * Stops if a low part wraps, or if low parts cannot show that the estimate stays below the
 * admission. Two counters show this for nearly all packets, because the estimate is the minimum of
 * all rows.
 */
static ALWAYS_INLINE struct stop add_low(const struct counter_rows *rows,
	const struct counter_offer *offer, uint32_t k, const uint64_t *cell, const uint32_t depth,
	const bool wide, const bool weighted)
{
	const struct key_burst *const burst = offer->burst;
	const uint64_t *const admission = offer->admission;
	const uint8_t *const packets = offer->packets;
	const uint32_t shift = offer->admission_shift, n = offer->n;
	void *const low = rows->parts.low;

	for (cell += (uint64_t)k * depth; k < n; k++, cell += depth) {
		const uint64_t amount = amount_of(burst, packets[k], wide, weighted);
		uint64_t first = counter_part(low, cell[0], wide);
		uint64_t second = counter_part(low, cell[depth > 1], wide);
		uint64_t least = first < second ? first : second;

		fetch_ahead(low, cell, k, n, depth, touched_shift(true, wide));
		if (__builtin_expect(least >= counter_parts_half(wide) ||
					     least + amount >=
						     admission[burst->hash[packets[k]].hi >> shift],
			    0))
			return (struct stop){k, depth};
		if (weighted && __builtin_expect(amount > counter_part_max(wide), 0))
			return (struct stop){k, depth};
#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++)
			if (__builtin_expect(counter_part_add(low, cell[row], amount, wide), 0))
				return (struct stop){k, row};
	}
	return (struct stop){n, depth};
}

/* One function per case, because registers are scarce. */
#define ADD_LOW(name, depth, wide, weighted)                                                       \
	static __attribute__((noinline)) struct stop name(const struct counter_rows *rows,         \
		const struct counter_offer *offer, uint32_t k, const uint64_t *cell)               \
	{                                                                                          \
		return add_low(rows, offer, k, cell, depth, wide, weighted);                       \
	}

ADD_LOW(add_packets4, ROW_LANE_DEPTH, false, false)
ADD_LOW(add_packets, rows->depth, false, false)
ADD_LOW(add_weighted4, ROW_LANE_DEPTH, false, true)
ADD_LOW(add_weighted, rows->depth, false, true)
ADD_LOW(add_bytes4, ROW_LANE_DEPTH, true, false)
ADD_LOW(add_bytes, rows->depth, true, false)
ADD_LOW(add_weighted_bytes4, ROW_LANE_DEPTH, true, true)
ADD_LOW(add_weighted_bytes, rows->depth, true, true)

/* Returns true if the key's estimate would reach the admission. Otherwise adds the packet. */
static ALWAYS_INLINE bool add_checked(const struct counter_rows *rows,
	const struct counter_offer *offer, const struct stop *stop, const uint64_t *cell,
	bool weighted, uint64_t *before, const bool wide)
{
	const struct counter_parts *parts = &rows->parts;
	const uint8_t i = offer->packets[stop->k];
	const uint64_t amount = amount_of(offer->burst, i, wide, weighted);
	uint32_t row = 0;

	if (stop->row < rows->depth) {
		counter_parts_wrapped(parts, cell[stop->row], amount, wide);
		row = stop->row + 1;
	} else {
		uint64_t least = UINT64_MAX;

		for (uint32_t r = 0; r < rows->depth; r++) {
			uint64_t value = counter_parts_get(parts, cell[r], wide);

			least = value < least ? value : least;
		}
		if (counter64_sum(least, amount) >= admission_of(offer, &offer->burst->hash[i])) {
			*before = least < rows->full ? least : UINT64_MAX;
			return true;
		}
	}
	for (; row < rows->depth; row++)
		counter_parts_add(parts, cell[row], amount, wide, true);
	return false;
}

static __attribute__((noinline)) bool add_stopped(const struct counter_rows *rows,
	const struct counter_offer *offer, const struct stop *stop, const uint64_t *cell,
	bool weighted, uint64_t *before)
{
	if (rows->metric == SKETCH_BYTES)
		return add_checked(rows, offer, stop, cell, weighted, before, true);
	return add_checked(rows, offer, stop, cell, weighted, before, false);
}

/* Returns true if both counters that add_low() reads are at or above HALF (counter_parts.h). */
static __attribute__((noinline)) bool is_high(const struct counter_rows *rows,
	const struct counter_offer *offer, uint32_t k, const uint64_t *cell)
{
	const bool wide = rows->metric == SKETCH_BYTES;
	const uint64_t half = counter_parts_half(wide);

	cell += (uint64_t)k * rows->depth;
	return k < offer->n && counter_part(rows->parts.low, cell[0], wide) >= half &&
	       counter_part(rows->parts.low, cell[rows->depth > 1], wide) >= half;
}

static uint32_t submit_parts(const struct counter_rows *rows, const struct counter_offer *offer,
	uint64_t *before, bool weighted)
{
	static struct stop (*const add[2][2][2])(const struct counter_rows *rows,
		const struct counter_offer *offer, uint32_t k, const uint64_t *cell) = {
		{{add_packets, add_weighted}, {add_bytes, add_weighted_bytes}},
		{{add_packets4, add_weighted4}, {add_bytes4, add_weighted_bytes4}},
	};
	const bool wide = rows->metric == SKETCH_BYTES, lanes4 = rows->depth == ROW_LANE_DEPTH;
	struct stop stop = {.k = 0};
	struct counter_rows_cells cells;

	if (lanes4)
		find_cells(rows, offer->burst, offer->packets, offer->n, &cells, ROW_LANE_DEPTH);
	else
		find_cells(rows, offer->burst, offer->packets, offer->n, &cells, rows->depth);
	for (bool high = false;; high = is_high(rows, offer, stop.k, cells.cell)) {
		if (high)
			stop.row = rows->depth;
		else
			stop = add[lanes4][wide][weighted](rows, offer, stop.k, cells.cell);
		if (stop.k == offer->n ||
			add_stopped(rows, offer, &stop, cells.cell + (uint64_t)stop.k * rows->depth,
				weighted, before))
			return stop.k;
		stop.k++;
	}
}

static ALWAYS_INLINE uint32_t submit_policy(const struct counter_rows *rows,
	const struct counter_offer *offer, uint64_t *before, enum counter_policy policy,
	const bool weighted)
{
	switch (policy_of(rows, policy)) {
	case COUNTER_CAS: return submit_rows(rows, offer, before, COUNTER_CAS, weighted);
	case COUNTER_ADD: return submit_rows(rows, offer, before, COUNTER_ADD, weighted);
	case COUNTER_OWNED: break;
	}
	return submit_parts(rows, offer, before, weighted);
}

uint32_t counter_rows_offer(const struct counter_rows *rows, const struct counter_offer *offer,
	enum counter_policy policy, uint64_t *before)
{
	return submit_policy(rows, offer, before, policy, false);
}

uint32_t counter_rows_offer_weighted(const struct counter_rows *rows,
	const struct counter_offer *offer, enum counter_policy policy)
{
	uint64_t before;

	return submit_policy(rows, offer, &before, policy, true);
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
	const uint32_t depth, const bool wide, const bool weighted)
{
	const struct counter_parts parts = rows->parts;
	const uint32_t n = burst->n;
	struct counter_rows_cells cells;
	const uint64_t *cell = cells.cell;

	find_cells(rows, burst, NULL, n, &cells, depth);
	for (uint32_t i = 0; i < n; i++, cell += depth) {
		const uint64_t amount = amount_of(burst, i, wide, weighted);

		fetch_ahead(parts.low, cell, i, n, depth, touched_shift(true, wide));
#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++)
			counter_parts_add(&parts, cell[row], amount, wide, weighted);
	}
}

static ALWAYS_INLINE void add_metric(const struct counter_rows *rows, const struct key_burst *burst,
	const bool wide, const bool weighted)
{
	if (rows->depth == ROW_LANE_DEPTH)
		add_burst(rows, burst, ROW_LANE_DEPTH, wide, weighted);
	else
		add_burst(rows, burst, rows->depth, wide, weighted);
}

static ALWAYS_INLINE void add_rows(
	const struct counter_rows *rows, const struct key_burst *burst, const bool weighted)
{
	if (!rows->in_parts)
		for (uint32_t i = 0; i < burst->n; i++)
			counter_rows_add_key(rows, &burst->hash[i],
				amount_of(burst, i, rows->metric == SKETCH_BYTES, weighted),
				COUNTER_CAS);
	else if (rows->metric == SKETCH_PACKETS)
		add_metric(rows, burst, false, weighted);
	else
		add_metric(rows, burst, true, weighted);
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
	const bool wide = rows->metric == SKETCH_BYTES;

	for (uint32_t row = 0; row < rows->depth; row++) {
		uint64_t cell = cell_of(rows, hash, row);

		if (rows->in_parts && wide)
			counter_parts_add(&rows->parts, cell, amount, true, true);
		else if (rows->in_parts)
			counter_parts_add(&rows->parts, cell, amount, false, true);
		else if (wide)
			counter64_add_much(&rows->bytes[cell], amount, policy);
		else
			counter32_add_much(&rows->packets[cell], amount, policy);
	}
}

void counter_rows_set(const struct counter_rows *rows, uint64_t cell, uint64_t value)
{
	const bool wide = rows->metric == SKETCH_BYTES;

	ASSERT(value, <=, counter_rows_max(rows));
	if (rows->in_parts && wide)
		counter_parts_set(&rows->parts, cell, value, true);
	else if (rows->in_parts)
		counter_parts_set(&rows->parts, cell, value, false);
	else if (wide)
		rows->bytes[cell] = value;
	else
		rows->packets[cell] = (uint32_t)value;
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

#define BLOCK 64 /* counters per block */

static uint32_t block_at(uint64_t i, uint64_t n)
{
	return n - i < BLOCK ? (uint32_t)(n - i) : BLOCK;
}

/* Returns true if all n low parts, and thus the values, are below HALF (counter_parts.h). */
static ALWAYS_INLINE bool all_low(const void *lows, const uint32_t n, const bool wide)
{
	uint32_t wide_bits = 0;
	uint16_t bits = 0;

	if (wide)
		for (uint32_t i = 0; i < n; i++)
			wide_bits |= ((const uint32_t *)lows)[i];
	else
		for (uint32_t i = 0; i < n; i++)
			bits |= ((const uint16_t *)lows)[i];
	return (wide ? wide_bits : bits) < counter_parts_half(wide);
}

static void merge_cell(const struct counter_rows *dst, const struct counter_rows *src,
	uint64_t cell, uint64_t most)
{
	uint64_t a = counter_rows_value(dst, cell), b = counter_rows_value(src, cell);

	counter_rows_set(dst, cell, b < most - a ? a + b : most);
}

static ALWAYS_INLINE void merge_some(const struct counter_rows *dst, const struct counter_rows *src,
	uint64_t first, const uint32_t n, const bool wide)
{
	void *to = counter_part_at(dst->parts.low, first, wide);
	const void *from = counter_part_at(src->parts.low, first, wide);

	if (all_low(to, n, wide) && all_low(from, n, wide))
		for (uint32_t i = 0; i < n; i++)
			counter_part_set(to, i,
				counter_part(to, i, wide) + counter_part(from, i, wide), wide);
	else
		for (uint32_t i = 0; i < n; i++)
			merge_cell(dst, src, first + i, counter_rows_max(dst));
}

static ALWAYS_INLINE void merge_parts(
	const struct counter_rows *dst, const struct counter_rows *src, const bool wide)
{
	const uint64_t cells = nb_cells(dst);
	uint64_t first = 0;

	for (; cells - first >= BLOCK; first += BLOCK)
		merge_some(dst, src, first, BLOCK, wide);
	merge_some(dst, src, first, (uint32_t)(cells - first), wide);
}

void counter_rows_merge(const struct counter_rows *dst, const struct counter_rows *src)
{
	const uint64_t cells = nb_cells(dst), most = counter_rows_max(dst);

	VERIFY(dst->depth, ==, src->depth);
	VERIFY(dst->bits, ==, src->bits);
	VERIFY(dst->metric, ==, src->metric);
	/* Add raw values: a counter that stopped at the guard then remains saturated. */
	if (dst->in_parts != src->in_parts)
		for (uint64_t cell = 0; cell < cells; cell++)
			merge_cell(dst, src, cell, most);
	else if (dst->in_parts && dst->metric == SKETCH_PACKETS)
		merge_parts(dst, src, false);
	else if (dst->in_parts)
		merge_parts(dst, src, true);
	else if (dst->metric == SKETCH_PACKETS)
		for (uint64_t i = 0; i < cells; i++)
			dst->packets[i] = counter32_sum(dst->packets[i], src->packets[i]);
	else
		for (uint64_t i = 0; i < cells; i++)
			dst->bytes[i] = counter64_sum(dst->bytes[i], src->bytes[i]);
}

static ALWAYS_INLINE void read_some(const struct counter_rows *rows, uint64_t first,
	const uint32_t n, uint64_t *values, const bool wide)
{
	const void *lows = counter_part_at(rows->parts.low, first, wide);

	if (!rows->in_parts && wide)
		memcpy(values, rows->bytes + first, n * sizeof(*values));
	else if (!rows->in_parts)
		for (uint32_t i = 0; i < n; i++)
			values[i] = rows->packets[first + i];
	else if (all_low(lows, n, wide))
		for (uint32_t i = 0; i < n; i++)
			values[i] = counter_part(lows, i, wide);
	else
		for (uint32_t i = 0; i < n; i++)
			values[i] = counter_parts_get(&rows->parts, first + i, wide);
}

static void read_values(
	const struct counter_rows *rows, uint64_t first, uint32_t n, uint64_t *values)
{
	const bool wide = rows->metric == SKETCH_BYTES;

	ASSERT(n, <=, (uint32_t)BLOCK);
	if (n == BLOCK && wide)
		read_some(rows, first, BLOCK, values, true);
	else if (n == BLOCK)
		read_some(rows, first, BLOCK, values, false);
	else
		for (uint32_t i = 0; i < n; i++)
			values[i] = counter_rows_value(rows, first + i);
}

static ALWAYS_INLINE uint64_t sum_some(const uint64_t *values, const uint32_t n, uint64_t *sums)
{
	uint64_t largest = 0;

	for (uint32_t i = 0; i < n; i++) {
		largest = values[i] > largest ? values[i] : largest;
		sums[i] = counter64_sum(sums[i], values[i]);
	}
	return largest;
}

bool counter_rows_sum(const struct counter_rows *rows, uint64_t first, uint32_t n, uint64_t *sums)
{
	uint64_t values[BLOCK], largest = 0;

	for (uint32_t at = 0, some; at < n; at += some) {
		uint64_t other;

		some = block_at(at, n);
		read_values(rows, first + at, some, values);
		other = some == BLOCK ? sum_some(values, BLOCK, sums + at)
				      : sum_some(values, some, sums + at);
		largest = other > largest ? other : largest;
	}
	return largest < rows->full;
}

static void fill_histogram(struct row_histogram *histogram, const struct counter_rows *rows,
	uint64_t first, uint64_t width)
{
	uint64_t values[BLOCK];

	memset(histogram, 0, sizeof(*histogram));
	for (uint64_t at = 0; at < width; at += BLOCK) {
		uint32_t n = block_at(at, width);

		read_values(rows, first + at, n, values);
		row_histogram_add(histogram, values, n, counter_rows_max(rows));
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
		fill_histogram(&histograms[r], rows, r * width, width);
		full |= histograms[r].largest >= rows->full;
	}
	/* A counter between guard and maximum would otherwise count as exact. */
	result = full ? UINT64_MAX : error_bound(histograms, rows->depth, width, keys, confidence);
	allocator->free(histograms, size, allocator->arg);
	return result;
}

uint64_t counter_rows_total(const struct counter_rows *rows)
{
	uint64_t width = UINT64_C(1) << rows->bits, total = 0;

	for (uint32_t row = 0; row < rows->depth; row++) {
		uint64_t values[BLOCK], sum = 0;
		uint32_t n;

		for (uint64_t at = 0; at < width; at += n) {
			n = block_at(at, width);
			read_values(rows, row * width + at, n, values);
			for (uint32_t i = 0; i < n; i++)
				sum += values[i] < rows->full ? values[i] : counter_rows_max(rows);
		}
		if (row > 0 && sum != total)
			return UINT64_MAX;
		total = sum;
	}
	return total;
}
