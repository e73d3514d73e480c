/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Updates of a flow table by a single writer, in three passes over a burst. The first prefetches
 * the first entry of each packet's bucket. The second compares these entries with the keys,
 * without a branch. The third looks up all other packets in order, so that the table does not
 * depend on burst boundaries.
 */

#include "sketch/burst_groups.h"
#include "sketch/flow_table/flow_detail.h"
#include "sketch/flow_table/flow_entries.h"
#include "sketch/flow_table/flow_idle.h"

struct flow_burst {
	uint32_t bucket[BURST_MAX];
	struct flow_id id[BURST_MAX];
	int64_t now[BURST_MAX]; /* packet clock, if idle keys are removed */
};

static inline uint32_t flow_next(const struct flow_table *table, uint32_t entry)
{
	return atomic_load_explicit(&table->entries[entry].next, memory_order_relaxed);
}

static inline void flow_set_next(struct flow_table *table, uint32_t entry, uint32_t next)
{
	atomic_store_explicit(&table->entries[entry].next, next, memory_order_relaxed);
}

/* Relaxed: the table has one writer, or other threads find the entry only after a release. */
static inline void flow_set_stored(struct flow_table *table, uint32_t entry)
{
	atomic_store_explicit(&table->entries[entry].state, FLOW_STORED, memory_order_relaxed);
}

static inline __attribute__((always_inline)) void flow_burst_prepare(const struct flow_table *table,
	const struct key_burst *burst, const flow_hash_fn hash, struct flow_burst *work)
{
	flow_buckets(table, burst, hash, work->bucket);
	for (uint32_t i = 0; i < burst->n; i++)
		work->id[i] = flow_id_of(burst, i);
}

/*
 * Returns the packets of [begin, end) whose key is in the first entry of its bucket, one bit each.
 * If `details`, a compile-time constant, also prefetches the details of their flows.
 */
static inline __attribute__((always_inline)) uint64_t flow_find_first(
	const struct flow_table *table, const struct key_burst *burst,
	const struct flow_burst *work, uint32_t begin, uint32_t end, const bool details)
{
	struct flow_detail *of_none = details ? table->deep->details : NULL;
	uint64_t found = 0;

	for (uint32_t i = begin; i < end; i++) {
		uint32_t first = work->bucket[i];
		uint64_t differ = flow_ids_differ(&table->entries[first].id, &work->id[i]);

		__builtin_prefetch(&table->entries[flow_next(table, first)], 1);
		if (details)
			__builtin_prefetch(flow_detail_of(of_none, &table->entries[first]), 1);
		found |= (uint64_t)(differ == 0) << i;
	}
	for (uint64_t left = found & burst->v6; left != 0;) {
		uint32_t i = mask_next(&left);

		if (!flow_matches(table, work->bucket[i], &work->id[i], burst, i))
			found &= ~(UINT64_C(1) << i);
	}
	return found;
}

/* Finds or adds a key after the first entry of its bucket. Returns 0 if the pool is empty. */
typedef uint32_t (*flow_find_fn)(struct flow_table *table, const struct key_burst *burst,
	const struct flow_burst *work, uint32_t i);

static inline uint32_t flow_find_in_chain(struct flow_table *table, const struct key_burst *burst,
	const struct flow_burst *work, uint32_t i)
{
	uint32_t at = work->bucket[i], next;

	while ((next = flow_next(table, at)) != 0) {
		at = next;
		if (flow_matches(table, at, &work->id[i], burst, i))
			return at;
	}
	next = flow_take(table);
	if (next == 0)
		return 0;
	flow_fill(table, next, &work->id[i], burst, i);
	flow_set_next(table, next, 0);
	table->entries[next].bucket = work->bucket[i];
	flow_set_stored(table, next);
	flow_set_next(table, at, next);
	return next;
}

/* Returns false if there is no room. */
static inline __attribute__((always_inline)) bool flow_find(struct flow_table *table,
	const struct key_burst *burst, const struct flow_burst *work, uint32_t i, uint32_t *entry,
	const flow_find_fn find)
{
	uint32_t first = work->bucket[i];

	*entry = first;
	if (atomic_load_explicit(&table->entries[first].state, memory_order_relaxed) == FLOW_FREE) {
		flow_fill(table, first, &work->id[i], burst, i);
		flow_set_stored(table, first);
		return true;
	}
	if (flow_matches(table, first, &work->id[i], burst, i))
		return true;
	*entry = find(table, burst, work, i);
	return *entry != 0; /* entry 0 is never in the pool */
}

