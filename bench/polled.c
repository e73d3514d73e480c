/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/polled.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ring.h>

#include "parallel/run/run.h"

#define REFILL_US    60 /* time that the worker gives the feeder to fill the ring */
#define RING_FILL_US 2000
#define NAP_NS       1000000

/* Written by the worker, and read after the run. */
static enum polled_kind polled_kind;
static struct {
	uint64_t taken; /* packets of all bursts */
	uint64_t packets, rx, count, free;
	uint64_t interrupted; /* full bursts longer than `longest` */
	uint64_t longest;     /* limit for a burst, cycles */
	/*
	 * A ring of mbuf pointers that simulates a NIC, for polled_run_card(). NULL in other runs.
	 */
	struct rte_mbuf **line; /* [POLLED_CARD_LINE] */
	uint32_t head, tail;    /* packets added and removed since the start */
	bool emptying;          /* no packets are added until the line is empty */
	bool ended;             /* the feeder has finished */
	/* Only with POLLED_TIME. */
	void (*take)(void *arg, const struct costs *costs);
	void *arg;
} polled;

static void add_burst(uint64_t rx, uint64_t count, uint64_t free)
{
	if (rx + count + free > polled.longest) {
		polled.interrupted++;
		return;
	}
	polled.packets += BURST_MAX;
	polled.rx += rx;
	polled.count += count;
	polled.free += free;
}

static void count_timed(
	struct worker *worker, struct rte_mbuf **pkts, uint16_t n, uint64_t rx_cycles)
{
	struct generation *generation = worker_generation(worker, worker->epoch);

	generation->costs = (struct costs){0};
	generation->bursts = COSTS_EVERY / 2;
	worker_count(worker, pkts, n, rx_cycles);
	if (n == BURST_MAX && costs_sum(&generation->costs) <= polled.longest)
		polled.take(polled.arg, &generation->costs);
}

/*
 * Sets a fixed level of queue shedding, because the ring of this bench is always full. Passing n -
 * 1 marks a poll that emptied the queue.
 */
static void look(struct worker *worker, uint32_t n)
{
	poll_look(&worker->poller, 0, polled_kind == POLLED_COUNT_ONLY ? n : n - 1);
	worker->shed->shedding.level =
		polled_kind == POLLED_COUNT_ONLY ? SHED_LEVEL_COUNT : SHED_LEVEL_FULL;
}

static uint16_t receive(struct worker *worker, struct rte_mbuf **pkts)
{
	return rte_eth_rx_burst(
		worker->poller.queues[0].port, worker->poller.queues[0].queue, pkts, BURST_MAX);
}

/* Fills the line without reading packets. Returns true if the line has packets to take. */
static bool fill_line(struct worker *worker)
{
	struct rte_mbuf *pkts[BURST_MAX];
	uint16_t n;

	polled.emptying &= polled.head != polled.tail;
	if (polled.emptying)
		return true;
	while (polled.head - polled.tail <= POLLED_CARD_LINE - BURST_MAX &&
		(n = receive(worker, pkts)) > 0)
		for (uint16_t p = 0; p < n; p++)
			polled.line[polled.head++ % POLLED_CARD_LINE] = pkts[p];
	polled.emptying = polled.head - polled.tail > POLLED_CARD_LINE - BURST_MAX || polled.ended;
	if (polled.emptying && !polled.ended)
		rte_delay_us_block(RING_FILL_US);
	return polled.emptying;
}

/* Takes a burst like a driver: prefetches all mbufs, then writes to them. */
static uint16_t receive_from_line(struct rte_mbuf **pkts)
{
	uint32_t left = polled.head - polled.tail;
	uint16_t n = (uint16_t)RTE_MIN(left, (uint32_t)BURST_MAX);

	for (uint16_t p = 0; p < n; p++) {
		pkts[p] = polled.line[polled.tail++ % POLLED_CARD_LINE];
		rte_prefetch0(pkts[p]);
	}
	for (uint16_t p = 0; p < n; p++)
		*(volatile uint16_t *)&pkts[p]->port = pkts[p]->port;
	return n;
}

static uint16_t take_burst(struct worker *worker)
{
	struct rte_mbuf *pkts[BURST_MAX];
	struct generation *generation = worker_generation(worker, worker->epoch);
	uint64_t counted_before = generation->ppt_cycles, freed_before = generation->free_cycles;
	uint64_t start, received;
	uint16_t n;

	if (polled.line != NULL && !fill_line(worker))
		return 0;
	start = rte_rdtsc();
	n = polled.line != NULL ? receive_from_line(pkts) : receive(worker, pkts);
	received = rte_rdtsc();
	if (n == 0)
		return 0;
	polled.taken += n;
	if (polled_kind == POLLED_TIME) {
		count_timed(worker, pkts, n, received - start);
	} else if (polled_kind == POLLED_MEASURE) {
		worker_count(worker, pkts, n, 0);
	} else if (polled_kind >= POLLED_KEPT_UP) {
		uint64_t looked;

		look(worker, n);
		looked = rte_rdtsc();
		worker_count_kept(worker, pkts, n, 0);
		generation->ppt_cycles += looked - received;
	} else {
		rte_pktmbuf_free_bulk(pkts, n);
		generation->free_cycles += rte_rdtsc() - received;
	}
	if (n == BURST_MAX)
		add_burst(received - start, generation->ppt_cycles - counted_before,
			generation->free_cycles - freed_before);
	return n;
}

