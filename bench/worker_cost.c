/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a packet costs on a worker: the whole measurement (receive, parse, hash, update, free)
 * against a worker that only receives and frees, on the same path from the generator through a
 * ring.
 *
 *     worker_cost [SPEC [ROUNDS [SKETCH [SHARING]]]]
 *
 * Both kinds of worker take turns, round by round, in one process. A worker that finds its ring
 * empty waits until the feeder has filled it again, so both see full bursts and neither is measured
 * waiting. Times are TSC cycles of the worker alone; medians over the rounds, with minimum and
 * maximum.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_version.h>

#include "base/log.h"
#include "parallel/eal.h"
#include "parallel/run.h"
#include "rx/synthetic.h"

#define ROUNDS_MAX        101
#define PACKETS_PER_ROUND 2000000
#define REFILL_US         60 /* long enough for the feeder to fill the ring */

enum kind {
	RECEIVE_AND_FREE,
	MEASURE,
	KINDS,
};

/* Of full bursts only: nanoseconds per packet of one round. */
struct sample {
	double total, rx, count, free;
};

static enum kind kind;
static struct {
	uint64_t packets, rx, count, free;
} cycles;

/* Receives one burst and counts or frees it. Returns the packets received. */
static uint16_t take_burst(struct worker *worker)
{
	struct rte_mbuf *pkts[BURST_MAX];
	struct generation *generation = worker_generation(worker, worker->epoch);
	uint64_t counted_before = generation->ppt_cycles, freed_before = generation->free_cycles;
	uint64_t start = rte_rdtsc(), received;
	uint16_t n = rte_eth_rx_burst(
		worker->poller.queues[0].port, worker->poller.queues[0].queue, pkts, BURST_MAX);

	received = rte_rdtsc();
	if (n == 0)
		return 0;
	if (kind == MEASURE) {
		worker_count(worker, pkts, n, 0);
	} else {
		rte_pktmbuf_free_bulk(pkts, n);
		generation->free_cycles += rte_rdtsc() - received;
	}
	if (n == BURST_MAX) {
		cycles.packets += n;
		cycles.rx += received - start;
		cycles.count += generation->ppt_cycles - counted_before;
		cycles.free += generation->free_cycles - freed_before;
	}
	return n;
}

static void bench_work(struct worker *worker, uint32_t nb_workers)
{
	(void)nb_workers;
	for (;;) {
		/* Pairs with the release in epochs_open(). */
		uint64_t open = atomic_load_explicit(&worker->epochs->open, memory_order_acquire);

		if (take_burst(worker) > 0)
			continue;
		if (epochs_is_end(worker->epochs, open)) {
			worker_leave(worker, open);
			return;
		}
		rte_delay_us_block(REFILL_US);
	}
}

static const struct design_ops bench_design = {.name = "bench", .work = bench_work};

static void fail(const char *error)
{
	fprintf(stderr, "worker_cost: %s\n", error);
	exit(1);
}

