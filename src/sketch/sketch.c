/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "sketch/count_min.h"
#include "sketch/flow_table.h"
#include "sketch/iblt.h"
#include "sketch/reversible.h"
#include "sketch/simple_hash.h"
#include "sketch/sketch.h"

#define ALIGNMENT 64

const struct sketch_ops *const sketches[] = {
	&count_min_ops,
	&reversible_ops,
	&simple_hash_ops,
	&flow_table_ops,
	&iblt_ops,
	NULL,
};

const struct sketch_ops *sketch_find(const char *name)
{
	for (const struct sketch_ops *const *ops = sketches; *ops != NULL; ops++)
		if (strcmp(name, (*ops)->name) == 0 || strcmp(name, (*ops)->alias) == 0)
			return *ops;
	return NULL;
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
