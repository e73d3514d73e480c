/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several threads on one reversible sketch, in every sharing mode: in the end its counters, buckets
 * and sets must equal those of a sketch that one thread fed, bit for bit. The sketch has few cells,
 * so that threads meet; bursts have every length, and sometimes a thread yields.
 */

#include "feeders.h"
#include "../unit/same_rows.h"
#include "sketch/reversible/reversible.h"

#define FLOWS   3000
#define PACKETS 30000 /* per thread */

static void run_threads(struct sketch_params params, uint32_t nb_threads)
{
	struct sketch *single = feeders_sketch(&reversible_ops, params);
	struct sketch *merged = feeders_sketch(&reversible_ops, params);
	const struct reversible *a = reversible_of_const(merged), *b = reversible_of_const(single);
	struct sketch *shared;
	struct feeders feeders = {
		.nb_threads = nb_threads,
		.nb_flows = FLOWS,
		.nb_packets = PACKETS,
		.exponent = 1.0,
	};

	params.writers = nb_threads;
	shared = feeders.sketch = feeders_sketch(&reversible_ops, params);
	feeders_run(&feeders);
	for (uint32_t t = 0; t < nb_threads; t++)
		feeder_feed(&feeders.feeder[t], single, SHARING_SEPARATE);
	feeders_close(&feeders);
	assert_int_equal(reversible_ops.merge(merged, shared), 0);
	assert_same_rows(&a->counters, &b->counters);
	assert_memory_equal(
		a->rows4.buckets, b->rows4.buckets, chunk_rows_size(a->rows4.bits, a->rows4.words));
	assert_memory_equal(
		a->rows6.buckets, b->rows6.buckets, chunk_rows_size(a->rows6.bits, a->rows6.words));
	assert_true(a->has_ipv6);
	reversible_ops.destroy(shared);
	reversible_ops.destroy(single);
	reversible_ops.destroy(merged);
}

static void run_all(enum sketch_atomic atomic)
{
	for (uint32_t nb_threads = 2; nb_threads <= FEEDERS_MAX; nb_threads++) {
		run_threads((struct sketch_params){.width = 256, .atomic = atomic}, nb_threads);
		run_threads(
			(struct sketch_params){
				.width = 256, .depth = 5, .metric = SKETCH_BYTES, .atomic = atomic},
			nb_threads);
	}
}

int main(void)
{
	return sharing_tests(run_all);
}