static struct sample run_round(
	const struct config *config, const struct plan *plan, struct source *source)
{
	char error[RUN_ERROR_MAX];
	struct run *run = run_create(config, plan, source, NULL, 0, error);
	double ns;

	if (run == NULL)
		fail(error);
	run->design = &bench_design;
	memset(&cycles, 0, sizeof(cycles));
	run_start(run);
	run_join(run);
	run_destroy(run);
	ns = 1e9 / (double)rte_get_tsc_hz() / (double)cycles.packets;
	return (struct sample){
		.total = (double)(cycles.rx + cycles.count + cycles.free) * ns,
		.rx = (double)cycles.rx * ns,
		.count = (double)cycles.count * ns,
		.free = (double)cycles.free * ns,
	};
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median, minimum and maximum of one figure of the samples. */
static void print_figure(const char *name, const struct sample *samples, uint32_t n, size_t offset)
{
	double values[ROUNDS_MAX];

	for (uint32_t i = 0; i < n; i++)
		memcpy(&values[i], (const char *)&samples[i] + offset, sizeof(double));
	qsort(values, n, sizeof(values[0]), compare);
	printf("  %-26s %6.1f  %6.1f  %6.1f\n", name, values[n / 2], values[0], values[n - 1]);
}

static void print_heading(const char *spec, const struct plan *plan)
{
	struct utsname machine;
	char date[32], cpu[128] = "unknown CPU", line[256];
	time_t now = time(NULL);
	FILE *cpuinfo = fopen("/proc/cpuinfo", "re");

	while (cpuinfo != NULL && fgets(line, sizeof(line), cpuinfo) != NULL)
		if (sscanf(line, "model name : %127[^\n]", cpu) == 1)
			break;
	if (cpuinfo != NULL)
		fclose(cpuinfo);
	uname(&machine);
	strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&now));
	printf("%s, Linux %s, %s, gcc-compatible %s, %s\n", cpu, machine.release, rte_version(),
		__VERSION__, date);
	printf("%s, %s, %s, %u x %llu, ring of %u\n\n", spec, plan->measurements[0].ops->name,
		plan->sharing == SHARING_SHARED ? "shared" : "separate",
		plan->measurements[0].params.depth,
		(unsigned long long)plan->measurements[0].params.width, plan->descriptors);
}

int main(int argc, char **argv)
{
	const char *text = argc > 1 ? argv[1] : "flows=1M,zipf=1.05,size=64";
	uint32_t rounds = argc > 2 ? (uint32_t)atoi(argv[2]) : 7;
	const struct sketch_ops *sketch = sketch_find(argc > 3 ? argv[3] : "count-min");
	struct config config = {
		.design = "rss",
		.sharing = argc > 4 ? argv[4] : "separate",
		.workers = 1,
		.nb_measurements = 1,
		.seed = 1,
		.packets = PACKETS_PER_ROUND,
		.no_huge = true,
	};
	static struct topology topology;
	static struct plan plan;
	static struct sample samples[KINDS][ROUNDS_MAX];
	struct plan_ports ports = {.node = PLAN_NODE_ANY};
	struct synthetic_spec spec;
	struct source *source;
	char error[SOURCE_ERROR_MAX];

	if (rounds < 1 || rounds > ROUNDS_MAX)
		fail("rounds: 1 to 101");
	if (sketch == NULL)
		fail("there is no such sketch");
	config.measurements[0] = (struct measurement_config){
		.name = "main",
		.key = &key_rules[0],
		.sketch = sketch != NULL ? sketch->name : NULL,
		.top = 100,
		.confidence = 0.999,
	};
	log_init(false);
	if (!synthetic_parse(text, &spec, error))
		fail(error);
	spec.packets = 0;
	source = generate_open(&spec, error);
	if (source == NULL)
		fail(error);
	topology_read(&topology, "");
	if (!plan_make(&plan, &config, &topology, &ports, error) ||
		!eal_start(&plan, &config, error))
		fail(error);
	if (plan.oversubscribed)
		fail("two CPUs are needed, one for the feeder and one for the worker");

	print_heading(text, &plan);
	for (uint32_t i = 0; i < rounds; i++)
		for (kind = 0; kind < KINDS; kind++)
			samples[kind][i] = run_round(&config, &plan, source);
	printf("  ns a packet                median     min     max\n");
	print_figure("receive and free", samples[RECEIVE_AND_FREE], rounds,
		offsetof(struct sample, total));
	print_figure("measure", samples[MEASURE], rounds, offsetof(struct sample, total));
	print_figure("  receive", samples[MEASURE], rounds, offsetof(struct sample, rx));
	print_figure(
		"  parse, hash, update", samples[MEASURE], rounds, offsetof(struct sample, count));
	print_figure("  free", samples[MEASURE], rounds, offsetof(struct sample, free));
	for (uint32_t i = 0; i < rounds; i++)
		samples[MEASURE][i].total -= samples[RECEIVE_AND_FREE][i].total;
	print_figure("measure - receive and free", samples[MEASURE], rounds,
		offsetof(struct sample, total));
	source->close(source);
	eal_stop();
	return 0;
}
