/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Creates sketches for tests: with memory of malloc(), or with an allocator that fails. */

#include "sketch/sketch.h"

static inline struct sketch *make_sketch(const struct sketch_ops *ops, struct sketch_params params)
{
	struct sketch *sketch;

	params.allocator = sketch_allocator_malloc;
	assert_null(ops->check(&params));
	sketch = ops->create(&params);
	assert_non_null(sketch);
	return sketch;
}

static inline void *no_memory(size_t size, void *arg)
{
	(void)size;
	(void)arg;
	return NULL;
}

static inline void assert_none_without_memory(const struct sketch_ops *ops)
{
	struct sketch_params params = {.allocator = {.alloc = no_memory}};

	assert_null(ops->check(&params));
	assert_null(ops->create(&params));
}
