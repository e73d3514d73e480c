/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Memory for sketches: on the NUMA node of the worker that writes it, in transparent hugepages if
 * available, and touched before the first packet, so that the packet path never faults. It is not
 * part of the EAL heap, which without hugepages has a fixed size and no nodes. The kernel silently
 * uses another node if one is full. Therefore some pages of each allocation are looked up after
 * they were touched, and each allocating thread keeps a tally per node.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sketch/sketch.h"

/* An allocator for one node; -1: wherever the kernel likes. */
struct sketch_allocator node_memory_on_node(int node);

/* Memory of such an allocator. */
void *node_memory_get(int node, size_t size);
void node_memory_give_back(void *memory, size_t size); /* NULL is allowed */

/* Returns the bytes available without swapping; SIZE_MAX: unknown. */
size_t node_memory_available(void);

/* Moves the whole pages of a range to a node, as far as the node has room. */
void node_memory_move(void *memory, size_t size, int node);

/* Looks some touched pages of a range up, and adds to the tally of the node they should be on. */
void node_memory_look(const void *memory, size_t size, int node);

/* Pages looked up that should be on a node; all 0 where the kernel does not tell. */
struct memory_tally {
	uint64_t pages, elsewhere;
	int where; /* a node on which one of `elsewhere` is */
};

/* Returns true if the misplacement is worth a warning: the kernel always misplaces a few pages. */
bool node_memory_is_misplaced(const struct memory_tally *tally);

/* Returns this thread's tally of a node since the last call. */
struct memory_tally node_memory_take_tally(int node);
