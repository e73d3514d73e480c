/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Fields of a tree node. Records never end early here, so `bucket` of an entry is free for a child.
 */

#include "sketch/flow_table/flow_owned.h"

static inline uint32_t *flow_tree_right(const struct flow_entry *entry)
{
	return (uint32_t *)(uintptr_t)&entry->bucket;
}

static inline uint8_t *flow_tree_height(const struct flow_entry *entry)
{
	return (uint8_t *)(uintptr_t)&entry->spare[0];
}

/* Counts like flow_update_separate(). The table must not have been updated in another way. */
void flow_tree_update(struct sketch *sketch, const struct key_burst *burst, flow_hash_fn hash);
