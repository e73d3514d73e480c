/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Of a sketch whose instance is one block of the allocator's memory: its parts follow each other,
 * each at the start of a cache line.
 */

#include <stddef.h>

#include "sketch/sketch.h"

#define CACHE_LINE 64

/* Bytes of a part with what is left free behind it. */
static inline size_t line_up(size_t size)
{
	return (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* The destroy() of such a sketch. */
static inline void one_block_destroy(struct sketch *sketch)
{
	const struct sketch_params params = sketch->params;

	params.allocator.free(sketch, sketch->ops->memory(&params), params.allocator.arg);
}
