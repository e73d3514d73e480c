/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/kernel/shared_map.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

/* Flows per batch: more than any bucket of a kernel map has */
#define BATCH 4096

struct shared_map_batch {
	struct kernel_shared_key keys[BATCH];
	struct kernel_flow flows[BATCH];
};

bool shared_map_take(int map, void (*take)(void *arg, const struct kernel_flow *flow), void *arg)
{
	struct shared_map_batch *batch = malloc(sizeof(*batch));
	uint32_t place, n;
	int result = batch != NULL ? 0 : -ENOMEM;

	for (void *from = NULL; result == 0; from = &place) {
		n = BATCH;
		result = bpf_map_lookup_and_delete_batch(
			map, from, &place, batch->keys, batch->flows, &n, NULL);
		if (result != 0 && result != -ENOENT) /* -ENOENT: last batch */
			break;
		for (uint32_t i = 0; i < n; i++)
			take(arg, &batch->flows[i]);
	}
	free(batch);
	return result == -ENOENT;
}
