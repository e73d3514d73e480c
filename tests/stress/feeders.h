/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Threads that feed one sketch. Each thread has its own stream of the same flows and sends bursts
 * of every length; sometimes it yields the CPU. All threads start together.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../unit/make_sketch.h"
#include "../unit/zipf_stream.h"

#define FEEDERS_MAX  4
#define FEEDERS_SEED 7 /* seed of the hash key that all threads share */

struct feeders;

struct feeder {
	struct feeders *feeders;
	struct zipf_stream stream; /* packets that this thread fed */
	uint32_t id;
	pthread_t pthread;
};

struct feeders {
	struct sketch *sketch;
	uint32_t nb_threads;
	uint32_t nb_flows;
	uint32_t nb_packets; /* per thread */
	double exponent;
	/* Appends packet i of the thread to the burst. NULL: a packet of a random flow. */
	void (*append)(struct feeder *feeder, struct key_burst *burst, uint32_t i);
	struct feeder feeder[FEEDERS_MAX];
	pthread_barrier_t start;
};

/* Creates a sketch for the threads. */
static inline struct sketch *feeders_sketch(
	const struct sketch_ops *ops, struct sketch_params params)
{
	params.seed = FEEDERS_SEED;
	return make_sketch(ops, params);
}

/* Feeds the packets of this thread to any sketch. */
static inline void feeder_feed(
	struct feeder *feeder, struct sketch *sketch, enum sketch_sharing sharing)
{
	const struct feeders *feeders = feeder->feeders;
	struct key_burst burst = {.writer = feeder->id};
	uint64_t random = feeder->id;
	uint32_t left = 1;

	feeder->stream.state = feeder->id + 1;
	for (uint32_t i = 0; i < feeders->nb_packets; i++) {
		if (feeders->append != NULL)
			feeders->append(feeder, &burst, i);
		else
			zipf_append(&feeder->stream, &burst, zipf_draw(&feeder->stream));
		if (--left > 0 && i + 1 < feeders->nb_packets)
			continue;
		sketch->ops->update[sharing](sketch, &burst);
		burst.n = 0;
		left = 1 + (uint32_t)(zipf_random(&random) % BURST_MAX);
		if (zipf_random(&random) % 16 == 0)
			sched_yield();
	}
}

static inline void *feeder_run(void *arg)
{
	struct feeder *feeder = arg;

	pthread_barrier_wait(&feeder->feeders->start);
	feeder_feed(feeder, feeder->feeders->sketch, SHARING_SHARED);
	return NULL;
}

/*
 * Implements append(): first every flow once, in the same order, so that threads meet at each new
 * flow; then random flows.
 */
static inline void feeder_append_new_first(
	struct feeder *feeder, struct key_burst *burst, uint32_t i)
{
	const uint32_t nb_flows = feeder->feeders->nb_flows;

	zipf_append(&feeder->stream, burst, i < nb_flows ? i : zipf_draw(&feeder->stream));
}

/* Returns when all threads have ended. feeders_close() frees the streams. */
static inline void feeders_run(struct feeders *feeders)
{
	const uint32_t n = feeders->nb_threads;

	pthread_barrier_init(&feeders->start, NULL, n);
	for (uint32_t t = 0; t < n; t++) {
		struct feeder *feeder = &feeders->feeder[t];

		feeder->feeders = feeders;
		feeder->id = t;
		zipf_open(&feeder->stream, feeders->nb_flows, feeders->exponent, FEEDERS_SEED);
	}
	for (uint32_t t = 0; t < n; t++)
		assert_int_equal(pthread_create(&feeders->feeder[t].pthread, NULL, feeder_run,
					 &feeders->feeder[t]),
			0);
	for (uint32_t t = 0; t < n; t++)
		pthread_join(feeders->feeder[t].pthread, NULL);
	pthread_barrier_destroy(&feeders->start);
}

static inline void feeders_close(struct feeders *feeders)
{
	for (uint32_t t = 0; t < feeders->nb_threads; t++)
		zipf_close(&feeders->feeder[t].stream);
}

/* Returns the packets of a flow, summed over all threads. */
static inline uint64_t feeders_packets(const struct feeders *feeders, uint32_t flow)
{
	uint64_t packets = 0;

	for (uint32_t t = 0; t < feeders->nb_threads; t++)
		packets += feeders->feeder[t].stream.packets[flow];
	return packets;
}

static inline uint64_t feeders_bytes(const struct feeders *feeders, uint32_t flow)
{
	uint64_t bytes = 0;

	for (uint32_t t = 0; t < feeders->nb_threads; t++)
		bytes += feeders->feeder[t].stream.bytes[flow];
	return bytes;
}

/* ---- One test per sharing mode */

struct sharing_test {
	void (*run)(enum sketch_atomic atomic);
	enum sketch_atomic atomic;
};

static inline void sharing_test_run(void **state)
{
	const struct sharing_test *test = *state;

	test->run(test->atomic);
}

static inline int sharing_tests(void (*run)(enum sketch_atomic atomic))
{
	struct sharing_test cas = {run, ATOMIC_CAS}, add = {run, ATOMIC_ADD};
	const struct CMUnitTest tests[] = {
		{"compare_and_swap", sharing_test_run, NULL, NULL, &cas},
		{"fetch_and_add", sharing_test_run, NULL, NULL, &add},
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
