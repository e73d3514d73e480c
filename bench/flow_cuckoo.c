/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A flow table that finds entries with DPDK's rte_hash: cuckoo hashing, and a chain of extra
 * buckets. The number that rte_hash gives to a key is the index of its entry. The rte_hash key is
 * struct flow_id: if two IPv6 keys have the same id, the second one takes the next id.
 * Single-threaded: rte_hash publishes a new key before its entry is filled.
 */

#include "bench/flow_cuckoo.h"

#include <stdio.h>

#include <rte_hash.h>

#include "base/power_of_two.h"

/* Internal sizes of rte_hash, which no function returns. */
#define KEYS_PER_BUCKET 8
#define BUCKET_BYTES    RTE_CACHE_LINE_SIZE
#define KEY_SLOT_BYTES  32 /* a pointer and a key of 16 bytes, rounded up */
#define FIXED_BYTES     4096

_Static_assert(sizeof(struct flow_id) == 16, "KEY_SLOT_BYTES");

struct cuckoo {
	struct sketch sketch;
	struct flow_table *table;
	struct rte_hash *keys;
};

/* rte_hash numbers keys from 0 to its number of keys, both included. */
static uint32_t nb_keys(const struct sketch_params *params)
{
	return (uint32_t)(2 * params->width - 1);
}

/*
 * Buckets, as many extra buckets, key slots, and rings of free key numbers and free extra buckets.
 */
size_t flow_cuckoo_heap(const struct sketch_params *params)
{
	uint64_t keys = nb_keys(params);
	uint64_t buckets = power_of_two_at_least(keys) / KEYS_PER_BUCKET;
	uint64_t rings = power_of_two_at_least(keys + 1) + power_of_two_at_least(buckets + 1);

	return 2 * buckets * BUCKET_BYTES + (keys + 1) * KEY_SLOT_BYTES + rings * sizeof(uint32_t) +
	       FIXED_BYTES;
}

static struct cuckoo *cuckoo_of(const struct sketch *sketch)
{
	return (struct cuckoo *)(uintptr_t)sketch;
}

static void forget_entries(struct flow_table *table)
{
	atomic_store_explicit(&table->used, 0, memory_order_relaxed);
}

static const char *check(struct sketch_params *params)
{
	const char *why = flow_table_ops.check(params);

	return why == NULL && params->width > RTE_HASH_ENTRIES_MAX / 2
		       ? "rte_hash has at most 536870912 buckets"
		       : why;
}

static size_t memory(const struct sketch_params *params)
{
	return sizeof(struct cuckoo) + flow_table_ops.memory(params) + flow_cuckoo_heap(params);
}

static struct rte_hash *create_keys(const struct sketch_params *params)
{
	static _Atomic unsigned int instance; /* number for names that are unique in the process */
	char name[RTE_HASH_NAMESIZE];
	const struct rte_hash_parameters of_keys = {
		.name = name,
		.entries = nb_keys(params),
		.key_len = sizeof(struct flow_id),
		.socket_id = SOCKET_ID_ANY,
		.extra_flag = RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
	};

	snprintf(name, sizeof(name), "flows%u",
		atomic_fetch_add_explicit(&instance, 1, memory_order_relaxed));
	return rte_hash_create(&of_keys);
}

static void destroy(struct sketch *sketch)
{
	const struct sketch_params params = sketch->params;
	struct cuckoo *cuckoo = cuckoo_of(sketch);

	rte_hash_free(cuckoo->keys);
	if (cuckoo->table != NULL)
		flow_table_ops.destroy(&cuckoo->table->sketch);
	params.allocator.free(cuckoo, sizeof(*cuckoo), params.allocator.arg);
}

static struct sketch *create(const struct sketch_params *params)
{
	struct cuckoo *cuckoo = params->allocator.alloc(sizeof(*cuckoo), params->allocator.arg);

	if (cuckoo == NULL)
		return NULL;
	cuckoo->sketch.ops = &flow_cuckoo_ops;
	cuckoo->sketch.params = *params;
	cuckoo->table = (struct flow_table *)flow_table_ops.create(params);
	cuckoo->keys = create_keys(params);
	if (cuckoo->table == NULL || cuckoo->keys == NULL) {
		destroy(&cuckoo->sketch);
		return NULL;
	}
	forget_entries(cuckoo->table);
	return &cuckoo->sketch;
}

static void reset(struct sketch *sketch)
{
	struct cuckoo *cuckoo = cuckoo_of(sketch);

	flow_table_ops.reset(&cuckoo->table->sketch);
	rte_hash_reset(cuckoo->keys);
	forget_entries(cuckoo->table);
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

/* Finds or inserts the entry of packet i. Returns a negative value if the table is full. */
static int32_t find(const struct cuckoo *cuckoo, const struct key_burst *burst, uint32_t i,
	struct flow_id id, uint32_t hash)
{
	struct flow_table *table = cuckoo->table;

	for (;; id.lo++) {
		int32_t number = rte_hash_add_key_with_hash(cuckoo->keys, &id, hash);

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

void flow_cuckoo_update(struct sketch *sketch, const struct key_burst *burst, flow_hash_fn hash)
{
	const struct cuckoo *cuckoo = cuckoo_of(sketch);
	struct flow_table *table = cuckoo->table;
	struct flow_id id[BURST_MAX];
	const void *ids[BURST_MAX];
	uint32_t hashes[BURST_MAX];
	int32_t number[BURST_MAX];

	hash(burst, hashes);
	for (uint32_t i = 0; i < burst->n; i++) {
		id[i] = flow_id_of(burst, i);
		ids[i] = &id[i];
	}
	rte_hash_lookup_with_hash_bulk(cuckoo->keys, ids, hashes, burst->n, number);
	for (uint32_t i = 0; i < burst->n; i++)
		if (number[i] >= 0)
			__builtin_prefetch(&table->entries[number[i]], 1);
	for (uint32_t i = 0; i < burst->n; i++) {
		struct flow_addition addition = flow_addition_of(burst, i, false);

		if (number[i] < 0 ||
			((burst->v6 >> i & 1) != 0 &&
				!flow_matches(table, (uint32_t)number[i], &id[i], burst, i)))
			number[i] = find(cuckoo, burst, i, id[i], hashes[i]);
		if (number[i] < 0)
			flow_shed(table, &addition, burst, false);
		else
			flow_count(table, number[i], &addition, COUNTER_OWNED, false);
	}
}

static void candidates(const struct sketch *sketch, sketch_emit_fn emit, void *arg)
{
	flow_table_ops.candidates(&cuckoo_of(sketch)->table->sketch, emit, arg);
}

static bool lists_all_keys(const struct sketch *sketch)
{
	return flow_table_ops.lists_all_keys(&cuckoo_of(sketch)->table->sketch);
}

static uint64_t missed(const struct sketch *sketch, const struct key_hash *hash)
{
	return flow_table_ops.missed(&cuckoo_of(sketch)->table->sketch, hash);
}

static struct sketch_shed shed(const struct sketch *sketch)
{
	return flow_table_ops.shed(&cuckoo_of(sketch)->table->sketch);
}

const struct sketch_ops flow_cuckoo_ops = {
	.name = "flow-table",
	.caps = SKETCH_EXACT | SKETCH_DETAILS | SKETCH_RECORDS,
	.check = check,
	.memory = memory,
	.create = create,
	.destroy = destroy,
	.reset = reset,
	.candidates = candidates,
	.lists_all_keys = lists_all_keys,
	.missed = missed,
	.shed = shed,
};
