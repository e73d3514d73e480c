/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Helpers for a sketch whose instance is one block of memory: its parts follow each other, each at
 * the start of a cache line.
 */

#include <stddef.h>

#include "sketch/sketch.h"

#define CACHE_LINE 64

/* Rounds the bytes of a part up to whole cache lines. */
static inline size_t line_up(size_t size)
{
	return (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* Implements sketch_ops.destroy of such a sketch. */
static inline void one_block_destroy(struct sketch *sketch)
{
	const struct sketch_params params = sketch->params;

	params.allocator.free(sketch, sketch->ops->memory(&params), params.allocator.arg);
}