/* If `idle`, a compile-time constant, the table removes idle keys. */
static inline __attribute__((always_inline)) void flow_add(struct flow_table *table,
	const struct flow_burst *work, uint32_t i, uint32_t entry,
	const struct flow_addition *addition, const bool idle, const uint32_t mode)
{
	if (idle && flow_is_idle(table->idle, &table->entries[entry], work->now[i]))
		flow_end(table, entry);
	flow_count(table, entry, addition, COUNTER_OWNED, mode);
}

static inline __attribute__((always_inline)) void flow_update_one(struct flow_table *table,
	const struct key_burst *burst, const struct flow_burst *work, uint32_t i,
	const flow_find_fn find, const bool idle, const uint32_t mode)
{
	struct flow_addition addition = flow_addition_of(burst, i, mode);
	uint32_t entry;
	bool found = flow_find(table, burst, work, i, &entry, find);

	if (idle && !found && flow_reclaim(table, work->now[i]))
		found = flow_find(table, burst, work, i, &entry, find);
	if (found)
		flow_add(table, work, i, entry, &addition, idle, mode);
	else
		flow_shed(table, &addition, burst, mode);
}

/* Counts the packets of [begin, end). */
static inline __attribute__((always_inline)) void flow_update_range(struct flow_table *table,
	const struct key_burst *burst, const struct flow_burst *work, uint32_t begin, uint32_t end,
	const flow_find_fn find, const bool idle, const uint32_t mode)
{
	const uint64_t all =
		(end < BURST_MAX ? (UINT64_C(1) << end) - 1 : UINT64_MAX) & (UINT64_MAX << begin);
	const uint64_t found = idle && flow_may_reclaim(table, end - begin)
				       ? 0
				       : flow_find_first(table, burst, work, begin, end, false);

	for (uint64_t left = found; left != 0;) {
		uint32_t i = mask_next(&left);
		struct flow_addition addition = flow_addition_of(burst, i, mode);

		flow_add(table, work, i, work->bucket[i], &addition, idle, mode);
	}
	for (uint64_t left = all & ~found; left != 0;)
		flow_update_one(table, burst, work, mask_next(&left), find, idle, mode);
}

static inline __attribute__((always_inline)) void flow_update_owned(struct flow_table *table,
	const struct key_burst *burst, const flow_hash_fn hash, const flow_find_fn find,
	const uint32_t mode)
{
	struct flow_burst work;

	flow_burst_prepare(table, burst, hash, &work);
	flow_update_range(table, burst, &work, 0, burst->n, find, false, mode);
}

static inline void flow_burst_read_clock(
	const struct flow_table *table, const struct key_burst *burst, struct flow_burst *work)
{
	int64_t now = table->idle->now;

	for (uint32_t i = 0; i < burst->n; i++) {
		now = burst->time[i] > now ? burst->time[i] : now;
		work->now[i] = now;
	}
}

/* Returns the packet before which the next sweep is due, or burst->n. */
static inline uint32_t flow_sweep_end(
	const struct flow_table *table, const struct key_burst *burst, uint32_t begin)
{
	uint32_t end = begin + (FLOW_STRIDE - table->idle->stride);

	return end < burst->n ? end : burst->n;
}

/* Advances the packet clock by the packets of [begin, end). */
static inline void flow_sweep_after(
	struct flow_table *table, const struct flow_burst *work, uint32_t begin, uint32_t end)
{
	struct flow_idle *idle = table->idle;

	idle->now = work->now[end - 1];
	idle->stride += end - begin;
	if (idle->stride < FLOW_STRIDE)
		return;
	idle->stride = 0;
	flow_sweep(table);
}

static inline __attribute__((always_inline)) void flow_update_idle(struct flow_table *table,
	const struct key_burst *burst, const flow_find_fn find, const uint32_t mode)
{
	struct flow_burst work;

	flow_burst_prepare(table, burst, flow_hash_keyed, &work);
	flow_burst_read_clock(table, burst, &work);
	for (uint32_t begin = 0, end; begin < burst->n; begin = end) {
		end = flow_sweep_end(table, burst, begin);
		flow_update_range(table, burst, &work, begin, end, find, true, mode);
		flow_sweep_after(table, &work, begin, end);
	}
}
