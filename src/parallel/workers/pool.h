/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <rte_mempool.h>

/* Returns the node for calls of EAL, which has no nodes without hugepages. */
int pool_node(int node);

/*
 * Creates a pool of packet buffers on a NUMA node (-1: any), also in ordinary memory, for which EAL
 * has no nodes. The tally of the node counts the actual location of its pages
 * (parallel/workers/node_memory.h). Returns NULL with rte_errno.
 */
struct rte_mempool *pool_create(
	const char *name, uint32_t mbufs, uint32_t cache, uint32_t room, int node);
