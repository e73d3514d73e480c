/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One thread counts into a flow table with an idle timeout; another takes the exported records from
 * a queue that is emptied all the time, rarely, or while its owner waits. Entries in the queue are
 * plain memory. In the end the records taken and held account for every packet once.
 */

#include "feeders.h"

#include <stdatomic.h>

#include "sketch/flow_table/flow_idle.h"

#define FLOWS   2000
#define PACKETS 200000

static struct sketch *sketch;
static struct feeders feeders = {.nb_packets = PACKETS};
static struct feeder *const feeder = &feeders.feeder[0];
static _Atomic bool done;

/* One packet per nanosecond. */
static void append(struct feeder *of, struct key_burst *burst, uint32_t i)
{
	zipf_append(&of->stream, burst, zipf_draw(&of->stream));
	burst->time[burst->n - 1] = (int64_t)i;
	burst->tcp_flags[burst->n - 1] = (uint8_t)(i % 256);
}

/* Counts, and then finds no more work. */
static void *count(void *arg)
{
	(void)arg;
	feeder_feed(feeder, sketch, SHARING_SEPARATE);
	for (uint32_t i = 0; i < 100; i++)
		flow_table_ops.remove_idle(sketch, PACKETS + (int64_t)i * 100);
	atomic_store_explicit(&done, true, memory_order_release);
	return NULL;
}

static struct sums {
	uint64_t packets[FLOWS], bytes[FLOWS];
	int64_t last[FLOWS];
	uint32_t records;
} sums;

/* Records of a key follow each other. */
static void add(const struct sketch_candidate *candidate, void *arg)
{
	uint32_t f = zipf_flow(&candidate->key);
	struct key key = zipf_key(f);

	(void)arg;
	assert_true(f < FLOWS);
	assert_true(key_equal(&candidate->key, &key));
	assert_true(candidate->packets > 0 && candidate->first > sums.last[f]);
	sums.packets[f] += candidate->packets;
	sums.bytes[f] += candidate->bytes;
	sums.last[f] = candidate->last;
	sums.records++;
}

static void yield(const void *arg)
{
	(void)arg;
	sched_yield();
}

/* Takes records at once, or after every `pause` yields. */
static void run(struct sketch_params params, uint32_t pause)
{
	pthread_t thread;

	sketch = feeders_sketch(&flow_table_ops, params);
	feeder->feeders = &feeders;
	feeders.append = append;
	zipf_open(&feeder->stream, FLOWS, 0.8, FEEDERS_SEED);
	sums = (struct sums){0};
	for (uint32_t f = 0; f < FLOWS; f++)
		sums.last[f] = -1;
	atomic_store(&done, false);
	assert_int_equal(pthread_create(&thread, NULL, count, NULL), 0);
	while (!atomic_load_explicit(&done, memory_order_acquire)) {
		flow_table_ops.expired(sketch, add, NULL);
		for (uint32_t i = 0; i < pause; i++)
			sched_yield();
	}
	pthread_join(thread, NULL);
	flow_table_ops.expired(sketch, add, NULL);
	flow_table_ops.candidates(sketch, add, NULL);
	assert_int_equal(flow_table_ops.shed(sketch).packets, 0);
	assert_true(sums.records > FLOWS);
	for (uint32_t f = 0; f < FLOWS; f++) {
		assert_int_equal(sums.packets[f], feeder->stream.packets[f]);
		assert_int_equal(sums.bytes[f], feeder->stream.bytes[f]);
	}
	zipf_close(&feeder->stream);
	flow_table_ops.destroy(sketch);
}

static void test_records(void **state)
{
	(void)state;
	for (uint32_t pause = 0; pause <= 100; pause += 50) {
		struct sketch_params params = {.width = FLOWS, .idle_timeout = 100};

		run(params, pause);
		params.wait = yield;
		run(params, pause);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
