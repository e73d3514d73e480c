/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Entries found by DPDK's rte_hash: cuckoo hashing, buckets of eight, and a chain of further
 * buckets for what finds no place in its two. It gives every key a number of its own, which is its
 * entry's; there is no first entry of a bucket. So any number of keys up to that of the entries
 * fits, whatever their hashes, and one is refused only when all numbers are given out.
 *
 * What it is given for a key are the 16 bytes of struct flow_id. IPv6 keys may have the same: the
 * second of them takes the id that follows, and so on.
 *
 * It is a reference to compare with, and an exception to the rules of the packet path: rte_hash
 * compares keys through a table of functions, and when it is full it tries a whole insertion for
 * every packet that is shed.
 *
 * One thread only. rte_hash can be shared, under a lock or with readers that take none; but it
 * shows a new key to others before the entry of its number is filled.
 */

#include <stdio.h>

#include <rte_hash.h>

#include "base/power_of_two.h"
#include "parallel/plan/flow_stores.h"
#include "parallel/memory.h"

/* Of rte_hash's inside, which has no call that tells. */
#define KEYS_PER_BUCKET 8
#define BUCKET_BYTES    RTE_CACHE_LINE_SIZE /* 64 are used */
#define KEY_SLOT_BYTES  32                  /* a pointer and 16 bytes, rounded up */
#define FIXED_BYTES     4096

_Static_assert(sizeof(struct flow_id) == 16, "KEY_SLOT_BYTES");

/* Numbers count from 0 to the number of keys, both included. */
static uint32_t nb_keys(const struct sketch_params *params)
{
	return (uint32_t)(2 * params->width - 1);
}

/* Buckets and as many to chain, keys, and a ring of free numbers for keys and for chained
 * buckets. */
static size_t memory(const struct sketch_params *params)
{
	uint64_t keys = nb_keys(params);
	uint64_t buckets = power_of_two_at_least(keys) / KEYS_PER_BUCKET;
	uint64_t rings = power_of_two_at_least(keys + 1) + power_of_two_at_least(buckets + 1);

	return 2 * buckets * BUCKET_BYTES + (keys + 1) * KEY_SLOT_BYTES + rings * sizeof(uint32_t) +
	       FIXED_BYTES;
}

static void forget_entries(struct flow_table *table)
{
	atomic_store_explicit(&table->used, 0, memory_order_relaxed);
}

static int init(struct flow_table *table)
{
	static _Atomic unsigned int instance; /* names are unique in the process */
	char name[RTE_HASH_NAMESIZE];
	const struct rte_hash_parameters params = {
		.name = name,
		.entries = nb_keys(&table->sketch.params),
		.key_len = sizeof(struct flow_id),
		.socket_id = memory_node(&table->sketch.params.allocator),
		.extra_flag = RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
	};

	snprintf(name, sizeof(name), "flows%u",
		atomic_fetch_add_explicit(&instance, 1, memory_order_relaxed));
	table->state = rte_hash_create(&params);
	if (table->state == NULL)
		return -ENOMEM;
	forget_entries(table);
	return 0;
}

static void fini(struct flow_table *table)
{
	rte_hash_free(table->state);
}

static void reset(struct flow_table *table)
{
	rte_hash_reset(table->state);
	forget_entries(table);
}

static bool is_stored(const struct flow_table *table, uint32_t entry)
{
	return atomic_load_explicit(&table->entries[entry].state, memory_order_relaxed) ==
	       FLOW_STORED;
}

static void set_stored(struct flow_table *table, uint32_t entry)
{
	atomic_store_explicit(&table->entries[entry].state, FLOW_STORED, memory_order_relaxed);
	if (entry >= atomic_load_explicit(&table->used, memory_order_relaxed))
		atomic_store_explicit(&table->used, entry + 1, memory_order_relaxed);
}

/* The entry of packet i's key, new if need be; negative where there is no room. */
static int32_t find(struct flow_table *table, const struct key_burst *burst, uint32_t i,
	struct flow_id id, uint32_t hash)
{
	for (;; id.lo++) {
		int32_t number = rte_hash_add_key_with_hash(table->state, &id, hash);

		if (number < 0)
			return number;
		if (is_stored(table, (uint32_t)number)) {
			if (flow_matches(table, (uint32_t)number, &id, burst, i))
				return number;
			continue;
		}
		flow_fill(table, (uint32_t)number, &id, burst, i);
		set_stored(table, (uint32_t)number);
		return number;
	}
}

static inline __attribute__((always_inline)) void count(
	struct flow_table *table, const struct key_burst *burst, const bool weighted)
{
	struct flow_id id[BURST_MAX];
	const void *ids[BURST_MAX];
	uint32_t hash[BURST_MAX];
	int32_t number[BURST_MAX];

	table->hash(burst, hash);
	for (uint32_t i = 0; i < burst->n; i++) {
		id[i] = flow_id_of(burst, i);
		ids[i] = &id[i];
	}
	rte_hash_lookup_with_hash_bulk(table->state, ids, hash, burst->n, number);
	for (uint32_t i = 0; i < burst->n; i++)
		if (number[i] >= 0)
			__builtin_prefetch(&table->entries[number[i]], 1);
	for (uint32_t i = 0; i < burst->n; i++) {
		struct flow_addition addition = flow_addition_of(burst, i, weighted);

		if (number[i] < 0 ||
			((burst->v6 >> i & 1) != 0 &&
				!flow_matches(table, (uint32_t)number[i], &id[i], burst, i)))
			number[i] = find(table, burst, i, id[i], hash[i]);
		if (number[i] < 0)
			flow_shed(table, &addition, weighted);
		else
			flow_count(&table->entries[number[i]], &addition, COUNTER_OWNED, weighted);
	}
}

static void update(struct flow_table *table, const struct key_burst *burst)
{
	count(table, burst, false);
}

static void update_weighted(struct flow_table *table, const struct key_burst *burst)
{
	count(table, burst, true);
}

const struct flow_store flow_store_cuckoo = {
	.name = "cuckoo",
	.width_max = RTE_HASH_ENTRIES_MAX / 2,
	.memory = memory,
	.init = init,
	.fini = fini,
	.reset = reset,
	.update = {[SHARING_SEPARATE] = update},
	.update_weighted = {[SHARING_SEPARATE] = update_weighted},
};
