/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/card_run.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_log.h>
#include <rte_ring.h>

#include "base/assertion.h"
#include "base/log.h"
#include "base/signals.h"
#include "bench/card.h"

#define NAP_NS     1000000
#define PATIENCE_S 10 /* for the first poll of each queue */

#define STALL_US   100 /* longer than a worker takes for a burst */
#define MARK_SLOTS 2   /* entries of a full ring that packets do not use */

/* The receiver of a run. With design sync: how much longer its polls take than their workers. */
static struct {
	void (*take)(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);
	uint64_t waited, polls;          /* TSC cycles; polls */
	uint64_t gap, stall;             /* TSC cycles */
	uint64_t room[PLAN_WORKERS_MAX]; /* TSC at which the ring of a worker had room */
} receiver;

static uint64_t work_cycles(const struct worker *worker)
{
	const struct generation *generation = &worker->generations[0];

	return generation->ppt_cycles + generation->free_cycles;
}

/*
 * The workers do nothing before and after: their counters are complete. Polls in which another
 * program had a CPU are left out.
 */
static void take_timed(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	const struct rx_core *rx_core = arg;
	uint64_t before[PLAN_WORKERS_MAX], slowest = 0, start, cycles;

	for (uint32_t w = 0; w < rx_core->nb_workers; w++)
		before[w] = work_cycles(rx_core->workers[w]);
	start = rte_rdtsc();
	receiver.take(arg, pkts, n, rx_cycles);
	cycles = rte_rdtsc() - start;
	for (uint32_t w = 0; w < rx_core->nb_workers; w++)
		slowest = RTE_MAX(slowest, work_cycles(rx_core->workers[w]) - before[w]);
	if (cycles > receiver.gap)
		return;
	receiver.waited += cycles - RTE_MIN(slowest, cycles);
	receiver.polls++;
}

/* A worker that takes nothing from a full ring is interrupted: the receiver waits, like the NIC. */
static void take_patiently(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	const struct rx_core *rx_core = arg;
	uint64_t now = rte_rdtsc();

	for (uint32_t w = 0; w < rx_core->nb_workers; w++) {
		const struct rte_ring *ring = rx_core->workers[w]->ring;

		if (rte_ring_free_count(ring) > MARK_SLOTS || receiver.room[w] == 0)
			receiver.room[w] = now;
		else if (now - receiver.room[w] > receiver.stall)
			while (rte_ring_free_count(ring) <= MARK_SLOTS)
				rte_pause();
	}
	receiver.take(arg, pkts, n, rx_cycles);
}

static void init_receiver(struct run *run)
{
	struct poller *poller = run->nb_rx_cores > 0 ? &run->rx_cores[0]->poller : NULL;

	memset(&receiver, 0, sizeof(receiver));
	receiver.gap = rte_get_tsc_hz() / 1000000 * CARD_GAP_US;
	receiver.stall = rte_get_tsc_hz() / 1000000 * STALL_US;
	if (poller == NULL)
		return;
	receiver.take = poller->take;
	poller->take = run->design->rings ? take_patiently : take_timed;
}

uint32_t card_threads(const struct pipeline_setting *setting)
{
	return setting->workers + design_find(setting->design)->rx_core;
}

static void nap(void)
{
	const struct timespec time = {.tv_nsec = NAP_NS};

	nanosleep(&time, NULL);
}

static void let_run(struct run *run, const struct card *card, uint32_t milliseconds)
{
	time_t give_up = time(NULL) + PATIENCE_S + milliseconds / 1000;

	run_start(run);
	while (!card_is_over(card) && !signals_stop_requested() && time(NULL) < give_up)
		nap();
	epochs_end(run->epochs, 1);
	while (!run_finished(run))
		nap();
	run_join(run);
}

struct sums {
	uint64_t received, measured, ring_full, poll, rx, count, free, bursts;
};

static struct sums add_up(const struct run *run)
{
	struct pipeline_totals totals = pipeline_add_up(run);
	struct sums sums = {
		.received = totals.received,
		.measured = totals.measured,
		.ring_full = totals.ring_full,
		.rx = totals.rx,
		.count = totals.count,
		.free = totals.free,
	};

	for (uint32_t r = 0; r < run->nb_rx_cores; r++)
		sums.poll += run->rx_cores[r]->generations[0].rx_cycles;
	for (uint32_t w = 0; w < run->nb_workers; w++)
		sums.bursts += run->workers[w]->generations[0].bursts;
	if (run->nb_rx_cores == 0)
		sums.poll = totals.rx;
	return sums;
}

