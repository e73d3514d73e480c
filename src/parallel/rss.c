/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RSS: the device steers every flow to one of its queues; each worker receives from its own queue
 * of every port and counts what it received.
 */

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "parallel/design.h"
#include "parallel/worker.h"

/*
 * One round over the worker's queues. `open` was read before it: a round that finds nothing has
 * seen every packet of the older epochs. Returns the packets received.
 */
static uint32_t poll_queues(struct worker *worker)
{
	struct rte_mbuf *pkts[BURST_MAX];
	uint32_t received = 0;

	for (uint32_t q = 0; q < worker->nb_queues; q++) {
		uint64_t start = rte_rdtsc();
		uint16_t n = rte_eth_rx_burst(
			worker->queues[q].port, worker->queues[q].queue, pkts, BURST_MAX);

		if (n == 0)
			continue;
		worker_count(worker, pkts, n, rte_rdtsc() - start);
		received += n;
	}
	return received;
}

/*
 * A device that cannot be silenced is drained for so long; what is still in its queues then is in
 * its own count and not in ours: `unaccounted`.
 */
#define DRAIN_MS 200

static void rss_work(struct worker *worker)
{
	uint64_t drain_until = 0;

	for (;;) {
		/* Pairs with the release in epochs_open(). */
		uint64_t open = atomic_load_explicit(&worker->epochs->open, memory_order_acquire);
		bool ended = epochs_is_end(worker->epochs, open);

		if (ended && drain_until == 0)
			drain_until = rte_rdtsc() + rte_get_tsc_hz() / 1000 * DRAIN_MS;
		/* A device's packets belong to the epoch that is open when they are polled; on a
		 * replay they say it themselves. */
		if (!worker->replay && !ended && open > worker->epoch)
			worker_enter_epoch(worker, open);
		if (poll_queues(worker) > 0 &&
			(!ended || worker->replay || rte_rdtsc() < drain_until))
			continue;
		if (ended) {
			/* No packet comes after it: nobody waits for its generation. */
			epochs_enter(worker->epochs, worker->id, open);
			return;
		}
		if (open > worker->epoch)
			worker_enter_epoch(worker, open);
		worker_idle(worker);
	}
}

const struct design_ops design_rss = {
	.name = "rss",
	.work = rss_work,
};
