/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "sketch/sketch.h"
#include "sketch/sketch_names.h" /* made by meson.build: SKETCHES, a SKETCH(name) for each */

#define ALIGNMENT 64

#define SKETCH(name) extern const struct sketch_ops name##_ops;
SKETCHES
#undef SKETCH

#define SKETCH(name) &name##_ops,
const struct sketch_ops *const sketches[] = {SKETCHES NULL};

const struct sketch_ops *sketch_find(const char *name)
{
	for (const struct sketch_ops *const *ops = sketches; *ops != NULL; ops++)
		if (strcmp(name, (*ops)->name) == 0 || strcmp(name, (*ops)->alias) == 0)
			return *ops;
	return NULL;
}

uint32_t sketch_index(const struct sketch_ops *ops)
{
	uint32_t i = 0;

	while (sketches[i] != ops)
		i++;
	return i;
}

uint64_t sketch_width_for(
	const struct sketch_ops *ops, const struct sketch_params *params, size_t size)
{
	struct sketch_params trial = *params;

	for (trial.width = UINT64_C(1) << 63; trial.width > 0; trial.width /= 2) {
		struct sketch_params shape = trial; /* check() completes what it is given */

		if (ops->check(&shape) == NULL && ops->memory(&shape) <= size)
			return trial.width;
	}
	return 0;
}

static void *malloc_zeroed(size_t size, void *arg)
{
	void *memory;

	(void)arg;
	if (posix_memalign(&memory, ALIGNMENT, size) != 0)
		return NULL;
	return memset(memory, 0, size);
}

static void malloc_free(void *memory, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	free(memory);
}

const struct sketch_allocator sketch_allocator_malloc = {
	.alloc = malloc_zeroed,
	.free = malloc_free,
};
