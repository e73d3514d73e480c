/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <rte_mempool.h>

/* Returns the node for calls of EAL, which without hugepages knows no nodes. */
int pool_node(int node);

/*
 * A pool of packet buffers on a NUMA node (-1: any), in ordinary memory too, where EAL knows of no
 * nodes. Where its pages really are is in the node's tally (parallel/workers/node_memory.h). NULL
 * with rte_errno.
 */
struct rte_mempool *pool_create(
	const char *name, uint32_t mbufs, uint32_t cache, uint32_t room, int node);
