/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets from the receiver through the workers to the reporter, on plain threads: the flags of the
 * sync design, the rings and in-band marks of the async design, and the epochs of both. Packets are
 * numbered shells. The linker replaces worker_count() by a counter of this test, so that
 * ThreadSanitizer sees every access that the hand-over must order. Each packet must be counted
 * once, in its epoch, by the worker that the design selects.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_ring.h>

#include "parallel/designs/sync.h"
#include "parallel/plan/design.h"
#include "parallel/workers/rx_core.h"
#include "parallel/workers/worker.h"

#include "../unit/fewer.h"

#define WORKERS_MAX 4
#define RING_SIZE   64
#define PACKETS_MAX 4096 /* reused shells */

struct stage {
	const struct design_ops *design;
	uint32_t nb_workers;
	uint64_t nb_epochs;
	struct epochs *epochs;
	struct rx_core *rx_core;
	struct worker *workers[WORKERS_MAX];
	struct rte_mbuf *packets; /* plain memory that receiver and workers exchange */
	uint64_t *fed;            /* packets by epoch; written before the epoch can close */
};

static struct stage *stage;
static _Thread_local uint32_t random_state;

static uint32_t next_random(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return random_state >> 8;
}

static void maybe_yield(void)
{
	if (next_random() % 32 == 0)
		sched_yield();
}

/* Replaces worker_count(). Each shell holds its epoch and its worker. */
void __wrap_worker_count(
	struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);
void __wrap_worker_count(
	struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct generation *generation = worker_generation(worker, worker->epoch);

	(void)rx_cycles;
	for (uint32_t i = 0; i < n; i++) {
		generation->counted++;
		generation->measured += pkts[i]->pkt_len == (uint32_t)worker->epoch &&
					pkts[i]->hash.rss == worker->id;
		pkts[i]->pkt_len = UINT32_MAX; /* a write, as freeing would be */
	}
	maybe_yield();
}

/* Receiver thread: bursts of one epoch each, as from poll_until_end(). */
static void *receive(void *arg)
{
	struct poller *poller = &stage->rx_core->poller;
	struct rte_mbuf *burst[POLL_BURST_MAX];
	uint32_t next = 0, to = 0;

	(void)arg;
	random_state = 1;
	for (uint64_t epoch = 0; epoch < stage->nb_epochs; epoch++) {
		uint32_t nb_bursts = next_random() % 4;

		while (!epochs_may_open(stage->epochs, epoch))
			sched_yield();
		if (epoch > 0) {
			epochs_open(stage->epochs, epoch);
			poller->enter(poller->arg, epoch);
		}
		for (uint32_t b = 0; b < nb_bursts; b++) {
			uint32_t n = 1 + next_random() % 40;

			for (uint32_t i = 0; i < n; i++, next++) {
				burst[i] = &stage->packets[next % PACKETS_MAX];
				burst[i]->pkt_len = (uint32_t)epoch;
				burst[i]->hash.rss = to;
				burst[i]->ol_flags = RTE_MBUF_F_RX_RSS_HASH;
				to = to + 1 == stage->nb_workers ? 0 : to + 1;
			}
			stage->fed[epoch] += n;
			poller->take(poller->arg, burst, n, 0);
			maybe_yield();
		}
	}
	epochs_end(stage->epochs, stage->nb_epochs);
	poller->end(poller->arg, stage->nb_epochs);
	return NULL;
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	random_state = worker->id + 7;
	stage->design->work(worker, stage->nb_workers);
	return NULL;
}

static void *zeroed(size_t size)
{
	void *memory = aligned_alloc(64, (size + 63) / 64 * 64);

	assert_non_null(memory);
	memset(memory, 0, size);
	return memory;
}

static struct rte_ring *make_ring(void)
{
	struct rte_ring *ring = zeroed((size_t)rte_ring_get_memsize(RING_SIZE));

	assert_int_equal(
		rte_ring_init(ring, "stress", RING_SIZE, RING_F_SP_ENQ | RING_F_SC_DEQ), 0);
	return ring;
}

