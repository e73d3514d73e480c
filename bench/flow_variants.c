/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/flow_variants.h"

#include "bench/flow_cuckoo.h"
#include "bench/flow_tree.h"
#include "parallel/workers/node_memory.h"
#include "sketch/compact_table.h"
#include "tune/measure/bench_options.h"

const char *const flow_structure_names[FLOW_STRUCTURE_COUNT] = {
	[FLOW_LIST] = "list",
	[FLOW_TREE] = "tree",
	[FLOW_CUCKOO] = "cuckoo",
	[FLOW_COMPACT] = "compact",
};

static void flow_list_update(
	struct sketch *sketch, const struct key_burst *burst, flow_hash_fn hash)
{
	flow_update_owned(flow_table_of(sketch), burst, hash, flow_find_in_chain, false);
}

/* update[] of a sketch has no argument for the hash, so each hash has its own function. */
#define UPDATE(structure, id, name)                                                                \
	static void structure##_##name(struct sketch *sketch, const struct key_burst *burst)       \
	{                                                                                          \
		flow_##structure##_update(sketch, burst, table_hashes[TABLE_HASH_##id]);           \
	}
#define UPDATES(id, name) UPDATE(list, id, name) UPDATE(tree, id, name) UPDATE(cuckoo, id, name)

TABLE_HASHES(UPDATES)

#define LIST(id, name)   list_##name,
#define TREE(id, name)   tree_##name,
#define CUCKOO(id, name) cuckoo_##name,

static const sketch_update_fn updates[FLOW_STRUCTURE_COUNT][TABLE_HASH_COUNT] = {
	[FLOW_LIST] = {TABLE_HASHES(LIST)},
	[FLOW_TREE] = {TABLE_HASHES(TREE)},
	[FLOW_CUCKOO] = {TABLE_HASHES(CUCKOO)},
};

static uint64_t held_keys;

void flow_variants_hold(uint64_t keys)
{
	held_keys = keys;
}

/* Entries: one for each bucket, and a pool for all keys. A table has 2 * width of them. */
static struct sketch_params with_pool(const struct sketch_params *params)
{
	struct sketch_params pooled = *params;

	pooled.width = (params->width + held_keys + 1) / 2;
	return pooled;
}

/* Without IPv6 keys. */
static size_t memory_of_entries(const struct sketch_params *pooled)
{
	return sizeof(struct flow_table) + flow_nb_entries(pooled) * sizeof(struct flow_entry);
}

static size_t memory_for_keys(const struct sketch_params *params)
{
	struct sketch_params pooled = with_pool(params);

	return held_keys == 0 ? flow_table_ops.memory(params) : memory_of_entries(&pooled);
}

static struct sketch *create_for_keys(const struct sketch_params *params)
{
	static struct sketch_ops pooled_ops;
	struct sketch_params pooled = with_pool(params);
	struct flow_table *table;

	if (held_keys == 0)
		return flow_table_ops.create(params);
	table = params->allocator.alloc(memory_of_entries(&pooled), params->allocator.arg);
	if (table == NULL)
		return NULL;
	pooled_ops = flow_table_ops;
	pooled_ops.memory = memory_of_entries;
	table->sketch.ops = &pooled_ops;
	table->sketch.params = pooled;
	table->nb_buckets = (uint32_t)params->width;
	table->modulus_inverse = flow_modulus_inverse(table->nb_buckets);
	table->entries = (struct flow_entry *)(table + 1);
	/* Never written: all keys are IPv4. */
	table->key6 = (struct key6 *)(void *)table->entries;
	hash_key_init(&table->hash_key, params->seed);
	pooled_ops.reset(&table->sketch);
	return &table->sketch;
}

_Static_assert(sizeof(struct key6) <= sizeof(struct flow_entry), "key6[] ends before entries[]");

const struct sketch_ops *flow_variant_ops(struct flow_variant variant)
{
	static struct sketch_ops all[FLOW_STRUCTURE_COUNT][TABLE_HASH_COUNT];
	struct sketch_ops *ops = &all[variant.structure][variant.hash];

	if (variant.structure == FLOW_COMPACT)
		return &compact_table_ops;
	*ops = variant.structure == FLOW_CUCKOO ? flow_cuckoo_ops : flow_table_ops;
	if (variant.structure != FLOW_CUCKOO) {
		ops->memory = memory_for_keys;
		ops->create = create_for_keys;
	}
	for (int s = 0; s < SHARING_COUNT; s++)
		ops->update[s] = ops->update_weighted[s] = NULL;
	/* A run uses list with aes, which is also the reference for the other variants. */
	ops->update[SHARING_SEPARATE] =
		variant.structure == FLOW_LIST && variant.hash == TABLE_HASH_AES
			? flow_update_separate
			: updates[variant.structure][variant.hash];
	return ops;
}

/* Without top(): a flow table has all keys, so its ranking is exact. */
static const struct bench_subject_ops *subject_ops(bool takes_hashes)
{
	static struct bench_subject_ops ops[2];

	ops[takes_hashes] = bench_subject_sketch;
	ops[takes_hashes].takes_hashes = takes_hashes;
	ops[takes_hashes].top = NULL;
	ops[takes_hashes].fetch = NULL; /* it would prefetch by the keyed hash */
	return &ops[takes_hashes];
}

uint32_t flow_variants_choose(const struct flow_table_bench_options *bench,
	struct flow_variant *variants, struct bench_subject *subjects)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < FLOW_STRUCTURE_COUNT; s++)
		for (uint32_t h = 0; h < TABLE_HASH_COUNT; h++) {
			if (!choices_has(bench->collisions, s) ||
				!choices_has(bench->table_hashes, h) ||
				(s == FLOW_COMPACT && h != TABLE_HASH_AES))
				continue;
			variants[n] =
				(struct flow_variant){(enum flow_structure)s, (enum table_hash)h};
			subjects[n] = (struct bench_subject){
				.name = "flow-table",
				.ops = subject_ops(h == TABLE_HASH_AES),
				.sketch = flow_variant_ops(variants[n]),
				.threads = 1,
			};
			n++;
		}
	return n;
}

size_t flow_variant_memory(const struct bench_subject *subject, uint64_t buckets)
{
	struct sketch_params params = {.width = buckets};

	return subject->sketch->check(&params) == NULL ? subject->sketch->memory(&params) : 0;
}

static size_t heap_of(uint64_t buckets)
{
	struct sketch_params params = {.width = buckets};

	return flow_cuckoo_ops.check(&params) != NULL ||
			       flow_cuckoo_ops.memory(&params) > node_memory_available()
		       ? 0
		       : flow_cuckoo_heap(&params);
}

size_t flow_variants_heap(const struct flow_variant *variants, uint32_t nb_variants,
	const uint64_t *sizes, uint32_t nb_sizes)
{
	size_t most = 0;

	for (uint32_t v = 0; v < nb_variants; v++)
		for (uint32_t s = 0; s < nb_sizes && variants[v].structure == FLOW_CUCKOO; s++)
			most = heap_of(sizes[s]) > most ? heap_of(sizes[s]) : most;
	return most;
}
