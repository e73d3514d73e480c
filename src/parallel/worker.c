/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/worker.h"

#include <rte_cycles.h>

#include "parallel/forward.h"

void worker_enter_epoch(struct worker *worker, uint64_t epoch)
{
	worker->epoch = epoch;
	epochs_enter(worker->epochs, worker->id, epoch);
	while (!epochs_is_ready(worker->epochs, epoch))
		poll_idle(worker->idle);
}

void worker_leave(struct worker *worker, uint64_t epoch)
{
	worker->epoch = epoch;
	epochs_enter(worker->epochs, worker->id, epoch);
}

static void look_for_idle_keys(const struct generation *generation, int64_t now)
{
	for (uint32_t m = 0; m < generation->counting->nb_measurements; m++) {
		struct sketch *sketch = generation->sketch[m];

		if (sketch->ops->rest != NULL)
			sketch->ops->rest(sketch, now);
	}
}

void worker_rest(struct worker *worker)
{
	const struct generation *generation = worker_generation(worker, worker->epoch);

	if (generation->counting->rests)
		look_for_idle_keys(generation, packet_clock_now(&worker->reader.clock));
	poll_idle(worker->idle);
}

/* Leaves the packets that match a rule of the epoch. */
static void match(struct generation *generation, struct key_burst *burst, struct monitor_hits *hits)
{
	uint32_t n = burst->n;

	generation->counts.bytes -= monitor_match(generation->monitor, burst, hits);
	generation->filtered += n - burst->n;
}

void worker_count_read(struct generation *generation)
{
	struct key_burst *full = &generation->counting->bursts[0];
	struct monitor_hits hits;

	if (full->n == 0)
		return;
	if (generation->monitor != NULL)
		match(generation, full, &hits);
	generation->measured += full->n;

	count_keys(generation->counting, generation->sketch, generation->distinct);
	if (generation->monitor != NULL)
		monitor_credit(generation->monitor, full, &hits, generation->rules);
}

void worker_free(struct worker *worker, struct rte_mbuf **pkts, uint32_t n)
{
	(void)worker;
	rte_pktmbuf_free_bulk(pkts, n);
}

void worker_count(struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct generation *generation = worker_generation(worker, worker->epoch);
	uint64_t start = rte_rdtsc(), counted;

	generation->counted += n;
	reader_read(&worker->reader, generation->counting, pkts, n,
		&generation->counting->bursts[0], &generation->counts, &generation->filtered);
	worker_count_read(generation);
	counted = rte_rdtsc();
	worker->done(worker, pkts, n);

	generation->rx_cycles += rx_cycles;
	generation->ppt_cycles += counted - start;
	generation->free_cycles += rte_rdtsc() - counted;
}

void worker_forward(struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct generation *generation = worker_generation(worker, worker->epoch);
	uint64_t start = worker->poller.polled, read, sent;
	uint64_t came = reader_came(&worker->reader, pkts[0], start - rx_cycles);

	generation->counted += n;
	reader_read_ahead(&worker->reader, generation->counting, pkts, n,
		&generation->counting->bursts[0], &generation->counts, &generation->filtered);
	read = rte_rdtsc();
	sent = forward_burst(worker->forward, worker->poller.at, worker->epoch, pkts, n, came);
	worker_count_read(generation);

	generation->rx_cycles += rx_cycles;
	generation->ppt_cycles += read - start + (rte_rdtsc() - sent);
	generation->free_cycles += sent - read;
}
