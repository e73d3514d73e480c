/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Memory for sketches: on the NUMA node of the worker that writes it, in transparent hugepages
 * where the kernel has them, and touched before the first packet, so that the packet path never
 * faults. It does not come out of EAL's heap: without hugepages that heap has a fixed size and no
 * nodes.
 */

#include <stddef.h>

#include "sketch/sketch.h"

/* An allocator for one node; -1: wherever the kernel likes. */
struct sketch_allocator memory_on_node(int node);

/* Bytes that can be had without swapping, as the kernel tells; SIZE_MAX where it does not. */
size_t memory_available(void);
