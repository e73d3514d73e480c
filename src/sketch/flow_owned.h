/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * One thread's passes over a burst, whatever hangs behind the first entry of a bucket. First every
 * bucket's line is fetched. Then all first entries are compared, without a branch, and what they
 * point to is fetched: at one key a bucket three packets of four or more find theirs in the first
 * line. The others are looked up in the order of the packets, so that the table does not depend on
 * where bursts were cut.
 */

#include "sketch/burst_groups.h"
#include "sketch/flow_table.h"

/* What the passes hand on. Bit i of a mask stands for packet i. */
struct flow_burst {
	uint32_t bucket[BURST_MAX];
	struct flow_id id[BURST_MAX];
};

static inline uint32_t flow_next(const struct flow_table *table, uint32_t entry)
{
	return atomic_load_explicit(&table->entries[entry].next, memory_order_relaxed);
}

static inline void flow_set_next(struct flow_table *table, uint32_t entry, uint32_t next)
{
	atomic_store_explicit(&table->entries[entry].next, next, memory_order_relaxed);
}

/* Of an entry that only this thread sees, or that it publishes otherwise. */
static inline void flow_set_stored(struct flow_table *table, uint32_t entry)
{
	atomic_store_explicit(&table->entries[entry].state, FLOW_STORED, memory_order_relaxed);
}

static inline void flow_burst_prepare(
	const struct flow_table *table, const struct key_burst *burst, struct flow_burst *work)
{
	flow_buckets(table, burst, work->bucket);
	for (uint32_t i = 0; i < burst->n; i++)
		work->id[i] = flow_id_of(burst, i);
}

/* Packets whose key is the first of its bucket. */
static inline uint64_t flow_find_first(const struct flow_table *table,
	const struct key_burst *burst, const struct flow_burst *work)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < burst->n; i++) {
		uint32_t first = work->bucket[i];
		uint64_t differ = flow_ids_differ(&table->entries[first].id, &work->id[i]);

		__builtin_prefetch(&table->entries[flow_next(table, first)], 1);
		found |= (uint64_t)(differ == 0) << i;
	}
	for (uint64_t left = found & burst->v6; left != 0;) {
		uint32_t i = mask_next(&left);

		if (!flow_matches(table, work->bucket[i], &work->id[i], burst, i))
			found &= ~(UINT64_C(1) << i);
	}
	return found;
}

/*
 * Finds packet i's key behind the first entry of its bucket, or puts it there. Returns its entry, 0
 * where the pool is empty.
 */
typedef uint32_t (*flow_find_fn)(struct flow_table *table, const struct key_burst *burst,
	const struct flow_burst *work, uint32_t i);

/* Packet i, which is not of a first entry's key that the burst began with. */
static inline __attribute__((always_inline)) void flow_update_one(struct flow_table *table,
	const struct key_burst *burst, const struct flow_burst *work, uint32_t i,
	const flow_find_fn find)
{
	struct flow_addition addition = flow_addition_of(burst, i);
	uint32_t entry = work->bucket[i];
	uint8_t state = atomic_load_explicit(&table->entries[entry].state, memory_order_relaxed);

	if (state == FLOW_FREE) {
		flow_fill(table, entry, &work->id[i], burst, i);
		flow_set_stored(table, entry);
	} else if (!flow_matches(table, entry, &work->id[i], burst, i)) {
		entry = find(table, burst, work, i);
		if (entry == 0) { /* entry 0 is a bucket's first */
			flow_shed(table, &addition);
			return;
		}
	}
	flow_count(&table->entries[entry], &addition, COUNTER_OWNED);
}

static inline __attribute__((always_inline)) void flow_update_owned(
	struct flow_table *table, const struct key_burst *burst, const flow_find_fn find)
{
	const uint64_t all = burst->n < BURST_MAX ? (UINT64_C(1) << burst->n) - 1 : UINT64_MAX;
	struct flow_burst work;
	uint64_t found;

	flow_burst_prepare(table, burst, &work);
	found = flow_find_first(table, burst, &work);
	for (uint64_t left = found; left != 0;) {
		uint32_t i = mask_next(&left);
		struct flow_addition addition = flow_addition_of(burst, i);

		flow_count(&table->entries[work.bucket[i]], &addition, COUNTER_OWNED);
	}
	for (uint64_t left = all & ~found; left != 0;)
		flow_update_one(table, burst, &work, mask_next(&left), find);
}