static void make_stage(const struct design_ops *design, enum dispatch dispatch, uint32_t nb_workers)
{
	stage = zeroed(sizeof(*stage));
	stage->design = design;
	stage->nb_workers = nb_workers;
	stage->nb_epochs = FEWER(20000, 8000);
	stage->epochs = zeroed(sizeof(*stage->epochs));
	stage->packets = zeroed(PACKETS_MAX * sizeof(stage->packets[0]));
	stage->fed = zeroed(stage->nb_epochs * sizeof(stage->fed[0]));
	stage->rx_core = zeroed(sizeof(*stage->rx_core));
	stage->rx_core->groups = zeroed(nb_workers * sizeof(stage->rx_core->groups[0]));
	epochs_init(stage->epochs, nb_workers + 1);
	for (uint32_t w = 0; w < nb_workers; w++) {
		static struct counting nothing;
		struct worker *worker = zeroed(sizeof(*worker));

		stage->workers[w] = worker;
		worker->id = worker->part = w;
		worker->generations[0].counting = worker->generations[1].counting = &nothing;
		worker->idle = IDLE_SLEEP;
		worker->epochs = stage->epochs;
		worker->slot = zeroed(sizeof(*worker->slot));
		worker->ring = make_ring();
	}
	stage->rx_core->participant = nb_workers;
	stage->rx_core->nb_workers = nb_workers;
	stage->rx_core->workers = stage->workers;
	stage->rx_core->dispatch = dispatch;
	stage->rx_core->poller.epochs = stage->epochs;
	stage->rx_core->poller.idle = IDLE_SLEEP;
	for (uint32_t i = 0; i < RSS_RETA_SIZE; i++)
		stage->rx_core->reta[i] = (uint8_t)(i % nb_workers);
	design->connect(stage->rx_core);
}

static void free_stage(void)
{
	for (uint32_t w = 0; w < stage->nb_workers; w++) {
		free(stage->workers[w]->slot);
		free(stage->workers[w]->ring);
		free(stage->workers[w]);
	}
	free(stage->rx_core->groups);
	free(stage->rx_core);
	free(stage->fed);
	free(stage->packets);
	free(stage->epochs);
	free(stage);
}

static void run_stage(const struct design_ops *design, enum dispatch dispatch, uint32_t nb_workers)
{
	pthread_t threads[WORKERS_MAX + 1];
	uint64_t wrong = 0;

	make_stage(design, dispatch, nb_workers);
	for (uint32_t w = 0; w < nb_workers; w++)
		assert_int_equal(pthread_create(&threads[w], NULL, work, stage->workers[w]), 0);
	assert_int_equal(pthread_create(&threads[nb_workers], NULL, receive, NULL), 0);
	/* This thread is the reporter. */
	for (uint64_t epoch = 0; epoch < stage->nb_epochs; epoch++) {
		uint64_t counted = 0, right = 0;

		while (!epochs_is_closed(stage->epochs, epoch))
			sched_yield();
		for (uint32_t w = 0; w < nb_workers; w++) {
			struct generation *generation = worker_generation(stage->workers[w], epoch);

			counted += generation->counted;
			right += generation->measured;
			generation->counted = generation->measured = 0;
		}
		wrong += counted != stage->fed[epoch] || right != counted;
		wrong += rx_core_generation(stage->rx_core, epoch)->received != counted;
		*rx_core_generation(stage->rx_core, epoch) = (struct rx_core_generation){0};
		epochs_recycle(stage->epochs, epoch);
	}
	for (uint32_t i = 0; i <= nb_workers; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wrong, 0);
	free_stage();
}

static void test_sync(void **state)
{
	(void)state;
	for (uint32_t workers = 1; workers <= WORKERS_MAX; workers++)
		run_stage(&design_sync, DISPATCH_FLOW, workers);
}

static void test_async_round_robin(void **state)
{
	(void)state;
	for (uint32_t workers = 1; workers <= WORKERS_MAX; workers++)
		run_stage(&design_async, DISPATCH_ROUND_ROBIN, workers);
}

static void test_async_flow(void **state)
{
	(void)state;
	for (uint32_t workers = 1; workers <= WORKERS_MAX; workers++)
		run_stage(&design_async, DISPATCH_FLOW, workers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sync),
		cmocka_unit_test(test_async_round_robin),
		cmocka_unit_test(test_async_flow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
