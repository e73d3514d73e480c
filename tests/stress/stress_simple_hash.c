/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several threads on one simple hash table, in every sharing mode. The table has few buckets, so
 * that threads meet; bursts have every length, and sometimes a thread yields. The buckets are plain
 * memory, so that ThreadSanitizer reports every access that the owner of a bucket does not order.
 * In the end every pair accounts for every packet.
 */

#include <stdlib.h>

#include "feeders.h"
#include "sketch/simple_hash.h"

#define FLOWS   3000
#define PACKETS 60000 /* per thread */

struct truth {
	uint64_t packets[FLOWS], bytes[FLOWS];
};

static uint64_t metric_of(const struct sketch *sketch, uint64_t packets, uint64_t bytes)
{
	return sketch->params.metric == SKETCH_PACKETS ? packets : bytes;
}

struct check {
	const struct sketch *sketch;
	const struct truth *truth;
	bool listed[FLOWS];
};

static void check_candidate(const struct sketch_candidate *candidate, void *arg)
{
	struct check *check = arg;
	uint32_t f = zipf_flow(&candidate->key);
	struct key key = zipf_key(f);
	uint64_t since = metric_of(check->sketch, candidate->packets, candidate->bytes);

	assert_true(f < FLOWS);
	assert_true(key_equal(&candidate->key, &key));
	assert_false(check->listed[f]);
	check->listed[f] = true;
	assert_true(candidate->packets <= check->truth->packets[f]);
	assert_true(candidate->bytes <= check->truth->bytes[f]);
	assert_true(metric_of(check->sketch, check->truth->packets[f], check->truth->bytes[f]) <=
		    since + candidate->before);
}

static void check_pairs(
	struct sketch *sketch, const struct truth *truth, const struct key_hash *hash)
{
	const struct bucket_pair *pairs = ((struct simple_hash *)sketch)->pairs;
	uint64_t nb_pairs = sketch->params.width / BUCKET_WAYS;
	uint64_t *left = calloc(nb_pairs, sizeof(*left));

	for (uint32_t f = 0; f < FLOWS; f++) {
		uint64_t fed = metric_of(sketch, truth->packets[f], truth->bytes[f]);

		assert_true(simple_hash_ops.query(sketch, &hash[f]).value >= fed);
		left[hash[f].lo & (nb_pairs - 1)] += fed;
	}
	for (uint64_t p = 0; p < nb_pairs; p++) {
		assert_true(pairs[p].rest <= left[p] / 3); /* the pair is unlocked */
		for (uint32_t way = 0; way < BUCKET_WAYS; way++)
			left[p] -= metric_of(sketch, pairs[p].packets[way],
					   bucket_bytes(&pairs[p], way)) +
				   pairs[p].before[way];
		assert_int_equal(left[p], pairs[p].rest);
	}
	free(left);
}

static void run_threads(struct sketch_params params, uint32_t nb_threads)
{
	static struct feeders feeders;
	static struct truth truth;
	static struct check check;
	struct sketch *sketch = feeders_sketch(&simple_hash_ops, params);

	feeders = (struct feeders){
		.sketch = sketch,
		.nb_threads = nb_threads,
		.nb_flows = FLOWS,
		.nb_packets = PACKETS,
		.exponent = 1.0,
	};
	feeders_run(&feeders);
	for (uint32_t f = 0; f < FLOWS; f++) {
		truth.packets[f] = feeders_packets(&feeders, f);
		truth.bytes[f] = feeders_bytes(&feeders, f);
	}

	check = (struct check){.sketch = sketch, .truth = &truth};
	simple_hash_ops.candidates(sketch, check_candidate, &check);
	check_pairs(sketch, &truth, feeders.feeder[0].stream.hash);
	feeders_close(&feeders);
	simple_hash_ops.destroy(sketch);
}

static void run_policy(enum sketch_atomic atomic)
{
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		for (uint32_t nb_threads = 2; nb_threads <= FEEDERS_MAX; nb_threads++) {
			struct sketch_params params = {.metric = metric, .atomic = atomic};

			params.width = 16;
			run_threads(params, nb_threads);
			params.width = 1024;
			run_threads(params, nb_threads);
		}
	}
}

int main(void)
{
	return sharing_tests(run_policy);
}
