/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/chains.h"

#include <stdlib.h>

#include "base/assertion.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/node_memory.h"
#include "sketch/flow_table/flow_table.h"

struct spread {
	const struct workload *workload;
	enum table_hash hash;
	uint32_t nb_buckets;
	uint32_t *lengths;
	struct key_burst burst;
	uint32_t flow_hash[BURST_MAX];
};

static void count_burst(struct spread *spread)
{
	uint64_t inverse = flow_modulus_inverse(spread->nb_buckets);
	uint32_t hash[BURST_MAX];

	hash_burst(&spread->workload->hash_key, &spread->burst);
	for (uint32_t i = 0; spread->hash == TABLE_HASH_RSS && i < spread->burst.n; i++)
		spread->burst.hash[i].lo = spread->flow_hash[i];
	table_hashes[spread->hash](&spread->burst, hash);
	for (uint32_t i = 0; i < spread->burst.n; i++)
		spread->lengths[flow_modulo(hash[i], spread->nb_buckets, inverse)]++;
	spread->burst.n = 0;
}

static void count_keys(struct spread *spread)
{
	const struct workload *workload = spread->workload;

	for (uint64_t s = 0; s >> workload->bits == 0; s++) {
		uint32_t first = workload->slots[s].first, i = spread->burst.n;

		if (first == 0)
			continue;
		spread->burst.key4[i] = workload->keys[first - 1];
		if (workload->flow_hashes != NULL)
			spread->flow_hash[i] = workload->flow_hashes[first - 1];
		if (++spread->burst.n == BURST_MAX)
			count_burst(spread);
	}
	count_burst(spread);
}

static uint32_t longest(const struct spread *spread)
{
	uint32_t most = 0;

	for (uint32_t b = 0; b < spread->nb_buckets; b++)
		most = spread->lengths[b] > most ? spread->lengths[b] : most;
	return most;
}

static bool describe(const struct spread *spread, struct chains *chains)
{
	uint64_t tail = 0;
	double used;

	*chains = (struct chains){.longest = longest(spread)};
	chains->of_length = calloc(chains->longest + 1, sizeof(chains->of_length[0]));
	if (chains->of_length == NULL)
		return false;
	for (uint32_t b = 0; b < spread->nb_buckets; b++) {
		uint32_t length = spread->lengths[b];

		chains->used += length > 0;
		chains->of_length[length]++;
		tail += length >= CHAINS_LONG;
	}
	VERIFY(chains->used, <=, spread->workload->distinct);
	used = (double)chains->used;
	for (uint32_t l = 1; l <= chains->longest; l++)
		chains->of_length[l] /= used;
	chains->mean = (double)spread->workload->distinct / used;
	chains->tail = (double)tail / used;
	return true;
}

bool chains_of(const struct workload *workload, enum table_hash hash, uint32_t nb_buckets,
	struct chains *chains)
{
	struct sketch_allocator memory = node_memory_on_node(PLAN_NODE_ANY);
	struct spread spread = {.workload = workload, .hash = hash, .nb_buckets = nb_buckets};
	size_t size = nb_buckets * sizeof(spread.lengths[0]);
	bool right;

	if (size < node_memory_available())
		spread.lengths = memory.alloc(size, memory.arg);
	if (spread.lengths == NULL)
		return false;
	count_keys(&spread);
	right = describe(&spread, chains);
	memory.free(spread.lengths, size, memory.arg);
	return right;
}

void chains_free(struct chains *chains)
{
	free(chains->of_length);
	*chains = (struct chains){0};
}
