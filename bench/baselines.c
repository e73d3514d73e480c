/* SPDX-License-Identifier: BSD-3-Clause */

/* Lower bounds for any sketch: reading keys, hashing them, one counter per row. */

#include "base/assertion.h"
#include "bench/baselines.h"

#include <stdlib.h>

#include "parallel/workers/node_memory.h"
#include "parallel/plan/plan.h"
#include "sketch/counter_rows.h"
#include "sketch/row_index.h"

struct floor_table {
	uint32_t *counters;
	char pad[56];
};

struct floor {
	uint32_t depth, bits, threads;
	struct floor_table tables[];
};

static size_t table_size(const struct floor *floor)
{
	return (size_t)floor->depth * sizeof(uint32_t) << floor->bits;
}

static void floor_close(void *state)
{
	struct sketch_allocator memory = node_memory_on_node(PLAN_NODE_ANY);
	struct floor *floor = state;

	for (uint32_t t = 0; t < floor->threads; t++)
		if (floor->tables[t].counters != NULL)
			memory.free(floor->tables[t].counters, table_size(floor), memory.arg);
	free(floor);
}

static void *floor_open(const struct bench_subject *subject, const struct bench_rounds *setup)
{
	struct sketch_allocator memory = node_memory_on_node(PLAN_NODE_ANY);
	struct floor *floor =
		calloc(1, sizeof(*floor) + subject->threads * sizeof(floor->tables[0]));

	if (floor == NULL)
		return NULL;
	VERIFY(__builtin_popcountll(bench_subject_width(subject, setup)), ==, 1);
	floor->depth = setup->depth == 0 ? COUNTER_ROWS_DEPTH : setup->depth;
	floor->bits = (uint32_t)__builtin_ctzll(bench_subject_width(subject, setup));
	floor->threads = subject->threads;
	for (uint32_t t = 0; t < floor->threads; t++) {
		floor->tables[t].counters = memory.alloc(table_size(floor), memory.arg);
		if (floor->tables[t].counters == NULL) {
			floor_close(floor);
			return NULL;
		}
	}
	return floor;
}

static inline __attribute__((always_inline)) void increment(uint32_t *counters,
	const struct key_burst *burst, const uint32_t depth, const uint32_t stride,
	const uint32_t bits)
{
	for (uint32_t i = 0; i < BURST_MAX; i++)
		for (uint32_t row = 0; row < depth; row++)
			counters[((uint64_t)row << bits) +
				 row_index(&burst->hash[i], row, stride, bits)]++;
}

static void floor_feed(void *state, uint32_t thread, const struct key_burst *burst)
{
	const struct floor *floor = state;
	uint32_t *counters = floor->tables[thread].counters;

	if (floor->depth == ROW_LANE_DEPTH)
		increment(counters, burst, ROW_LANE_DEPTH, ROW_LANE_BITS, floor->bits);
	else
		increment(counters, burst, floor->depth, row_stride(floor->depth, floor->bits),
			floor->bits);
}

static size_t floor_memory(const void *state)
{
	const struct floor *floor = state;

	return table_size(floor) * floor->threads;
}

static bool floor_total(const void *state, uint64_t *total)
{
	const struct floor *floor = state;
	uint64_t sum = 0;

	for (uint32_t t = 0; t < floor->threads; t++)
		for (size_t i = 0; i < table_size(floor) / sizeof(uint32_t); i++)
			sum += floor->tables[t].counters[i];
	*total = sum / floor->depth;
	return true;
}

const struct bench_subject_ops bench_subject_keys = {0};

const struct bench_subject_ops bench_subject_hashes = {.takes_hashes = true};

const struct bench_subject_ops bench_subject_floor = {
	.takes_hashes = true,
	.open = floor_open,
	.feed = floor_feed,
	.memory = floor_memory,
	.total = floor_total,
	.close = floor_close,
};