static void work(struct worker *worker, uint32_t nb_workers)
{
	(void)nb_workers;
	for (;;) {
		/* pairs with the release in epochs_open() */
		uint64_t open = atomic_load_explicit(&worker->epochs->open, memory_order_acquire);

		if (take_burst(worker) > 0)
			continue;
		if (epochs_is_end(worker->epochs, open)) {
			if (polled.line != NULL && !polled.ended) {
				polled.ended = true;
				continue;
			}
			worker_leave(worker, open);
			return;
		}
		rte_delay_us_block(REFILL_US);
	}
}

static const struct design_ops polled_design = {.name = "polled", .work = work};

/* Sleeps, because this thread may share the CPU of the feeder. */
static void wait_for_end(struct run *run)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};

	while (!run_finished(run))
		nanosleep(&nap, NULL);
	run_join(run);
}

static bool check(const struct run *run, char *error)
{
	const struct generation *generation = &run->workers[0]->generations[0];
	uint64_t fed = feeder_options(run->config)->packets,
		 measured = generation->measured + generation->kept.skipped;

	if (polled.taken == fed && (polled_kind == POLLED_RECEIVE_AND_FREE || measured == fed) &&
		polled.packets > 0)
		return true;
	snprintf(error, POLLED_ERROR_MAX,
		"the worker was fed %llu packets, took %llu and counted %llu: the figures are "
		"wrong",
		(unsigned long long)fed, (unsigned long long)polled.taken,
		(unsigned long long)measured);
	return false;
}

static void enable_shedding(struct run *run)
{
	struct worker *worker = run->workers[0];
	struct rte_ring *ring = feeder_ring(run->feeder, 0);

	queue_shedding_init(&worker->shed->shedding, 1);
	worker->poller.shed = worker->shed;
	shed_worker_govern(worker->shed, &worker->states, rte_get_tsc_hz() / 1000);
	poll_queue_fill(&worker->poller.queues[0], rte_ring_get_capacity(ring), ring);
}

static bool run_polled(const struct config *config, const struct plan *plan, struct source *source,
	enum polled_kind kind, char *error)
{
	struct run *run = run_create(config, plan, source, NULL, 0, error);
	bool right;

	if (run == NULL)
		return false;
	polled_kind = kind;
	polled.longest = rte_get_tsc_hz() / 1000000 * POLLED_LONGEST_US;
	run->design = &polled_design;
	if (kind >= POLLED_KEPT_UP)
		enable_shedding(run);
	/* the worker must read only the mbuf of a packet, as with a NIC */
	if (polled.line != NULL)
		run->workers[0]->reader.replay = false;
	run_start(run);
	wait_for_end(run);
	right = check(run, error);
	run_destroy(run);
	return right;
}

bool polled_time(const struct config *config, const struct plan *plan, struct source *source,
	void (*take)(void *arg, const struct costs *costs), void *arg, char *error)
{
	memset(&polled, 0, sizeof(polled));
	polled.take = take;
	polled.arg = arg;
	return run_polled(config, plan, source, POLLED_TIME, error);
}

static bool run_sampled(const struct config *config, const struct plan *plan, struct source *source,
	enum polled_kind kind, struct polled_sample *sample, char *error)
{
	double ns;
	bool right;

	right = run_polled(config, plan, source, kind, error);
	ns = 1e9 / (double)rte_get_tsc_hz() / (double)(polled.packets > 0 ? polled.packets : 1);
	*sample = (struct polled_sample){
		.total = (double)(polled.rx + polled.count + polled.free) * ns,
		.rx = (double)polled.rx * ns,
		.count = (double)polled.count * ns,
		.free = (double)polled.free * ns,
		.interrupted = (double)(polled.interrupted * BURST_MAX) /
			       (double)feeder_options(config)->packets,
	};
	return right;
}

bool polled_run(const struct config *config, const struct plan *plan, struct source *source,
	enum polled_kind kind, struct polled_sample *sample, char *error)
{
	memset(&polled, 0, sizeof(polled));
	return run_sampled(config, plan, source, kind, sample, error);
}

bool polled_run_card(const struct config *config, const struct plan *plan, struct source *source,
	enum polled_kind kind, struct polled_sample *sample, char *error)
{
	bool right;

	memset(&polled, 0, sizeof(polled));
	polled.line = calloc(POLLED_CARD_LINE, sizeof(polled.line[0]));
	if (polled.line == NULL) {
		snprintf(error, POLLED_ERROR_MAX, "out of memory for waiting packets");
		return false;
	}
	right = run_sampled(config, plan, source, kind, sample, error);
	free(polled.line);
	return right;
}
