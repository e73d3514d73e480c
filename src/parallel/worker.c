/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/worker.h"

#include <sched.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include "rx/meta.h"

void worker_idle(const struct worker *worker)
{
	if (worker->yield)
		sched_yield();
	else
		rte_pause();
}

void worker_enter_epoch(struct worker *worker, uint64_t epoch)
{
	worker->epoch = epoch;
	epochs_enter(worker->epochs, worker->id, epoch);
	while (!epochs_is_ready(worker->epochs, epoch))
		worker_idle(worker);
}

/* Packets of the epoch that the worker is in. */
static void count_packets(struct worker *worker, struct rte_mbuf *const *pkts, uint32_t n)
{
	struct generation *generation = worker_generation(worker, worker->epoch);
	struct key_burst *full = &worker->bursts[0];
	uint64_t start = rte_rdtsc();

	generation->received += n;
	if (worker->replay)
		parse_burst_replay(pkts, n, full, &generation->counts);
	else
		parse_burst_port(pkts, n, full, &generation->counts);
	generation->measured += full->n;

	for (uint32_t r = 0; r < worker->nb_rules; r++) {
		if (r > 0)
			key_burst_mask(&worker->bursts[r], full, worker->rules[r]);
		hash_burst(worker->hash_key, &worker->bursts[r]);
	}
	for (uint32_t m = 0; m < worker->nb_measurements; m++) {
		const struct key_burst *burst = &worker->bursts[worker->rule_of[m]];
		struct instance *instance = &generation->instances[m];

		worker->ops[m]->update[worker->sharing](instance->sketch, burst);
		hyperloglog_update(instance->distinct, burst);
	}
	generation->ppt_cycles += rte_rdtsc() - start;
}

/* Cuts the burst where the epoch changes. Marks never go back within a queue. */
static void count_marked_packets(struct worker *worker, struct rte_mbuf *const *pkts, uint32_t n)
{
	for (uint32_t begin = 0, end; begin < n; begin = end) {
		uint32_t mark = packet_meta(pkts[begin])->epoch;

		end = n;
		if (packet_meta(pkts[n - 1])->epoch != mark)
			for (end = begin + 1; packet_meta(pkts[end])->epoch == mark; end++)
				;
		if (mark != (uint32_t)worker->epoch)
			worker_enter_epoch(
				worker, worker->epoch + (uint32_t)(mark - (uint32_t)worker->epoch));
		count_packets(worker, pkts + begin, end - begin);
	}
}

void worker_count(struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct generation *generation;
	uint64_t start;

	if (worker->replay)
		count_marked_packets(worker, pkts, n);
	else
		count_packets(worker, pkts, n);
	start = rte_rdtsc();
	rte_pktmbuf_free_bulk(pkts, n);

	/* Receiving and freeing are of the whole burst: they go to the epoch of its last packet. */
	generation = worker_generation(worker, worker->epoch);
	generation->rx_cycles += rx_cycles;
	generation->free_cycles += rte_rdtsc() - start;
}
