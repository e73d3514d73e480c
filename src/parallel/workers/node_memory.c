/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/workers/node_memory.h"

#include <linux/mempolicy.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_memzone.h>

#include "base/huge_map.h"
#include "parallel/plan/topology.h"

#define LOOKS_MAX 64 /* pages of an allocation whose NUMA node is checked */

static _Thread_local struct memory_tally tallies[TOPOLOGY_NODES_MAX];

/* With MPOL_BIND instead of MPOL_PREFERRED, the run would fail if the node is full. */
static void prefer_node(void *memory, size_t size, int node, unsigned int flags)
{
	unsigned long nodes[16] = {0};

	if (node < 0 || node >= (int)(sizeof(nodes) * 8))
		return;
	nodes[(size_t)node / (8 * sizeof(nodes[0]))] |= 1UL
							<< (size_t)node % (8 * sizeof(nodes[0]));
	syscall(SYS_mbind, memory, size, MPOL_PREFERRED, nodes, sizeof(nodes) * 8, flags);
}

static void *node_alloc(size_t size, void *arg)
{
	void *memory = huge_map(size);

	if (memory == NULL)
		return NULL;
	prefer_node(memory, size, (int)(intptr_t)arg, 0);
	memset(memory, 0, size);
	node_memory_look(memory, size, (int)(intptr_t)arg);
	return memory;
}

static void node_free(void *memory, size_t size, void *arg)
{
	(void)arg;
	huge_unmap(memory, size);
}

struct sketch_allocator node_memory_on_node(int node)
{
	return (struct sketch_allocator){node_alloc, node_free, (void *)(intptr_t)node};
}

void *node_memory_get(int node, size_t size)
{
	return node_alloc(size, (void *)(intptr_t)node);
}

void node_memory_give_back(void *memory, size_t size)
{
	if (memory != NULL)
		node_free(memory, size, NULL);
}

size_t node_memory_available(void)
{
	uint64_t bytes = topology_memory("");

	return bytes > 0 ? bytes : SIZE_MAX;
}

void node_memory_move(void *memory, size_t size, int node)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = ((uintptr_t)memory + page - 1) / page * page;
	uintptr_t end = ((uintptr_t)memory + size) / page * page;

	if (begin < end)
		prefer_node((void *)begin, end - begin, node, MPOL_MF_MOVE);
}

void node_memory_look(const void *memory, size_t size, int node)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t n = (size + page - 1) / page < LOOKS_MAX ? (size + page - 1) / page : LOOKS_MAX;
	const void *pages[LOOKS_MAX];
	int where[LOOKS_MAX];

	if (node < 0 || node >= TOPOLOGY_NODES_MAX || size == 0)
		return;
	for (size_t i = 0; i < n; i++)
		pages[i] = (const char *)memory + size / n * i;
	/* If the target nodes are NULL, move_pages(2) only returns the node of each page. */
	if (syscall(SYS_move_pages, 0, n, pages, NULL, where, 0) != 0)
		return;
	for (size_t i = 0; i < n; i++) {
		if (where[i] < 0) /* the kernel has not allocated the page yet */
			continue;
		tallies[node].pages++;
		if (where[i] != node) {
			tallies[node].elsewhere++;
			tallies[node].where = where[i];
		}
	}
}

bool node_memory_is_misplaced(const struct memory_tally *tally)
{
	return tally->elsewhere * 100 > tally->pages;
}

struct memory_tally node_memory_take_tally(int node)
{
	struct memory_tally tally = {0};

	if (node < 0 || node >= TOPOLOGY_NODES_MAX)
		return tally;
	tally = tallies[node];
	tallies[node] = (struct memory_tally){0};
	return tally;
}

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

/* The memory is contiguous in process addresses and in IOVA. */
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
 * rte_pktmbuf_pool_create() lets no mbuf cross a 4 KB page. Each mbuf then begins a page, and the
 * headers of a burst of 64 share one L1 cache set with 12 ways.
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
	rte_pktmbuf_pool_init(pool, &own);
	if (rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL) != 0 ||
		!fill(pool)) {
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
