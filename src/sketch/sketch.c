/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "sketch/sketch.h"
#include "sketch/sketch_names.h" /* generated: a SKETCH(name) per sketch */

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

const char *sketch_inapplicable(const struct sketch_ops *ops, const struct sketch_params *params,
	enum sketch_sharing sharing, bool weighted)
{
	if (ops->update[sharing] == NULL)
		return sharing == SHARING_SHARED
			       ? "cannot be shared by workers; give --sharing separate"
			       : "cannot run separately per worker; give --sharing shared";
	if (weighted && ops->update_weighted[sharing] == NULL)
		return "cannot count several packets at once; collect, --kernel and --overload need "
		       "this; give another --sketch";
	if (params->idle_timeout > 0 && (ops->expired == NULL || ops->remove_idle == NULL))
		return "does not support --idle-timeout; remove it";
	if (params->load > 0 && ops->fit == NULL)
		return "does not support a target load; remove that option";
	if (params->deep.deepest != FLOW_COUNT &&
		(ops->set_states == NULL || ops->state_packets == NULL))
		return "does not support --flow-detail; remove it";
	return NULL;
}

size_t sketch_memory_sum(const struct sketch_ops *ops, const struct sketch_params *params)
{
	struct sketch_memory parts[SKETCH_MEMORY_PARTS_MAX] = {0};
	size_t sum = 0;

	ops->memory_parts(params, parts);
	for (uint32_t p = 0; p < SKETCH_MEMORY_PARTS_MAX; p++)
		sum += parts[p].bytes;
	return sum;
}

uint64_t sketch_width_for(
	const struct sketch_ops *ops, const struct sketch_params *params, size_t size)
{
	struct sketch_params trial = *params;

	for (trial.width = UINT64_C(1) << 63; trial.width > 0; trial.width /= 2) {
		struct sketch_params shape = trial; /* check() fills in defaults */

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
