/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several threads on one Count-Min, in every sharing mode. In the end its counters and lists must
 * add up to those of a sketch that one thread fed, and its candidates must hold the guarantees of
 * sketch.h, against the exact counts.
 *
 * The shared-update source is compiled into this file with atomic operations that sometimes yield
 * first, so that other threads run between any two of them. Many short rounds with different seeds:
 * most errors would occur while the lists fill and settle.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STEPS_PER_YIELD 64

static void step(void)
{
	static _Thread_local uint32_t state;

	if (state == 0)
		state = (uint32_t)(uintptr_t)&state | 1;
	state = state * 1664525 + 1013904223;
	if (state >> 8 & 1 && (state >> 9) % (STEPS_PER_YIELD / 2) == 0)
		sched_yield();
}

#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_fetch_add_explicit
#undef atomic_compare_exchange_weak_explicit
#undef atomic_compare_exchange_strong_explicit
#ifdef __clang__
#define atomic_load_explicit(object, order) (step(), __c11_atomic_load(object, order))
#define atomic_store_explicit(object, value, order)                                                \
	(step(), __c11_atomic_store(object, value, order))
#define atomic_fetch_add_explicit(object, value, order)                                            \
	(step(), __c11_atomic_fetch_add(object, value, order))
#define atomic_compare_exchange_weak_explicit(object, expected, value, success, failure)           \
	(step(), __c11_atomic_compare_exchange_weak(object, expected, value, success, failure))
#define atomic_compare_exchange_strong_explicit(object, expected, value, success, failure)         \
	(step(), __c11_atomic_compare_exchange_strong(object, expected, value, success, failure))
#else
#define atomic_load_explicit(object, order)         (step(), __atomic_load_n(object, order))
#define atomic_store_explicit(object, value, order) (step(), __atomic_store_n(object, value, order))
#define atomic_fetch_add_explicit(object, value, order)                                            \
	(step(), __atomic_fetch_add(object, value, order))
#define atomic_compare_exchange_weak_explicit(object, expected, value, success, failure)           \
	(step(), __atomic_compare_exchange_n(object, expected, value, 1, success, failure))
#define atomic_compare_exchange_strong_explicit(object, expected, value, success, failure)         \
	(step(), __atomic_compare_exchange_n(object, expected, value, 0, success, failure))
#endif

#include "../../src/sketch/counter_rows.c"

#include "../unit/make_sketch.h"
#include "../unit/merged.h"
#include "../unit/zipf_stream.h"
#include "sketch/count_min.h"

#include "../unit/fewer.h"

#define THREADS_MAX 8

struct thread {
	uint32_t id;
	struct sketch *sketch;
	struct zipf_stream stream;
	uint32_t nb_packets;
	pthread_barrier_t *start;
	pthread_t pthread;
};

/* The heavy flows change over time, so that late ones must replace early ones. */
static uint32_t draw(struct zipf_stream *stream, uint32_t i, uint32_t nb_packets)
{
	uint32_t phase = i * 8 / nb_packets;

	return (zipf_draw(stream) + phase * stream->nb_flows / 8) % stream->nb_flows;
}

static void *feed(void *arg)
{
	struct thread *thread = arg;
	struct key_burst burst = {.writer = thread->id};
	uint32_t left = 1;

	pthread_barrier_wait(thread->start);
	for (uint32_t i = 0; i < thread->nb_packets; i++) {
		zipf_append(&thread->stream, &burst, draw(&thread->stream, i, thread->nb_packets));
		if (--left > 0 && i + 1 < thread->nb_packets)
			continue;
		count_min_ops.update[SHARING_SHARED](thread->sketch, &burst);
		burst.n = 0;
		left = 1 + (uint32_t)(zipf_random(&thread->stream.state) % BURST_MAX);
	}
	return NULL;
}

static struct sketch *make(struct sketch_params params)
{
	return make_sketch(&count_min_ops, params);
}

/* State shared by the threads of a test. */
struct stage {
	struct sketch *sketch, *single;
	struct thread threads[THREADS_MAX];
	uint32_t nb_threads;
	pthread_barrier_t start;
};

static void open_stage(struct stage *stage, const struct sketch_params *params, uint32_t nb_threads,
	uint32_t nb_flows, uint32_t nb_packets)
{
	struct sketch_params shared = *params;

	shared.writers = nb_threads;
	stage->sketch = make(shared);
	stage->single = make(*params);
	stage->nb_threads = nb_threads;
	pthread_barrier_init(&stage->start, NULL, nb_threads);
	for (uint32_t t = 0; t < nb_threads; t++) {
		stage->threads[t].id = t;
		stage->threads[t].sketch = stage->sketch;
		stage->threads[t].nb_packets = nb_packets;
		stage->threads[t].start = &stage->start;
		zipf_open(&stage->threads[t].stream, nb_flows, 1.1, 0);
	}
}

