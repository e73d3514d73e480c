/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/worker.h"

#include <string.h>

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
		look_for_idle_keys(generation, packet_clock_now(&worker->clock));
	poll_idle(worker->idle);
}

/* Into bursts[0]. */
static void parse(struct worker *worker, struct generation *generation,
	struct rte_mbuf *const *pkts, uint32_t n)
{
	const struct counting *counting = generation->counting;
	struct parse_counts *counts = &generation->counts;
	struct key_burst *burst = &counting->bursts[0];

	if (!worker->replay && (counting->details || counting->extra)) {
		worker->times.polled = packet_clock_now(&worker->clock);
		packet_times_follow(&worker->times);
	}
	if (counting->extra) {
		if (worker->replay)
			parse_burst_replay_extra(pkts, n, burst, counts);
		else
			parse_burst_port_extra(
				pkts, n, burst, counts, &worker->times, worker->in_ports);
	} else if (!counting->details) {
		if (worker->replay)
			parse_burst_replay(pkts, n, burst, counts);
		else
			parse_burst_port(pkts, n, burst, counts);
	} else if (worker->replay) {
		parse_burst_replay_details(pkts, n, burst, counts);
	} else {
		parse_burst_port_details(pkts, n, burst, counts, &worker->times);
	}
}

/* Of the packets the first ones match, as many as it returns. */
static uint32_t filter(const struct worker *worker, struct generation *generation,
	struct rte_mbuf **pkts, uint32_t n)
{
	uint32_t kept;

	if (worker->filter == NULL)
		return n;
	kept = filter_burst(worker->filter, pkts, n);
	generation->filtered += n - kept;
	return kept;
}

/* Leaves the packets that match a rule of the epoch. */
static void match(struct generation *generation, struct key_burst *burst, struct monitor_hits *hits)
{
	uint32_t n = burst->n;

	generation->counts.bytes -= monitor_match(generation->monitor, burst, hits);
	generation->filtered += n - burst->n;
}

/* The first half: filters, and takes out of the packets all that is looked at. */
static void read_packets(
	struct worker *worker, struct generation *generation, struct rte_mbuf **pkts, uint32_t n)
{
	generation->counted += n;
	n = filter(worker, generation, pkts, n);
	parse(worker, generation, pkts, n);
}

/* The second half: counts the keys. */
static void count_read(struct generation *generation)
{
	struct key_burst *full = &generation->counting->bursts[0];
	struct monitor_hits hits;

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

	read_packets(worker, generation, pkts, n);
	count_read(generation);
	counted = rte_rdtsc();
	worker->done(worker, pkts, n);

	generation->rx_cycles += rx_cycles;
	generation->ppt_cycles += counted - start;
	generation->free_cycles += rte_rdtsc() - counted;
}

void worker_forward(struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct generation *generation = worker_generation(worker, worker->epoch);
	uint64_t start = rte_rdtsc(), read, sent;
	struct rte_mbuf *copy[BURST_MAX], **looked_at = pkts;

	if (worker->filter != NULL) { /* which changes their order */
		memcpy(copy, pkts, n * sizeof(copy[0]));
		looked_at = copy;
	}
	read_packets(worker, generation, looked_at, n);
	read = rte_rdtsc();
	forward_burst(
		worker->forward, worker->poller.at, worker->epoch, pkts, n, start - rx_cycles);
	sent = rte_rdtsc();
	count_read(generation);

	generation->rx_cycles += rx_cycles;
	generation->ppt_cycles += read - start + (rte_rdtsc() - sent);
	generation->free_cycles += sent - read;
}