static bool check(const struct sums *sums, const struct card_counts *counts, char *error)
{
	if (sums->measured > 0 && counts->remaining == 0 && counts->failed == 0 &&
		sums->received == counts->delivered &&
		sums->measured + sums->ring_full == sums->received)
		return true;
	snprintf(error, LOAD_GENERATOR_ERROR_MAX,
		"of %llu packets %llu were lost, %llu received, %llu lost between lcores and %llu "
		"measured; %llu polls found no mbuf: the figures are invalid",
		(unsigned long long)counts->offered, (unsigned long long)counts->lost,
		(unsigned long long)sums->received, (unsigned long long)sums->ring_full,
		(unsigned long long)sums->measured, (unsigned long long)counts->failed);
	return false;
}

static struct card_sample sample_of(
	const struct run *run, const struct card_counts *counts, uint32_t nb_queues, double seconds)
{
	struct sums sums = add_up(run);
	double ns = 1e9 / (double)rte_get_tsc_hz(), measured = (double)sums.measured,
	       received = (double)sums.received;
	struct card_sample sample = {
		.offered_pps = (double)counts->offered / seconds,
		.measured_pps = measured / seconds,
		.drop_rate = 1 - measured / (double)counts->offered,
		.ring_drop = (double)sums.ring_full / received,
		.rx_ns = (double)(sums.rx - counts->dma) * ns / measured,
		.count_ns = (double)sums.count * ns / measured,
		.free_ns = (double)sums.free * ns / measured,
		.dma_ns = (double)counts->dma * ns / received,
		.poll = {received / (double)counts->polls, (double)sums.poll * ns / received},
		.work = {measured / (double)sums.bursts,
			(double)(sums.rx - sums.poll + sums.count + sums.free) * ns / measured},
		.interrupted = (double)counts->gaps * ns / 1e9 / seconds / (double)nb_queues,
		.handover_ns = receiver.polls > 0
				       ? (double)receiver.waited * ns / (double)receiver.polls
				       : 0,
	};

	sample.delay_ns = sample.rx_ns + sample.count_ns + sample.free_ns;
	return sample;
}

static bool run_card(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, struct card *card, const uint32_t *cpus, uint32_t nb_cpus,
	uint32_t milliseconds, struct card_sample *sample, char *error)
{
	static struct config config;
	static struct plan plan;
	struct port port = pipeline_port(card_name(card), card_port(card), &config);
	struct card_counts counts;
	struct sums sums;
	struct run *run;
	bool right;

	if (!pipeline_plan(setting, from, topology, port.name, &config, &plan, error))
		return false;
	plan.idle = IDLE_SPIN;
	pipeline_pin(plan.nb_lcores, cpus, nb_cpus);
	run = run_create(&config, &plan, NULL, &port, 1, error);
	if (run == NULL)
		return false;
	right = card_attach(card, run->pools[0], milliseconds);
	if (right) {
		init_receiver(run);
		let_run(run, card, milliseconds);
		counts = card_counts(card);
		sums = add_up(run);
		right = check(&sums, &counts, error);
		if (right)
			*sample = sample_of(
				run, &counts, pipeline_queues(setting), milliseconds / 1e3);
	} else {
		snprintf(error, LOAD_GENERATOR_ERROR_MAX, "the simulated NIC has too few mbufs");
	}
	card_detach(card);
	run_destroy(run);
	return right;
}

bool card_run(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, const uint32_t *cpus, uint32_t nb_cpus,
	uint32_t milliseconds, struct card_sample *sample, char *error)
{
	struct card_params params = {
		.workload = setting->workload,
		.nb_queues = pipeline_queues(setting),
		.size = setting->size,
		.rate = setting->rate,
	};
	int level = rte_log_get_level(log_type);
	struct card *card;
	bool right;

	_Static_assert(CARD_ERROR_MAX <= LOAD_GENERATOR_ERROR_MAX, "either error fits");
	VERIFY(card_threads(setting), <=, nb_cpus);
	card = card_create(&params, error);
	if (card == NULL)
		return false;
	/* The NIC overruns its descriptors on purpose; no warnings. */
	rte_log_set_level((uint32_t)log_type, RTE_LOG_ERR);
	right = run_card(setting, from, topology, card, cpus, nb_cpus, milliseconds, sample, error);
	rte_log_set_level((uint32_t)log_type, (uint32_t)level);
	card_destroy(card);
	return right;
}