static void close_stage(struct stage *stage)
{
	for (uint32_t t = 0; t < stage->nb_threads; t++)
		zipf_close(&stage->threads[t].stream);
	pthread_barrier_destroy(&stage->start);
	count_min_ops.destroy(stage->sketch);
	count_min_ops.destroy(stage->single);
}

/* Runs all threads with one hash key and their own random draws. */
static void run_threads(struct stage *stage, uint64_t seed)
{
	for (uint32_t t = 0; t < stage->nb_threads; t++) {
		zipf_restart(&stage->threads[t].stream, seed);
		stage->threads[t].stream.state = seed * THREADS_MAX + t;
	}
	for (uint32_t t = 0; t < stage->nb_threads; t++)
		assert_int_equal(
			pthread_create(&stage->threads[t].pthread, NULL, feed, &stage->threads[t]),
			0);
	for (uint32_t t = 0; t < stage->nb_threads; t++)
		pthread_join(stage->threads[t].pthread, NULL);
}

/* Feeds the single sketch, and adds the true counts of all threads to those of the first. */
static void sum_up(struct stage *stage)
{
	struct zipf_stream *sum = &stage->threads[0].stream;

	for (uint32_t t = 1; t < stage->nb_threads; t++) {
		for (uint32_t f = 0; f < sum->nb_flows; f++) {
			sum->packets[f] += stage->threads[t].stream.packets[f];
			sum->bytes[f] += stage->threads[t].stream.bytes[f];
		}
	}
	/* Counters are sums: a flow's bytes may be split over its packets in any way. */
	for (uint32_t f = 0; f < sum->nb_flows; f++) {
		struct key key = zipf_key(f);

		for (uint64_t p = 0; p < sum->packets[f]; p++) {
			struct key_burst burst = {0};
			uint64_t mean = sum->bytes[f] / sum->packets[f];
			uint64_t rest = sum->bytes[f] - mean * (sum->packets[f] - 1);

			burst_append(&burst, &key, &sum->hash[f], (uint32_t)(p == 0 ? rest : mean));
			count_min_ops.update[SHARING_SEPARATE](stage->single, &burst);
		}
	}
}

/* Returns how many counters are saturated. */
static uint32_t check_counters(const struct stage *stage)
{
	struct sketch *sketch = merged_of(stage->sketch), *single = merged_of(stage->single);
	const struct counter_rows *a = &((struct count_min *)sketch)->counters;
	const struct counter_rows *b = &((struct count_min *)single)->counters;
	uint32_t nb_full = 0;

	for (uint64_t cell = 0; cell < (uint64_t)a->depth << a->bits; cell++) {
		assert_int_equal(counter_rows_at(a, cell), counter_rows_at(b, cell));
		nb_full += counter_rows_at(a, cell) == counter_rows_max(a);
	}
	count_min_ops.destroy(sketch);
	count_min_ops.destroy(single);
	return nb_full;
}

struct audit {
	const struct stage *stage;
	struct sketch_candidate *sum; /* sums by flow, over all threads' lists */
	uint32_t n, exact;            /* number of keys; keys without uncounted packets */
};

static void take_candidate(const struct sketch_candidate *candidate, void *arg)
{
	struct audit *audit = arg;
	const struct zipf_stream *truth = &audit->stage->threads[0].stream;
	uint32_t flow = zipf_flow(&candidate->key);
	struct key key = zipf_key(flow);
	struct sketch_candidate *sum = &audit->sum[flow];

	assert_true(flow < truth->nb_flows);
	assert_true(key_equal(&candidate->key, &key));
	assert_int_equal(candidate->hash.lo, truth->hash[flow].lo);
	assert_int_equal(candidate->hash.hi, truth->hash[flow].hi);
	assert_true(candidate->before != UINT64_MAX);
	assert_true(sum->packets == 0 || sum->before == candidate->before);
	sum->packets += candidate->packets;
	sum->bytes += candidate->bytes;
	sum->before = candidate->before;
}

static struct audit audit(const struct stage *stage)
{
	const struct zipf_stream *truth = &stage->threads[0].stream;
	bool packets = stage->sketch->params.metric == SKETCH_PACKETS;
	struct audit audit = {.stage = stage};

	audit.sum = calloc(truth->nb_flows, sizeof(*audit.sum));
	assert_non_null(audit.sum);
	count_min_ops.candidates(stage->sketch, take_candidate, &audit);
	for (uint32_t f = 0; f < truth->nb_flows; f++) {
		const struct sketch_candidate *sum = &audit.sum[f];

		if (sum->packets == 0)
			continue;
		audit.n++;
		assert_true(sum->packets <= truth->packets[f]);
		assert_true(sum->bytes <= truth->bytes[f]);
		assert_true((packets ? truth->packets[f] : truth->bytes[f]) <=
			    (packets ? sum->packets : sum->bytes) + sum->before);
		if (sum->before == 0) {
			assert_int_equal(sum->packets, truth->packets[f]);
			assert_int_equal(sum->bytes, truth->bytes[f]);
			audit.exact++;
		}
	}
	free(audit.sum);
	return audit;
}

