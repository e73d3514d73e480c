/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several threads on one simple hash table, with every way of taking turns. Few buckets, so that
 * they meet; bursts of every length, and now and then a thread that steps aside. The buckets are
 * plain memory, so that ThreadSanitizer sees every access that their owner does not order, and in
 * the end every pair must account for every packet.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../unit/zipf_stream.h"
#include "sketch/simple_hash.h"

#define THREADS_MAX 4
#define FLOWS       3000
#define PACKETS     60000 /* of each thread */
#define SEED        7

struct thread {
	struct sketch *sketch;
	struct zipf_stream stream; /* what this thread has fed */
	uint32_t id;
	pthread_t pthread;
};

static void *worker(void *arg)
{
	struct thread *thread = arg;
	struct key_burst burst = {0};
	uint64_t random = thread->id;
	uint32_t left = 1;

	for (uint32_t i = 0; i < PACKETS; i++) {
		zipf_append(&thread->stream, &burst, zipf_draw(&thread->stream));
		if (--left > 0 && i + 1 < PACKETS)
			continue;
		simple_hash_ops.update[SHARING_SHARED](thread->sketch, &burst);
		burst.n = 0;
		left = 1 + (uint32_t)(zipf_random(&random) % BURST_MAX);
		if (zipf_random(&random) % 16 == 0)
			sched_yield();
	}
	return NULL;
}

static void start(struct thread *thread, struct sketch *sketch, uint32_t id)
{
	thread->sketch = sketch;
	thread->id = id;
	zipf_open(&thread->stream, FLOWS, 1.0, SEED); /* the same hash for all, */
	thread->stream.state = id;                    /* and draws of their own */
}

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
		assert_true(pairs[p].rest <= left[p] / 3); /* and nobody owns it */
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
	static struct thread threads[THREADS_MAX];
	static struct truth truth;
	static struct check check;
	struct sketch *sketch;

	params.allocator = sketch_allocator_malloc;
	params.seed = SEED;
	assert_null(simple_hash_ops.check(&params));
	sketch = simple_hash_ops.create(&params);
	assert_non_null(sketch);
	for (uint32_t t = 0; t < nb_threads; t++)
		start(&threads[t], sketch, t);
	for (uint32_t t = 0; t < nb_threads; t++)
		assert_int_equal(pthread_create(&threads[t].pthread, NULL, worker, &threads[t]), 0);
	truth = (struct truth){0};
	for (uint32_t t = 0; t < nb_threads; t++) {
		pthread_join(threads[t].pthread, NULL);
		for (uint32_t f = 0; f < FLOWS; f++) {
			truth.packets[f] += threads[t].stream.packets[f];
			truth.bytes[f] += threads[t].stream.bytes[f];
		}
	}

	check = (struct check){.sketch = sketch, .truth = &truth};
	simple_hash_ops.candidates(sketch, check_candidate, &check);
	check_pairs(sketch, &truth, threads[0].stream.hash);
	for (uint32_t t = 0; t < nb_threads; t++)
		zipf_close(&threads[t].stream);
	simple_hash_ops.destroy(sketch);
}

static void run_policy(enum sketch_atomic atomic)
{
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		for (uint32_t nb_threads = 2; nb_threads <= THREADS_MAX; nb_threads++) {
			struct sketch_params params = {.metric = metric, .atomic = atomic};

			params.width = 16;
			run_threads(params, nb_threads);
			params.width = 1024;
			run_threads(params, nb_threads);
		}
	}
}

static void test_cas(void **state)
{
	(void)state;
	run_policy(ATOMIC_CAS);
}

static void test_add(void **state)
{
	(void)state;
	run_policy(ATOMIC_ADD);
}

static void test_lock(void **state)
{
	(void)state;
	run_policy(ATOMIC_LOCK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cas),
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
