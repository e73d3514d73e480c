/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Allocates memory for sketches on the NUMA node of the worker that writes it. Uses transparent
 * hugepages if available. Touches all pages at once, so that there are no page faults on the packet
 * path. Does not use the EAL heap, because its size is fixed, and because it has no NUMA nodes
 * without hugepages.
 *
 * If a node is full, the kernel uses another node without an error. Therefore the node of some
 * pages of each allocation is checked. Each thread counts the pages that it has checked.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mempool.h>

#include "sketch/sketch.h"

/* Returns an allocator for one NUMA node. -1: any node. */
struct sketch_allocator node_memory_on_node(int node);

/* Allocates zeroed memory on a NUMA node. -1: any node. Returns NULL if out of memory. */
void *node_memory_get(int node, size_t size);
void node_memory_give_back(void *memory, size_t size); /* NULL is allowed */

/* Returns the bytes that can be allocated without swapping, or SIZE_MAX if unknown. */
size_t node_memory_available(void);

/* Moves the pages of a memory range to a node, until the node is full. */
void node_memory_move(void *memory, size_t size, int node);

/* Checks if pages of a memory range are on `node`. Adds the result to the tally of the node. */
void node_memory_look(const void *memory, size_t size, int node);

/* Checked pages of memory for one node. All 0 if the kernel does not report nodes. */
struct memory_tally {
	uint64_t pages;     /* checked pages */
	uint64_t elsewhere; /* checked pages on another node */
	int where;          /* node of one of the pages in `elsewhere` */
};

/* Returns true if more than 1 % of the pages are on another node. A few pages always are. */
bool node_memory_is_misplaced(const struct memory_tally *tally);

/* Returns the tally of a node, for pages that this thread has checked. Resets the tally. */
struct memory_tally node_memory_take_tally(int node);

/* Returns the node argument for functions of EAL. Without hugepages, EAL has no NUMA nodes. */
int pool_node(int node);

/*
 * Creates a pool of mbufs on a NUMA node. -1: any node. Works also without hugepages. Adds checked
 * pages to the tally of the node. Returns NULL on error, with rte_errno set.
 */
struct rte_mempool *pool_create(
	const char *name, uint32_t mbufs, uint32_t cache, uint32_t room, int node);
