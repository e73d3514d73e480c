/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several threads on one flow table: keys that all of them insert at once, chains that grow under
 * them, a pool that runs dry. Keys and links are plain memory where nobody may look at them yet, so
 * that ThreadSanitizer sees a reader that comes too early. In the end every packet is in an entry
 * of its key or in the account of what was shed.
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
#include "sketch/flow_table.h"

#define THREADS_MAX 4
#define FLOWS       2000
#define PACKETS     40000 /* of each thread */
#define SEED        7

struct thread {
	struct sketch *sketch;
	struct zipf_stream stream; /* what this thread has fed */
	uint32_t id;
	pthread_t pthread;
};

/* The last packet of a key in a thread has the thread's flag. */
static void *worker(void *arg)
{
	struct thread *thread = arg;
	struct key_burst burst = {0};
	uint64_t random = thread->id;
	uint32_t left = 1;

	for (uint32_t i = 0; i < PACKETS; i++) {
		zipf_append(&thread->stream, &burst, zipf_draw(&thread->stream));
		burst.time[burst.n - 1] = (int64_t)i * THREADS_MAX + thread->id;
		burst.tcp_flags[burst.n - 1] = (uint8_t)(1u << thread->id);
		if (--left > 0 && i + 1 < PACKETS)
			continue;
		flow_table_ops.update[SHARING_SHARED](thread->sketch, &burst);
		burst.n = 0;
		left = 1 + (uint32_t)(zipf_random(&random) % BURST_MAX);
		if (zipf_random(&random) % 16 == 0)
			sched_yield();
	}
	return NULL;
}

struct sums {
	uint64_t packets[FLOWS], bytes[FLOWS];
	int64_t first[FLOWS], last[FLOWS];
	uint8_t tcp_flags[FLOWS];
	uint32_t entries[FLOWS];
};

static void add_candidate(const struct sketch_candidate *candidate, void *arg)
{
	struct sums *sums = arg;
	uint32_t f = zipf_flow(&candidate->key);
	struct key key = zipf_key(f);

	assert_true(f < FLOWS);
	assert_true(key_equal(&candidate->key, &key));
	assert_true(candidate->packets > 0);
	assert_true(candidate->first <= candidate->last);
	sums->packets[f] += candidate->packets;
	sums->bytes[f] += candidate->bytes;
	sums->tcp_flags[f] |= candidate->tcp_flags;
	sums->entries[f]++;
}

static void run_threads(struct sketch_params params, uint32_t nb_threads)
{
	static struct thread threads[THREADS_MAX];
	static struct sums got;
	bool all = params.width >= FLOWS;
	uint64_t missing_packets = 0, missing_bytes = 0;
	struct sketch_shed shed;
	struct sketch *sketch;

	params.allocator = sketch_allocator_malloc;
	params.seed = SEED;
	assert_null(flow_table_ops.check(&params));
	sketch = flow_table_ops.create(&params);
	assert_non_null(sketch);
	for (uint32_t t = 0; t < nb_threads; t++) {
		threads[t].sketch = sketch;
		threads[t].id = t;
		zipf_open(&threads[t].stream, FLOWS, 0.8, SEED); /* the same hash for all, */
		threads[t].stream.state = t;                     /* and draws of their own */
	}
	for (uint32_t t = 0; t < nb_threads; t++)
		assert_int_equal(pthread_create(&threads[t].pthread, NULL, worker, &threads[t]), 0);
	for (uint32_t t = 0; t < nb_threads; t++)
		pthread_join(threads[t].pthread, NULL);

	got = (struct sums){0};
	flow_table_ops.candidates(sketch, add_candidate, &got);
	for (uint32_t f = 0; f < FLOWS; f++) {
		uint64_t packets = 0, bytes = 0;
		uint8_t flags = 0;

		for (uint32_t t = 0; t < nb_threads; t++) {
			packets += threads[t].stream.packets[f];
			bytes += threads[t].stream.bytes[f];
			flags |= (uint8_t)((threads[t].stream.packets[f] > 0) << t);
		}
		/* Once as the first of its bucket, once behind it. */
		assert_true(got.entries[f] <= 2);
		assert_true(got.packets[f] <= packets && got.bytes[f] <= bytes);
		if (all)
			assert_int_equal(got.tcp_flags[f], flags);
		missing_packets += packets - got.packets[f];
		missing_bytes += bytes - got.bytes[f];
	}
	shed = flow_table_ops.shed(sketch);
	assert_int_equal(shed.packets, missing_packets);
	assert_int_equal(shed.bytes, missing_bytes);
	assert_int_equal(all, shed.packets == 0);
	for (uint32_t t = 0; t < nb_threads; t++)
		zipf_close(&threads[t].stream);
	flow_table_ops.destroy(sketch);
}

static void run_policy(enum sketch_atomic atomic)
{
	for (uint32_t nb_threads = 2; nb_threads <= THREADS_MAX; nb_threads++) {
		run_threads((struct sketch_params){.width = 4096, .atomic = atomic}, nb_threads);
		/* Long chains, and a pool that runs dry. */
		run_threads((struct sketch_params){.width = 64, .atomic = atomic}, nb_threads);
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
