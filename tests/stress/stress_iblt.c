/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several threads on one invertible Bloom lookup table: all threads insert the same flows at once,
 * while others have just set bits of the same words. In the end every flow has the exact count of
 * all threads; if the table is too small, its sums are right.
 */

#include "feeders.h"
#include "sketch/iblt/iblt.h"

#define FLOWS   2000
#define PACKETS 30000 /* per thread */
#define ROUNDS  3

struct sums {
	uint64_t packets[FLOWS], bytes[FLOWS];
	uint32_t n;
};

static void add_candidate(const struct sketch_candidate *candidate, void *arg)
{
	struct sums *sums = arg;
	uint32_t f = zipf_flow(&candidate->key);
	struct key key = zipf_key(f);

	assert_true(f < FLOWS);
	assert_true(key_equal(&candidate->key, &key));
	assert_int_equal(candidate->before, 0);
	assert_int_equal(sums->packets[f], 0);
	sums->packets[f] = candidate->packets;
	sums->bytes[f] = candidate->bytes;
	sums->n++;
}

static void check(const struct sketch *sketch, const struct feeders *feeders)
{
	static struct sums got;
	struct sketch_undecoded rest;
	uint64_t packets = 0, bytes = 0;

	got = (struct sums){0};
	iblt_ops.candidates(sketch, add_candidate, &got);
	rest = iblt_ops.undecoded(sketch);
	for (uint32_t f = 0; f < FLOWS; f++) {
		uint64_t true_packets = feeders_packets(feeders, f);
		uint64_t true_bytes = feeders_bytes(feeders, f);

		if (got.packets[f] > 0) {
			assert_int_equal(got.packets[f], true_packets);
			assert_int_equal(got.bytes[f], true_bytes);
			continue;
		}
		packets += true_packets;
		bytes += true_bytes;
	}
	assert_int_equal(rest.packets, packets);
	assert_int_equal(rest.bytes, bytes);
	if (sketch->params.width >= FLOWS) {
		assert_int_equal(got.n, FLOWS);
		assert_true(iblt_ops.lists_all_keys(sketch));
	}
}

static void run_threads(struct sketch_params params, uint32_t nb_threads)
{
	struct sketch *sketch = feeders_sketch(&iblt_ops, params);
	struct feeders feeders = {
		.sketch = sketch,
		.nb_threads = nb_threads,
		.nb_flows = FLOWS,
		.nb_packets = PACKETS,
		.exponent = 0.8,
		.append = feeder_append_new_first,
	};

	for (uint32_t round = 0; round < ROUNDS; round++) {
		feeders_run(&feeders);
		check(sketch, &feeders);
		feeders_close(&feeders);
		iblt_ops.reset(sketch);
	}
	iblt_ops.destroy(sketch);
}

static void run_policy(enum sketch_atomic atomic)
{
	for (uint32_t nb_threads = 2; nb_threads <= FEEDERS_MAX; nb_threads++) {
		run_threads((struct sketch_params){.width = 2048, .atomic = atomic}, nb_threads);
		run_threads((struct sketch_params){.width = 256, .depth = 4, .atomic = atomic},
			nb_threads);
	}
}

int main(void)
{
	return sharing_tests(run_policy);
}
