/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/workers/pool.h"

#include <stdio.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_memzone.h>

#include "parallel/workers/node_memory.h"

static void put_chunk(
	struct rte_mempool *pool, void *arg, struct rte_mempool_memhdr *chunk, unsigned int index)
{
	int node = *(const int *)arg;

	(void)pool;
	(void)index;
	if (!rte_eal_has_hugepages())
		node_memory_move(chunk->addr, chunk->len, node);
	node_memory_look(chunk->addr, chunk->len, node);
}

int pool_node(int node)
{
	return rte_eal_has_hugepages() && node < RTE_MAX_NUMA_NODES ? node : SOCKET_ID_ANY;
}

static void free_zone(struct rte_mempool_memhdr *chunk, void *zone)
{
	(void)chunk;
	rte_memzone_free(zone);
}

/*
 * Places objects one after another, in memory that is contiguous for the devices and the process.
 */
static bool fill(struct rte_mempool *pool)
{
	size_t object = (size_t)pool->header_size + pool->elt_size + pool->trailer_size;
	const struct rte_memzone *zone = rte_memzone_reserve_aligned(pool->name,
		object * pool->size + RTE_MEMPOOL_ALIGN, pool->socket_id, 0, RTE_MEMPOOL_ALIGN);

	if (zone == NULL)
		return false;
	if (rte_mempool_populate_iova(pool, zone->addr, zone->iova, zone->len, free_zone,
		    (void *)(uintptr_t)zone) == (int)pool->size)
		return true;
	rte_errno = ENOMEM;
	return false;
}

/*
 * rte_pktmbuf_pool_create() never places an mbuf across pages, because devices may use physical
 * addresses. With 4 KB pages each mbuf then has its own page, and all headers compete for one set
 * of the L1 cache, which holds 12 of a burst's 64.
 */
static struct rte_mempool *create_dense(
	const char *name, uint32_t mbufs, uint32_t cache, uint32_t room)
{
	struct rte_pktmbuf_pool_private own = {.mbuf_data_room_size = (uint16_t)room};
	struct rte_mempool *pool =
		rte_mempool_create_empty(name, mbufs, (uint32_t)sizeof(struct rte_mbuf) + room,
			cache, sizeof(own), SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);

	if (pool == NULL)
		return NULL;
	rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL);
	rte_pktmbuf_pool_init(pool, &own);
	if (!fill(pool)) {
		rte_mempool_free(pool);
		return NULL;
	}
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

struct rte_mempool *pool_create(
	const char *name, uint32_t mbufs, uint32_t cache, uint32_t room, int node)
{
	struct rte_mempool *pool = rte_eal_has_hugepages()
					   ? rte_pktmbuf_pool_create(name, mbufs, cache, 0,
						     (uint16_t)room, pool_node(node))
					   : create_dense(name, mbufs, cache, room);

	if (pool != NULL && node >= 0)
		rte_mempool_mem_iter(pool, put_chunk, &node);
	return pool;
}
