/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "sketch/flow_table/flow_table.h"

/* Has no update[] functions: call flow_cuckoo_update() instead. */
extern const struct sketch_ops flow_cuckoo_ops;

void flow_cuckoo_update(struct sketch *sketch, const struct key_burst *burst, flow_hash_fn hash);

/* Returns the bytes of DPDK heap that a table needs. */
size_t flow_cuckoo_heap(const struct sketch_params *params);
