/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Design "sync" (Wu et al. 2016, Algorithm 1): one receiver passes each burst to all N workers, and
 * waits until each has counted every N-th packet. The receiver writes the burst only while the
 * counters `started` and `done` are equal. The worker reads it only while they differ.
 */

#include <rte_cycles.h>

#include "parallel/designs/sync.h"
#include "base/assertion.h"
#include "parallel/plan/design.h"
#include "parallel/workers/rx_core.h"

_Static_assert(POLL_BURST_MAX % BURST_MAX == 0, "a poll returns a whole number of bursts");

static void run_burst(struct rx_core *rx_core, const struct sync_burst *burst)
{
	for (uint32_t w = 0; w < rx_core->nb_workers; w++) {
		struct sync_slot *slot = rx_core->workers[w]->slot;
		uint64_t started = atomic_load_explicit(&slot->started, memory_order_relaxed);

		slot->burst = *burst;
		/* Pairs with the acquire in sync_work(): the worker then sees the burst. */
		atomic_store_explicit(&slot->started, started + 1, memory_order_release);
		worker_wake(rx_core->workers[w]);
	}
	for (uint32_t w = 0; w < rx_core->nb_workers; w++) {
		struct sync_slot *slot = rx_core->workers[w]->slot;
		uint64_t started = atomic_load_explicit(&slot->started, memory_order_relaxed);

		/* Pairs with the release in sync_work(): the worker has freed the packets. */
		while (atomic_load_explicit(&slot->done, memory_order_acquire) != started)
			poll_idle(rx_core->poller.idle);
	}
}

static void take(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct rx_core *rx_core = arg;
	struct rx_core_generation *generation = rx_core_generation(rx_core, rx_core->epoch);
	struct sync_burst burst = {
		.epoch = rx_core->epoch,
		.pkts = pkts,
		.n = n,
		.first = rx_core->next,
	};

	generation->received += n;
	generation->rx_cycles += rx_cycles;
	rx_core->next = (rx_core->next + n) % rx_core->nb_workers;
	run_burst(rx_core, &burst);
}

/*
 * An empty burst makes the workers leave the old epoch. The receiver leaves it first, because the
 * workers wait until the reporter has cleared the generation of all participants.
 */
static void enter(void *arg, uint64_t epoch)
{
	struct rx_core *rx_core = arg;
	struct sync_burst burst = {.epoch = epoch};

	rx_core_leave(rx_core, epoch);
	run_burst(rx_core, &burst);
	rx_core_wait(rx_core);
}

static void end(void *arg, uint64_t epoch)
{
	struct rx_core *rx_core = arg;
	struct sync_burst burst = {.epoch = epoch, .last = true};

	rx_core_leave(rx_core, epoch);
	run_burst(rx_core, &burst);
}

static void sync_connect(struct rx_core *rx_core)
{
	rx_core->poller.arg = rx_core;
	rx_core->poller.enter = enter;
	rx_core->poller.take = take;
	rx_core->poller.end = end;
}

static void count_part(struct worker *worker, const struct sync_burst *burst, uint32_t nb_workers)
{
	void (*count)(struct worker * worker, struct rte_mbuf * *pkts, uint32_t n,
		uint64_t rx_cycles) = worker->shed != NULL ? worker_count_kept : worker_count;
	struct rte_mbuf *part[POLL_BURST_MAX];
	uint32_t n = 0;
	/* Worker number burst->first counts pkts[0], the next worker pkts[1], and so on. */
	uint32_t i = worker->part >= burst->first ? worker->part - burst->first
						  : worker->part + nb_workers - burst->first;

	for (; i < burst->n; i += nb_workers)
		part[n++] = burst->pkts[i];
	ASSERT(n, <=, POLL_BURST_MAX);
	for (uint32_t at = 0; at < n; at += BURST_MAX)
		count(worker, part + at, n - at < BURST_MAX ? n - at : BURST_MAX, 0);
}

static void sync_work(struct worker *worker, uint32_t nb_workers)
{
	struct sync_slot *slot = worker->slot;
	bool last = false;

	for (uint64_t next = 1; !last; next++) {
		/* Pairs with the release in run_burst(). */
		while (atomic_load_explicit(&slot->started, memory_order_acquire) != next)
			worker_rest(worker);
		last = slot->burst.last;
		if (last) {
			worker_leave(worker, slot->burst.epoch);
		} else {
			if (slot->burst.epoch != worker->epoch)
				worker_enter_epoch(worker, slot->burst.epoch);
			count_part(worker, &slot->burst, nb_workers);
		}
		/*
		 * Pairs with the acquire in run_burst(): the receiver may now overwrite the slot.
		 */
		atomic_store_explicit(&slot->done, next, memory_order_release);
	}
}

const struct design_ops design_sync = {
	.name = "sync",
	.suits = "a receiver passes each burst to all workers and waits; for comparison",
	.rx_core = true,
	.held = POLL_BURST_MAX,
	.connect = sync_connect,
	.work = sync_work,
	.done = worker_free,
};
