/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Flow tables by collision structure and bucket hash. A run uses list and aes. */

#include "bench/flow_table_options.h"
#include "bench/table_hash.h"
#include "tune/measure/bench_options.h"
#include "tune/measure/bench_subject.h"

enum flow_structure {
	FLOW_LIST,
	FLOW_TREE,
	FLOW_CUCKOO,
	FLOW_COMPACT, /* only with TABLE_HASH_AES */
	FLOW_STRUCTURE_COUNT,
};

extern const char *const flow_structure_names[FLOW_STRUCTURE_COUNT];

struct flow_variant {
	enum flow_structure structure;
	enum table_hash hash;
};

#define FLOW_VARIANTS_MAX (FLOW_STRUCTURE_COUNT * TABLE_HASH_COUNT)

/*
 * Gives lists and trees a pool for this number of IPv4 keys, whatever their number of buckets, as in
 * Nassopoulos et al. (2014), and no room for IPv6 keys. 0: tables of a run, with a pool as large as
 * the number of buckets.
 */
void flow_variants_hold(uint64_t keys);

/* Only update[SHARING_SEPARATE] is set: for one thread. */
const struct sketch_ops *flow_variant_ops(struct flow_variant variant);

/* Writes the chosen variants to both arrays of [FLOW_VARIANTS_MAX]. Returns their number. */
uint32_t flow_variants_choose(const struct flow_table_bench_options *bench,
	struct flow_variant *variants, struct bench_subject *subjects);

/* Returns 0 if the number of buckets is not possible. */
size_t flow_variant_memory(const struct bench_subject *subject, uint64_t buckets);

/* DPDK heap of the largest variant, without sizes that exceed the available memory. */
size_t flow_variants_heap(const struct flow_variant *variants, uint32_t nb_variants,
	const uint64_t *sizes, uint32_t nb_sizes);
