/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/plan/flow_stores.h"

const struct flow_store *const flow_stores[COLLISION_COUNT] = {
	[COLLISION_LIST] = &flow_store_list,
	[COLLISION_TREE] = &flow_store_tree,
	[COLLISION_CUCKOO] = &flow_store_cuckoo,
};
