/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Flow tables of every structure for keys that share a bucket, and of every hash that chooses it. A
 * run has list and aes.
 */

#include "bench/flow_table_options.h"
#include "bench/table_hash.h"
#include "tune/measure/bench_options.h"
#include "tune/measure/bench_subject.h"

/* In the order of the words after --collision. */
enum flow_structure {
	FLOW_LIST,
	FLOW_TREE,
	FLOW_CUCKOO,
	FLOW_STRUCTURE_COUNT,
};

extern const char *const flow_structure_names[FLOW_STRUCTURE_COUNT];

struct flow_variant {
	enum flow_structure structure;
	enum table_hash hash;
};

#define FLOW_VARIANTS_MAX (FLOW_STRUCTURE_COUNT * TABLE_HASH_COUNT)

/* For one thread: only update[SHARING_SEPARATE] is there. */
const struct sketch_ops *flow_variant_ops(struct flow_variant variant);

/* The chosen ones, on one thread, into [FLOW_VARIANTS_MAX] of both. Returns their number. */
uint32_t flow_variants_choose(const struct flow_table_bench_options *bench,
	struct flow_variant *variants, struct bench_subject *subjects);

/* Bytes of a table of so many buckets; 0 where there is none. */
size_t flow_variant_memory(const struct bench_subject *subject, uint64_t buckets);

/* Bytes of DPDK's heap that one of them takes at most, of those that this machine has memory
 * for. */
size_t flow_variants_heap(const struct flow_variant *variants, uint32_t nb_variants,
	const uint64_t *sizes, uint32_t nb_sizes);
