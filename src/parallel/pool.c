/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/pool.h"

#include <rte_eal.h>
#include <rte_mbuf.h>

#include "parallel/memory.h"

static void place_chunk(
	struct rte_mempool *pool, void *arg, struct rte_mempool_memhdr *chunk, unsigned int index)
{
	int node = *(const int *)arg;

	(void)pool;
	(void)index;
	if (!rte_eal_has_hugepages())
		memory_move(chunk->addr, chunk->len, node);
	memory_look(chunk->addr, chunk->len, node);
}

int pool_node(int node)
{
	return rte_eal_has_hugepages() && node < RTE_MAX_NUMA_NODES ? node : SOCKET_ID_ANY;
}

struct rte_mempool *pool_create(
	const char *name, uint32_t mbufs, uint32_t cache, uint32_t room, int node)
{
	struct rte_mempool *pool =
		rte_pktmbuf_pool_create(name, mbufs, cache, 0, (uint16_t)room, pool_node(node));

	if (pool != NULL && node >= 0)
		rte_mempool_mem_iter(pool, place_chunk, &node);
	return pool;
}
