/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>

#include "sketch/sketch.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

#define CACHE_LINE 64

/* The parts of a sketch's memory block begin at cache lines. */
static inline size_t line_up(size_t size)
{
	return (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/*
 * Rounds a width up to one of `steps` per power of two, a multiple of `least`, so that small changes
 * of the number of keys do not change it.
 */
static inline uint64_t width_step_up(uint64_t width, uint32_t steps, uint64_t least)
{
	uint64_t step = (UINT64_C(1) << (63 - __builtin_clzll(width))) / steps;

	step = step > least ? step : least;
	return (width + step - 1) / step * step;
}

/* The sketch must be one block of memory. */
static inline void one_block_destroy(struct sketch *sketch)
{
	const struct sketch_params params = sketch->params;

	params.allocator.free(sketch, sketch->ops->memory(&params), params.allocator.arg);
}

/* Returns true if two different instances can be merged. */
static inline bool sketch_fits(const struct sketch *dst, const struct sketch *src)
{
	return dst != src && dst->ops == src->ops && dst->params.depth == src->params.depth &&
	       dst->params.width == src->params.width && dst->params.metric == src->params.metric &&
	       dst->params.seed == src->params.seed;
}

/* If `weighted`, a compile-time constant, the burst has weights. */
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
