/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Memory on the NUMA node of the worker that writes it, in transparent hugepages if available. The
 * EAL heap has a fixed size, and no NUMA nodes without hugepages.
 *
 * If a node is full, the kernel silently uses another, so some pages of each allocation are
 * checked.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mempool.h>

#include "sketch/sketch.h"

/* node -1: any node. */
struct sketch_allocator node_memory_on_node(int node);

/* Returns zeroed memory, or NULL. node -1: any node. */
void *node_memory_get(int node, size_t size);
void node_memory_give_back(void *memory, size_t size); /* NULL is allowed */

/* Bytes that can be allocated without swapping, or SIZE_MAX if unknown. */
size_t node_memory_available(void);

/* Moves pages until the node is full. */
void node_memory_move(void *memory, size_t size, int node);

/* Checks on which node the pages are, and adds the result to this thread's tally of `node`. */
void node_memory_look(const void *memory, size_t size, int node);

/* All 0 if the kernel does not report nodes. */
struct memory_tally {
	uint64_t pages;
	uint64_t elsewhere; /* checked pages on another node */
	int where;          /* node of one of the pages in `elsewhere` */
};

/* Returns true if more than 1 % of the pages are on another node. A few always are. */
bool node_memory_is_misplaced(const struct memory_tally *tally);

/* Returns and resets this thread's tally of a node. */
struct memory_tally node_memory_take_tally(int node);

/* Node argument for functions of EAL, which has no NUMA nodes without hugepages. */
int pool_node(int node);

/* node -1: any node. Works also without hugepages. Returns NULL on error, with rte_errno set. */
struct rte_mempool *pool_create(
	const char *name, uint32_t mbufs, uint32_t cache, uint32_t room, int node);
