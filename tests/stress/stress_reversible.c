/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several threads on one reversible sketch, with every way of sharing it: in the end its counters,
 * buckets and sets must be those of a sketch that one thread fed, bit for bit. Few cells, so that
 * the threads meet; bursts of every length, and now and then a thread that steps aside.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../unit/zipf_stream.h"
#include "sketch/reversible.h"

#define THREADS_MAX 4
#define FLOWS       3000
#define PACKETS     30000 /* of each thread */
#define SEED        7

struct thread {
	struct sketch *sketch;
	enum sketch_sharing sharing;
	struct zipf_stream stream;
	uint32_t id;
	pthread_t pthread;
};

static void *feed(void *arg)
{
	struct thread *thread = arg;
	struct key_burst burst = {0};
	uint64_t random = thread->id;
	uint32_t left = 1;

	for (uint32_t i = 0; i < PACKETS; i++) {
		zipf_append(&thread->stream, &burst, zipf_draw(&thread->stream));
		if (--left > 0 && i + 1 < PACKETS)
			continue;
		reversible_ops.update[thread->sharing](thread->sketch, &burst);
		burst.n = 0;
		left = 1 + (uint32_t)(zipf_random(&random) % BURST_MAX);
		if (zipf_random(&random) % 16 == 0)
			sched_yield();
	}
	return NULL;
}

static struct sketch *make(struct sketch_params params)
{
	struct sketch *sketch;

	params.allocator = sketch_allocator_malloc;
	assert_null(reversible_ops.check(&params));
	sketch = reversible_ops.create(&params);
	assert_non_null(sketch);
	return sketch;
}

static void run_threads(struct sketch_params params, uint32_t nb_threads)
{
	struct sketch *shared = make(params), *single = make(params);
	const struct reversible *a = reversible_of_const(shared), *b = reversible_of_const(single);
	struct thread threads[THREADS_MAX];

	for (uint32_t t = 0; t < nb_threads; t++) {
		threads[t] = (struct thread){.sketch = shared, .sharing = SHARING_SHARED, .id = t};
		zipf_open(&threads[t].stream, FLOWS, 1.0, SEED); /* the same hash for all, */
		threads[t].stream.state = t + 1;                 /* and draws of their own */
	}
	for (uint32_t t = 0; t < nb_threads; t++)
		assert_int_equal(pthread_create(&threads[t].pthread, NULL, feed, &threads[t]), 0);
	for (uint32_t t = 0; t < nb_threads; t++)
		pthread_join(threads[t].pthread, NULL);

	for (uint32_t t = 0; t < nb_threads; t++) {
		threads[t].sketch = single;
		threads[t].sharing = SHARING_SEPARATE;
		threads[t].stream.state = t + 1;
		feed(&threads[t]);
		zipf_close(&threads[t].stream);
	}
	assert_memory_equal(
		a->counters.packets, b->counters.packets, counter_rows_size(&shared->params));
	assert_memory_equal(
		a->rows4.buckets, b->rows4.buckets, chunk_rows_size(a->rows4.bits, a->rows4.words));
	assert_memory_equal(
		a->rows6.buckets, b->rows6.buckets, chunk_rows_size(a->rows6.bits, a->rows6.words));
	assert_true(a->seen_ipv6);
	reversible_ops.destroy(shared);
	reversible_ops.destroy(single);
}

static void run_all(enum sketch_atomic atomic)
{
	for (uint32_t nb_threads = 2; nb_threads <= THREADS_MAX; nb_threads++) {
		run_threads((struct sketch_params){.width = 256, .atomic = atomic}, nb_threads);
		run_threads(
			(struct sketch_params){
				.width = 256, .depth = 5, .metric = SKETCH_BYTES, .atomic = atomic},
			nb_threads);
	}
}

static void test_compare_and_swap(void **state)
{
	(void)state;
	run_all(ATOMIC_CAS);
}

static void test_fetch_and_add(void **state)
{
	(void)state;
	run_all(ATOMIC_ADD);
}

static void test_lock(void **state)
{
	(void)state;
	run_all(ATOMIC_LOCK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compare_and_swap),
		cmocka_unit_test(test_fetch_and_add),
		cmocka_unit_test(test_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
