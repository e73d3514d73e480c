/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Memory for sketches: on the NUMA node of the worker that writes it, in transparent hugepages if
 * available, and touched before the first packet, so that the packet path has no page faults. It is
 * not in the EAL heap, which has a fixed size and no nodes without hugepages.
 *
 * The kernel silently uses another node if one is full. Therefore some pages of each allocation are
 * looked up after they are touched, and each allocating thread counts them per node.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mempool.h>

#include "sketch/sketch.h"

/* Returns an allocator for one node; -1: any node. */
struct sketch_allocator node_memory_on_node(int node);

/* Allocate and free memory of such an allocator. */
void *node_memory_get(int node, size_t size);
void node_memory_give_back(void *memory, size_t size); /* NULL is allowed */

/* Returns the bytes available without swapping; SIZE_MAX: unknown. */
size_t node_memory_available(void);

/* Moves the whole pages of a range to a node, as long as the node has free memory. */
void node_memory_move(void *memory, size_t size, int node);

/* Looks up some touched pages of a range and adds them to the tally of their intended node. */
void node_memory_look(const void *memory, size_t size, int node);

/* Looked up pages intended for a node; all 0 if the kernel cannot report nodes. */
struct memory_tally {
	uint64_t pages, elsewhere;
	int where; /* node of one page of `elsewhere` */
};

/* Returns true if the misplacement is worth a warning: the kernel always misplaces a few pages. */
bool node_memory_is_misplaced(const struct memory_tally *tally);

/* Returns this thread's tally of a node since the last call. */
struct memory_tally node_memory_take_tally(int node);

/* Returns the node for calls of EAL, which has no nodes without hugepages. */
int pool_node(int node);

/*
 * Creates a pool of packet buffers on a NUMA node (-1: any), also in ordinary memory, for which EAL
 * has no nodes. The tally of the node counts the actual location of its pages
 * (parallel/workers/node_memory.h). Returns NULL with rte_errno.
 */
struct rte_mempool *pool_create(
	const char *name, uint32_t mbufs, uint32_t cache, uint32_t room, int node);
