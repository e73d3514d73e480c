/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/flow_tables.h"

#include "bench/choices.h"
#include "parallel/plan/flow_stores.h"
#include "parallel/memory.h"

uint32_t flow_tables_choose(const struct bench_config *bench, struct contestant *tables)
{
	uint32_t n = 0;

	for (uint32_t c = 0; c < COLLISION_COUNT; c++)
		for (uint32_t h = 0; h < TABLE_HASH_COUNT; h++)
			if (choices_has(bench->collisions, c) &&
				choices_has(bench->table_hashes, h))
				tables[n++] = (struct contestant){
					.name = "flow-table",
					.ops = h == TABLE_HASH_AES ? &contestant_table
								   : &contestant_table_hashing,
					.sketch = &flow_table_ops,
					.threads = 1,
					.collision = (enum collision)c,
					.table_hash = (enum table_hash)h,
				};
	return n;
}

size_t flow_tables_memory(const struct contestant *table, uint64_t buckets)
{
	struct sketch_params params = {.width = buckets, .store = flow_stores[table->collision]};

	return flow_table_ops.check(&params) == NULL ? flow_table_ops.memory(&params) : 0;
}

static size_t heap_of(const struct contestant *table, uint64_t buckets)
{
	const struct flow_store *store = flow_stores[table->collision];
	const struct sketch_params params = {.width = buckets};
	size_t all = flow_tables_memory(table, buckets);

	if (store->memory == NULL || all == 0 || all > memory_available())
		return 0;
	return store->memory(&params);
}

size_t flow_tables_heap(const struct contestant *tables, uint32_t nb_tables, const uint64_t *sizes,
	uint32_t nb_sizes)
{
	size_t most = 0;

	for (uint32_t t = 0; t < nb_tables; t++)
		for (uint32_t s = 0; s < nb_sizes; s++) {
			size_t heap = heap_of(&tables[t], sizes[s]);

			most = heap > most ? heap : most;
		}
	return most;
}
