/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Memory for sketches: on the NUMA node of the worker that writes it, in transparent hugepages
 * where the kernel has them, and touched before the first packet, so that the packet path never
 * faults. It does not come out of EAL's heap: without hugepages that heap has a fixed size and no
 * nodes.
 *
 * The kernel puts a page elsewhere when a node is full, without a word. So pages are looked up
 * after they were touched, some of each allocation, and every thread that allocates keeps a tally
 * for every node.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sketch/sketch.h"

/* An allocator for one node; -1: wherever the kernel likes. */
struct sketch_allocator memory_on_node(int node);

/* Memory of such an allocator. */
void *memory_get(int node, size_t size);
void memory_give_back(void *memory, size_t size); /* NULL is allowed */

/* Bytes that can be had without swapping; SIZE_MAX where nobody tells. */
size_t memory_available(void);

/* Moves the whole pages of a range to a node, as far as the node has room. */
void memory_move(void *memory, size_t size, int node);

/* Looks some touched pages of a range up, and adds to the tally of the node they should be on. */
void memory_look(const void *memory, size_t size, int node);

/* Pages looked up that should be on a node; all 0 where the kernel does not tell. */
struct memory_tally {
	uint64_t pages, elsewhere;
	int where; /* a node on which one of `elsewhere` is */
};

/* Whether that is worth a word: the kernel puts a page or two of many elsewhere by itself. */
bool memory_is_misplaced(const struct memory_tally *tally);

/* This thread's tally of a node since the last time it was asked for. */
struct memory_tally memory_take_tally(int node);
