/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The epoch hand-over under load: a feeder marks items with epochs, workers count them in two
 * generations without locks, and a reporter collects and clears. The generations are plain memory,
 * so that ThreadSanitizer reports every access that the hand-over does not order. The counts of
 * each epoch are compared with the items fed.
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

#include "parallel/epoch.h"

#include "../unit/fewer.h"

#define WORKERS_MAX 4
#define RING        64 /* items in transit to a worker */

/* A single-producer single-consumer ring of epoch marks. */
struct ring {
	alignas(64) _Atomic uint32_t head;
	alignas(64) _Atomic uint32_t tail;
	uint64_t marks[RING];
};

struct stage {
	struct epochs *epochs;
	uint32_t nb_workers;
	uint64_t nb_epochs;
	struct ring rings[WORKERS_MAX];
	struct {
		alignas(64) uint64_t counted[2]; /* plain memory, by generation */
	} workers[WORKERS_MAX];
	uint64_t *fed; /* items by epoch; written by the feeder before the epoch closes */
};

struct thread {
	struct stage *stage;
	uint32_t id;
	pthread_t pthread;
};

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void maybe_yield(uint32_t *state)
{
	if (next_random(state) % 64 == 0)
		sched_yield();
}

static void push(struct ring *ring, uint64_t mark)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	while (head - atomic_load_explicit(&ring->tail, memory_order_acquire) == RING)
		sched_yield();
	ring->marks[head % RING] = mark;
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

static bool pop(struct ring *ring, uint64_t *mark)
{
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	if (atomic_load_explicit(&ring->head, memory_order_acquire) == tail)
		return false;
	*mark = ring->marks[tail % RING];
	atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
	return true;
}

static void *feeder(void *arg)
{
	struct stage *stage = ((struct thread *)arg)->stage;
	uint32_t random = 1;

	for (uint64_t epoch = 0; epoch < stage->nb_epochs; epoch++) {
		/* Often fewer items than workers, so that some queues stay empty for epochs. */
		uint32_t items = next_random(&random) % 5;

		while (!epochs_may_open(stage->epochs, epoch))
			sched_yield();
		if (epoch > 0)
			epochs_open(stage->epochs, epoch);
		for (uint32_t i = 0; i < items; i++)
			push(&stage->rings[next_random(&random) % stage->nb_workers], epoch);
		stage->fed[epoch] = items;
		epochs_info(stage->epochs, epoch)->fed = items;
		maybe_yield(&random);
	}
	epochs_end(stage->epochs, stage->nb_epochs);
	return NULL;
}

static void enter(struct stage *stage, uint32_t id, uint64_t epoch)
{
	epochs_enter(stage->epochs, id, epoch);
	while (!epochs_is_ready(stage->epochs, epoch))
		sched_yield();
}

static void *worker(void *arg)
{
	struct thread *thread = arg;
	struct stage *stage = thread->stage;
	uint32_t id = thread->id, random = id + 7;
	uint64_t epoch = 0, mark;

	for (;;) {
		uint64_t open = atomic_load_explicit(&stage->epochs->open, memory_order_acquire);
		bool ended = epochs_is_end(stage->epochs, open);

		if (pop(&stage->rings[id], &mark)) {
			if (mark != epoch) {
				epoch = mark;
				enter(stage, id, epoch);
			}
			stage->workers[id].counted[epoch & 1]++;
			maybe_yield(&random);
			continue;
		}
		if (ended) {
			epochs_enter(stage->epochs, id, open);
			return NULL;
		}
		if (open > epoch) {
			epoch = open;
			enter(stage, id, epoch);
		}
		sched_yield();
	}
}

static void run_stage(uint32_t nb_workers, uint64_t nb_epochs)
{
	struct stage *stage = aligned_alloc(64, sizeof(*stage));
	struct thread threads[WORKERS_MAX + 1];
	uint64_t wrong = 0;

	assert_non_null(stage);
	memset(stage, 0, sizeof(*stage));
	stage->epochs = aligned_alloc(64, sizeof(*stage->epochs));
	stage->fed = calloc(nb_epochs, sizeof(*stage->fed));
	assert_non_null(stage->epochs);
	assert_non_null(stage->fed);
	epochs_init(stage->epochs, nb_workers);
	stage->nb_workers = nb_workers;
	stage->nb_epochs = nb_epochs;
	for (uint32_t i = 0; i <= nb_workers; i++) {
		threads[i] = (struct thread){.stage = stage, .id = i};
		assert_int_equal(pthread_create(&threads[i].pthread, NULL,
					 i == nb_workers ? feeder : worker, &threads[i]),
			0);
	}
	/* This thread is the reporter. */
	for (uint64_t epoch = 0; epoch < nb_epochs; epoch++) {
		uint64_t counted = 0;

		while (!epochs_is_closed(stage->epochs, epoch))
			sched_yield();
		for (uint32_t w = 0; w < nb_workers; w++) {
			counted += stage->workers[w].counted[epoch & 1];
			stage->workers[w].counted[epoch & 1] = 0;
		}
		wrong += counted != epochs_info(stage->epochs, epoch)->fed;
		wrong += counted != stage->fed[epoch];
		epochs_recycle(stage->epochs, epoch);
	}
	for (uint32_t i = 0; i <= nb_workers; i++)
		pthread_join(threads[i].pthread, NULL);
	assert_int_equal(wrong, 0);
	free(stage->fed);
	free(stage->epochs);
	free(stage);
}

static void test_one_worker(void **state)
{
	(void)state;
	run_stage(1, FEWER(400000, 100000));
}

static void test_two_workers(void **state)
{
	(void)state;
	run_stage(2, FEWER(400000, 100000));
}

static void test_four_workers(void **state)
{
	(void)state;
	run_stage(4, FEWER(200000, 60000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_worker),
		cmocka_unit_test(test_two_workers),
		cmocka_unit_test(test_four_workers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
