/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/counter_groups.h"

#include <stdbool.h>
#include <string.h>

#include "sketch/counter.h"
#include "sketch/error_bound.h"
#include "sketch/row_index.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

#define LANES 8

typedef uint16_t lanes __attribute__((vector_size(LANES * sizeof(uint16_t)), may_alias));

/* Where each group adds in each row, at its leader. */
struct cells {
	uint32_t index[ERROR_BOUND_ROWS][BURST_MAX];
	uint16_t low[ERROR_BOUND_ROWS][BURST_MAX] __attribute__((aligned(64)));
};

/* Atomic operations do not overlap: without the prefetch each would wait for its own counter. */
static ALWAYS_INLINE void find_cells(const struct counter_rows *rows, const struct key_burst *burst,
	const struct burst_groups *groups, struct cells *cells, const uint32_t depth,
	const uint32_t stride)
{
	memset(cells->low, 0, depth * sizeof(cells->low[0]));
	for (uint64_t left = groups->leaders; left != 0;) {
		uint32_t i = mask_next(&left);
		const struct key_hash *hash = &burst->hash[i];

		for (uint32_t row = 0; row < depth; row++) {
			uint64_t index = row_index(hash, row, stride, rows->bits);
			uint64_t cell = ((uint64_t)row << rows->bits) + index;

			cells->index[row][i] = (uint32_t)index;
			cells->low[row][i] = (uint16_t)index;
			if (rows->metric == SKETCH_PACKETS)
				__builtin_prefetch(&rows->packets[cell], 1);
			else
				__builtin_prefetch(&rows->bytes[cell], 1);
		}
	}
}

/*
 * True where a repeated key may share a counter with another key of the burst. Then packets of the
 * two that came in turns must be added in turns, for their estimates to be right. Only the lower
 * bits of indices are compared, which calls a few more bursts true than are.
 */
static ALWAYS_INLINE bool keys_meet(const struct counter_rows *rows, const struct key_burst *burst,
	const struct burst_groups *groups, const struct cells *cells, const uint32_t depth,
	const uint32_t stride)
{
	uint16_t met[BURST_MAX] __attribute__((aligned(64))) = {0};
	lanes *const met_lanes = (lanes *)met;
	uint32_t sum = 0;

	for (uint64_t left = groups->repeated; left != 0;) {
		const struct key_hash *hash = &burst->hash[mask_next(&left)];

		for (uint32_t row = 0; row < depth; row++) {
			const lanes *row_lanes = (const lanes *)cells->low[row];
			uint16_t own = (uint16_t)row_index(hash, row, stride, rows->bits);

			for (uint32_t j = 0; j < BURST_MAX / LANES; j++)
				met_lanes[j] -= (lanes)(row_lanes[j] == own);
		}
	}
	for (uint32_t i = 0; i < BURST_MAX; i++)
		sum += met[i];
	/* Each meets itself once a row. */
	return sum != (uint32_t)__builtin_popcountll(groups->repeated) * depth;
}

static ALWAYS_INLINE void add_packets(const struct counter_rows *rows,
	const struct burst_groups *groups, const struct cells *cells, uint64_t *estimate,
	const uint32_t depth, const enum counter_policy policy)
{
	for (uint64_t left = groups->leaders; left != 0;) {
		uint32_t i = mask_next(&left), least = UINT32_MAX;
		uint32_t amount = weight_packets(groups->weight[i]);

		for (uint32_t row = 0; row < depth; row++) {
			uint32_t before =
				counter32_fetch_add(rows->packets + ((uint64_t)row << rows->bits) +
							    cells->index[row][i],
					amount, policy);

			least = before < least ? before : least;
		}
		estimate[i] = counter32_sum(least, 1);
	}
	for (uint64_t left = groups->followers; left != 0;) {
		uint32_t i = mask_next(&left);

		estimate[i] = counter32_sum((uint32_t)estimate[groups->leader[i]],
			weight_packets(groups->weight[i]) - 1);
	}
}

static ALWAYS_INLINE void add_bytes(const struct counter_rows *rows, const struct key_burst *burst,
	const struct burst_groups *groups, const struct cells *cells, uint64_t *estimate,
	const uint32_t depth, const enum counter_policy policy)
{
	for (uint64_t left = groups->leaders; left != 0;) {
		uint32_t i = mask_next(&left);
		uint64_t amount = weight_bytes(groups->weight[i]), least = UINT64_MAX;

		for (uint32_t row = 0; row < depth; row++) {
			uint64_t before = counter64_fetch_add(
				rows->bytes + ((uint64_t)row << rows->bits) + cells->index[row][i],
				amount, policy);

			least = before < least ? before : least;
		}
		estimate[i] = counter64_sum(least, burst->wire_len[i]);
	}
	for (uint64_t left = groups->followers; left != 0;) {
		uint32_t i = mask_next(&left), leader = groups->leader[i];

		estimate[i] = counter64_sum(estimate[leader],
			weight_bytes(groups->weight[i]) - burst->wire_len[leader]);
	}
}

/* Depth and stride are constants where this is instantiated for the usual shape. */
static ALWAYS_INLINE void add(const struct counter_rows *rows, const struct key_burst *burst,
	const struct burst_groups *groups, uint64_t *estimate, const uint32_t depth,
	const uint32_t stride, const enum counter_policy policy)
{
	struct cells cells;

	find_cells(rows, burst, groups, &cells, depth, stride);
	if (groups->repeated != 0 && keys_meet(rows, burst, groups, &cells, depth, stride))
		counter_rows_add_shared(
			rows, burst, policy == COUNTER_ADD ? ATOMIC_ADD : ATOMIC_CAS, estimate);
	else if (rows->metric == SKETCH_PACKETS)
		add_packets(rows, groups, &cells, estimate, depth, policy);
	else
		add_bytes(rows, burst, groups, &cells, estimate, depth, policy);
}

static ALWAYS_INLINE void add_depth(const struct counter_rows *rows, const struct key_burst *burst,
	const struct burst_groups *groups, uint64_t *estimate, const enum counter_policy policy)
{
	if (rows->depth == ROW_LANE_DEPTH)
		add(rows, burst, groups, estimate, ROW_LANE_DEPTH, ROW_LANE_BITS, policy);
	else
		add(rows, burst, groups, estimate, rows->depth, rows->stride, policy);
}

void counter_groups_add(const struct counter_rows *rows, const struct key_burst *burst,
	const struct burst_groups *groups, enum sketch_atomic atomic, uint64_t *estimate)
{
	if (atomic == ATOMIC_ADD)
		add_depth(rows, burst, groups, estimate, COUNTER_ADD);
	else
		add_depth(rows, burst, groups, estimate, COUNTER_CAS);
}
