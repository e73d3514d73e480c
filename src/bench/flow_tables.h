/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The flow tables that can be tried: one of each structure and hash. */

#include "bench/contestant.h"

#define FLOW_TABLES_MAX (COLLISION_COUNT * TABLE_HASH_COUNT)

/* The chosen ones, on one thread, into tables[FLOW_TABLES_MAX]. Returns their number. */
uint32_t flow_tables_choose(const struct bench_config *bench, struct contestant *tables);

/* Bytes of a table of so many buckets; 0 where there is none. */
size_t flow_tables_memory(const struct contestant *table, uint64_t buckets);

/* Bytes of DPDK's heap that one of them takes at most, of those that this machine has memory
 * for. */
size_t flow_tables_heap(const struct contestant *tables, uint32_t nb_tables, const uint64_t *sizes,
	uint32_t nb_sizes);
