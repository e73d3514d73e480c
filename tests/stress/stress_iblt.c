/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several threads on one invertible Bloom lookup table: flows that all of them insert at once,
 * while others have just set bits of the same words. In the end every flow has exactly what all of
 * them counted of it; of a table that is too small the sums are right.
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
#include "sketch/iblt.h"

#define THREADS_MAX 4
#define FLOWS       2000
#define PACKETS     30000 /* of each thread */
#define ROUNDS      3
#define SEED        7

struct thread {
	struct sketch *sketch;
	struct zipf_stream stream; /* what this thread has fed */
	uint32_t id;
	pthread_t pthread;
};

static pthread_barrier_t barrier;

/* The same flows in the same order at first, so that threads meet at each new one. */
static void *worker(void *arg)
{
	struct thread *thread = arg;
	struct key_burst burst = {0};
	uint64_t random = thread->id;
	uint32_t left = 1;

	pthread_barrier_wait(&barrier);
	for (uint32_t i = 0; i < PACKETS; i++) {
		uint32_t flow = i < FLOWS ? i : zipf_draw(&thread->stream);

		zipf_append(&thread->stream, &burst, flow);
		if (--left > 0 && i + 1 < PACKETS)
			continue;
		iblt_ops.update[SHARING_SHARED](thread->sketch, &burst);
		burst.n = 0;
		left = 1 + (uint32_t)(zipf_random(&random) % BURST_MAX);
		if (zipf_random(&random) % 16 == 0)
			sched_yield();
	}
	return NULL;
}

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

static void check(const struct sketch *sketch, const struct thread *threads, uint32_t nb_threads)
{
	static struct sums got;
	struct sketch_undecoded rest;
	uint64_t packets = 0, bytes = 0;

	got = (struct sums){0};
	iblt_ops.candidates(sketch, add_candidate, &got);
	rest = iblt_ops.undecoded(sketch);
	for (uint32_t f = 0; f < FLOWS; f++) {
		uint64_t true_packets = 0, true_bytes = 0;

		for (uint32_t t = 0; t < nb_threads; t++) {
			true_packets += threads[t].stream.packets[f];
			true_bytes += threads[t].stream.bytes[f];
		}
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
	static struct thread threads[THREADS_MAX];
	struct sketch *sketch;

	params.allocator = sketch_allocator_malloc;
	params.seed = SEED;
	assert_null(iblt_ops.check(&params));
	sketch = iblt_ops.create(&params);
	assert_non_null(sketch);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		pthread_barrier_init(&barrier, NULL, nb_threads);
		for (uint32_t t = 0; t < nb_threads; t++) {
			threads[t].sketch = sketch;
			threads[t].id = t;
			zipf_open(
				&threads[t].stream, FLOWS, 0.8, SEED); /* the same hash for all, */
			threads[t].stream.state = t;                   /* and draws of their own */
		}
		for (uint32_t t = 0; t < nb_threads; t++)
			assert_int_equal(
				pthread_create(&threads[t].pthread, NULL, worker, &threads[t]), 0);
		for (uint32_t t = 0; t < nb_threads; t++)
			pthread_join(threads[t].pthread, NULL);
		pthread_barrier_destroy(&barrier);
		check(sketch, threads, nb_threads);
		for (uint32_t t = 0; t < nb_threads; t++)
			zipf_close(&threads[t].stream);
		iblt_ops.reset(sketch);
	}
	iblt_ops.destroy(sketch);
}

static void run_policy(enum sketch_atomic atomic)
{
	for (uint32_t nb_threads = 2; nb_threads <= THREADS_MAX; nb_threads++) {
		run_threads((struct sketch_params){.width = 2048, .atomic = atomic}, nb_threads);
		run_threads((struct sketch_params){.width = 256, .depth = 4, .atomic = atomic},
			nb_threads);
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
