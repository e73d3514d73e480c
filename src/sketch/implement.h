/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Helpers for the files that implement a sketch. */

#include <stddef.h>

#include "sketch/sketch.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* --- sketches in one block of memory, whose parts begin at cache lines --- */

#define CACHE_LINE 64

/* Rounds a size up to whole cache lines. */
static inline size_t line_up(size_t size)
{
	return (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* Implements sketch_ops.destroy for a sketch in one block of memory. */
static inline void one_block_destroy(struct sketch *sketch)
{
	const struct sketch_params params = sketch->params;

	params.allocator.free(sketch, sketch->ops->memory(&params), params.allocator.arg);
}

/* --- operations --- */

/*
 * Returns true if two different instances have equal types and parameters, so that they can be
 * merged.
 */
static inline bool sketch_fits(const struct sketch *dst, const struct sketch *src)
{
	return dst != src && dst->ops == src->ops && dst->params.depth == src->params.depth &&
	       dst->params.width == src->params.width && dst->params.metric == src->params.metric &&
	       dst->params.seed == src->params.seed;
}

/*
 * Defines the function `name` for update[] or update_weighted[] of sketch_ops. It calls `count`,
 * whose last argument is a compile-time constant: true if the burst has weights.
 */
#define SKETCH_UPDATE(name, count, weighted)                                                       \
	static void name(struct sketch *sketch, const struct key_burst *burst)                     \
	{                                                                                          \
		count(sketch, burst, weighted);                                                    \
	}

#define SKETCH_UPDATES(count_separate, count_shared)                                               \
	SKETCH_UPDATE(update_separate, count_separate, false)                                      \
	SKETCH_UPDATE(update_separate_weighted, count_separate, true)                              \
	SKETCH_UPDATE(update_shared, count_shared, false)                                          \
	SKETCH_UPDATE(update_shared_weighted, count_shared, true)

#define SKETCH_UPDATE_SLOTS                                                                        \
	.update = {[SHARING_SEPARATE] = update_separate, [SHARING_SHARED] = update_shared},        \
	.update_weighted = {[SHARING_SEPARATE] = update_separate_weighted,                         \
		[SHARING_SHARED] = update_shared_weighted}
