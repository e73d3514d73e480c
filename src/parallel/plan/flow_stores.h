/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Every way in which a flow table finds its entries, with what needs DPDK. */

#include "config/config.h"
#include "sketch/flow_table.h"

extern const struct flow_store flow_store_cuckoo; /* flow_cuckoo.c: DPDK's rte_hash */

extern const struct flow_store *const flow_stores[COLLISION_COUNT];