static uint64_t nb_replaced(const struct stage *stage)
{
	const struct count_min *cm = (const struct count_min *)stage->sketch;
	uint64_t sum = 0;

	for (uint32_t l = 0; l < cm->nb_lists; l++)
		sum += cm->lists[l].replaced;
	return sum;
}

static void stress(const struct sketch_params *params, uint32_t nb_threads, uint32_t nb_rounds)
{
	uint64_t replaced = 0, exact = 0;
	struct stage stage;

	open_stage(&stage, params, nb_threads, 600, 12000 / nb_threads);
	for (uint32_t round = 0; round < nb_rounds; round++) {
		struct audit result;

		count_min_ops.reset(stage.sketch);
		count_min_ops.reset(stage.single);
		run_threads(&stage, round * 7 + nb_threads);
		sum_up(&stage);
		check_counters(&stage);
		result = audit(&stage);
		assert_true(result.n >= params->candidates);
		assert_false(count_min_ops.lists_all_keys(stage.sketch));
		replaced += nb_replaced(&stage);
		exact += result.exact;
	}
	assert_true(replaced > 0);
	assert_true(exact > 0);
	close_stage(&stage);
}

static void stress_all(uint32_t nb_threads, uint32_t nb_rounds)
{
	struct sketch_params params = {.width = 256, .candidates = 32};

	for (params.metric = SKETCH_PACKETS; params.metric <= SKETCH_BYTES; params.metric++)
		for (params.atomic = ATOMIC_CAS; params.atomic <= ATOMIC_ADD; params.atomic++)
			stress(&params, nb_threads, nb_rounds);
}

static void test_two_threads(void **state)
{
	(void)state;
	stress_all(2, FEWER(40, 15));
}

static void test_four_threads(void **state)
{
	(void)state;
	stress_all(4, FEWER(40, 15));
}

static void test_eight_threads(void **state)
{
	(void)state;
	stress_all(8, FEWER(40, 15));
}

/* While there is room, every key is listed once with all its packets. */
static void test_few_keys_are_exact(void **state)
{
	const struct sketch_params params = {.width = 16, .candidates = 64};
	uint32_t complete = 0;
	struct stage stage;

	(void)state;
	open_stage(&stage, &params, 4, 24, 100);
	for (uint32_t round = 0; round < 2000; round++) {
		uint32_t nb_seen = 0;
		struct audit result;

		count_min_ops.reset(stage.sketch);
		count_min_ops.reset(stage.single);
		run_threads(&stage, round);
		sum_up(&stage);
		result = audit(&stage);
		for (uint32_t f = 0; f < 24; f++)
			nb_seen += stage.threads[0].stream.packets[f] > 0;
		if (count_min_ops.lists_all_keys(stage.sketch)) {
			assert_int_equal(result.n, nb_seen);
			assert_int_equal(result.exact, nb_seen);
			complete++;
		}
	}
	assert_true(complete > 0);
	close_stage(&stage);
}

static void fill_nearly(struct sketch *sketch, uint64_t room)
{
	struct counter_rows *rows = &((struct count_min *)sketch)->counters;

	for (uint64_t cell = 0; cell < (uint64_t)rows->depth << rows->bits; cell++)
		counter_rows_set(rows, cell, rows->full - room);
}

/* Counters that are nearly full: some saturate, some just do not, and none wraps. */
static void check_saturation(enum sketch_metric metric, enum sketch_atomic atomic)
{
	const struct sketch_params params = {
		.width = 64, .metric = metric, .atomic = atomic, .candidates = 32};
	const uint64_t room = metric == SKETCH_PACKETS ? 100 : 80000;
	struct stage stage;

	open_stage(&stage, &params, 4, 200, 2000);
	fill_nearly(stage.sketch, room);
	run_threads(&stage, 5);
	fill_nearly(stage.single, room);
	sum_up(&stage);
	assert_in_range(check_counters(&stage), 1, 4 * 64 - 1);
	close_stage(&stage);
}

static void test_saturation(void **state)
{
	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++)
		for (enum sketch_atomic atomic = ATOMIC_CAS; atomic <= ATOMIC_ADD; atomic++)
			check_saturation(metric, atomic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_four_threads),
		cmocka_unit_test(test_eight_threads),
		cmocka_unit_test(test_few_keys_are_exact),
		cmocka_unit_test(test_saturation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
