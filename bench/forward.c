/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * sketchtap-bench forward: what it costs to measure what is forwarded, above a loop that receives a
 * burst and sends it, as testpmd's `io` does, on the same ports. On-path all of it is the forwarding
 * core's; off-path that core reads headers and leaves digests, and what counts them is another.
 *
 * The ports are rings in memory; between two bursts, while no time is taken, each packet gets the
 * headers of the next one of a generated stream. Times are TSC cycles of the forwarding core; a
 * burst that took longer than LONGEST_US was interrupted, and its time is left out.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_ring.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/bench.h"
#include "parallel/digest_ring.h"
#include "parallel/eal.h"
#include "parallel/run.h"
#include "rx/packet/filter_program.h"
#include "rx/port/forwarding.h"
#include "tune/bench_options.h"
#include "tune/cpus.h"
#include "tune/figures.h"
#include "tune/pipeline.h"
#include "tune/setup.h"
#include "tune/stats.h"

#define ROUNDS        7
#define PACKETS       2000000
#define QUICK_ROUNDS  3
#define QUICK_PACKETS 100000
#define ZIPF_E6       1050000
#define FLOWS         1000000
#define FRAME         64
#define MBUFS         256 /* that go round */
#define RING          4096
#define LONGEST_US    200
#define NAP_NS        1000000

static const struct figures_column columns[] = {
	{.name = "bench"},
	{"name", "", -22, ""},
	{.name = "packets"},
	{.name = "rounds"},
	{"added_ns", "added", 7, "ns"},
	{"added_ns_min", "min", 7, "ns"},
	{"added_ns_max", "max", 7, "ns"},
	{"total_ns", "total", 7, "ns"},
	{"of_io", "of io", 7, "ratio"},
	{"lost", "lost", 7, "ratio"},
	{"interrupted", "interr.", 7, "ratio"},
	{"note", "", -1, ""},
	{.name = NULL},
};

/* Who takes turns; the first is what the others are compared with. */
static const struct entrant {
	const char *name, *design, *sketch;
	bool io;            /* receives and sends, and nothing else */
	const char *filter; /* what is measured; NULL: everything */
} entrants[] = {
	{.name = "io", .design = "rss", .sketch = "count-min", .io = true},
	{.name = "nothing measured", .design = "rss", .sketch = "count-min", .filter = "less 0"},
	{.name = "on-path count-min", .design = "rss", .sketch = "count-min"},
	{.name = "on-path flow-table", .design = "rss", .sketch = "flow-table"},
	{.name = "on-path iblt", .design = "rss", .sketch = "iblt"},
	{.name = "off-path count-min", .design = "async", .sketch = "count-min"},
	{.name = "off-path flow-table", .design = "async", .sketch = "flow-table"},
};

#define NB_ENTRANTS (sizeof(entrants) / sizeof(entrants[0]))

struct sample {
	double ns, lost, interrupted; /* per packet; shares of packets */
};

/* Of the run at hand; written by who forwards, read when the run has ended. */
static struct {
	const struct entrant *entrant;
	struct rte_ring *in, *out;
	const uint8_t *frames; /* [nb_frames][FRAME], in turn */
	uint64_t nb_frames, next;
	uint64_t wanted;  /* packets */
	uint64_t longest; /* cycles that a burst may take */
	uint64_t taken, timed, cycles, interrupted;
} loop;

struct forward_bench {
	const struct config *config;
	uint32_t rounds;
	struct topology topology;
	struct cpus cpus;
	struct figures figures;
	struct config run_config;
	struct plan plan;
	uint8_t *frames;
	double ns[NB_ENTRANTS][BENCH_ROUNDS_MAX], lost[NB_ENTRANTS][BENCH_ROUNDS_MAX],
		interrupted[NB_ENTRANTS][BENCH_ROUNDS_MAX];
	char error[RUN_ERROR_MAX];
};

/* --- the loop --- */

/* What was sent comes in again, with other headers. */
static void refill(void)
{
	struct rte_mbuf *pkts[BURST_MAX];
	uint32_t n = rte_ring_sc_dequeue_burst(loop.out, (void **)pkts, BURST_MAX, NULL);

	for (uint32_t i = 0; i < n; i++) {
		memcpy(rte_pktmbuf_mtod(pkts[i], void *), loop.frames + loop.next * FRAME, FRAME);
		loop.next = loop.next + 1 == loop.nb_frames ? 0 : loop.next + 1;
	}
	rte_ring_sp_enqueue_bulk(loop.in, (void *const *)pkts, n, NULL);
}

static void send_alone(uint16_t port, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t sent = rte_eth_tx_burst(port, 0, pkts, n);

	rte_pktmbuf_free_bulk(pkts + sent, n - sent);
}

typedef void take_fn(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);

static void take_burst(take_fn *take, void *arg, struct poller *poller)
{
	struct rte_mbuf *pkts[BURST_MAX];
	uint16_t port = poller->queues[0].port;
	uint64_t start = rte_rdtsc(), cycles;
	uint16_t n = rte_eth_rx_burst(port, 0, pkts, BURST_MAX);

	if (loop.entrant->io) {
		send_alone(port, pkts, n);
	} else {
		poller->polled = rte_rdtsc();
		take(arg, pkts, n, poller->polled - start);
	}
	cycles = rte_rdtsc() - start;
	loop.taken += n;
	if (n < BURST_MAX)
		return;
	if (cycles > loop.longest) {
		loop.interrupted += n;
		return;
	}
	loop.timed += n;
	loop.cycles += cycles;
}

/* Packets come as fast as they can be counted, and no faster: a lost digest costs less. */
static void wait_for_who_counts(const struct digest_ring *ring)
{
	while (ring->put - atomic_load_explicit(&ring->head, memory_order_relaxed) > ring->size / 2)
		rte_pause();
}

static void forward_all(
	take_fn *take, void *arg, struct poller *poller, const struct digest_ring *digests)
{
	while (loop.taken < loop.wanted) {
		take_burst(take, arg, poller);
		refill();
		if (digests != NULL)
			wait_for_who_counts(digests);
	}
}

static void take_on_path(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles)
{
	struct worker *worker = arg;

	worker_generation(worker, worker->epoch)->received += n;
	worker_forward(worker, pkts, n, rx_cycles);
}

static void work_on_path(struct worker *worker, uint32_t nb_workers)
{
	(void)nb_workers;
	forward_all(take_on_path, worker, &worker->poller, NULL);
	worker_leave(worker, 1);
}

static void receive_off_path(struct receiver *receiver)
{
	struct poller *poller = &receiver->poller;

	forward_all(poller->take, poller->arg, poller, receiver->workers[0]->digests);
	poller->end(poller->arg, 1);
}

/* --- a run --- */

static bool fill_ring(struct rte_mempool *pool)
{
	struct rte_mbuf *pkts[MBUFS];

	if (rte_pktmbuf_alloc_bulk(pool, pkts, MBUFS) != 0)
		return false;
	for (uint32_t i = 0; i < MBUFS; i++) {
		memcpy(rte_pktmbuf_append(pkts[i], FRAME), loop.frames + (size_t)i * FRAME, FRAME);
		pkts[i]->ol_flags = 0;
	}
	return rte_ring_sp_enqueue_bulk(loop.in, (void *const *)pkts, MBUFS, NULL) == MBUFS;
}

static void empty_ring(struct rte_ring *ring)
{
	struct rte_mbuf *pkts[BURST_MAX];
	uint32_t n;

	while ((n = rte_ring_sc_dequeue_burst(ring, (void **)pkts, BURST_MAX, NULL)) > 0)
		rte_pktmbuf_free_bulk(pkts, n);
}

static bool make_plan(struct forward_bench *bench, const struct entrant *entrant)
{
	const struct contestant contestant = {.sketch = sketch_find(entrant->sketch), .threads = 1};
	struct plan_ports ports = {.nb_ports = 1};

	ports.ports[0].name = "rings";
	ports.ports[0].node = PLAN_NODE_ANY;
	setup_run_config(&bench->run_config, bench->config, &contestant);
	edit_design_options(&bench->run_config)->design = design_index(entrant->design);
	edit_forward_options(&bench->run_config)->mode = FORWARD_LOOP;
	if (!plan_make(&bench->plan, &bench->run_config, &bench->topology, &ports, bench->error))
		return false;
	bench->plan.idle = IDLE_SPIN;
	return true;
}

static bool describe_port(struct forward_bench *bench, struct port *port)
{
	static uint32_t serial; /* of ethdevs, whose names stay */
	char name[32];
	int id;

	snprintf(name, sizeof(name), "forward%u", serial++);
	id = rte_eth_from_rings(name, &loop.in, 1, &loop.out, 1, 0);
	if (id < 0)
		return false;
	*port = (struct port){
		.id = (uint16_t)id,
		.node = PLAN_NODE_ANY,
		.config = &bench->run_config,
		.driver = port_driver_find("net_ring"),
		.sends = true,
	};
	snprintf(port->name, sizeof(port->name), "%s", name);
	snprintf(port->device, sizeof(port->device), "net_ring_%s", name);
	return true;
}

static void let_run(struct run *run, const struct design_ops *design)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};

	run->design = design;
	run_start(run);
	while (!run_finished(run))
		nanosleep(&nap, NULL);
	run_join(run);
}

static struct design_ops design_of(const struct entrant *entrant)
{
	struct design_ops design = *design_find(entrant->design);

	if (design.receiver)
		design.receive = receive_off_path;
	else
		design.work = work_on_path;
	return design;
}

/* Every packet was counted, or lost on the way to who counts, or left out. */
static bool check(struct forward_bench *bench, const struct run *run, uint64_t lost)
{
	const struct generation *counted = &run->workers[0]->generations[0];
	uint64_t seen = counted->measured + counted->filtered + lost;

	if (loop.timed > 0 && (loop.entrant->io || seen == loop.taken))
		return true;
	snprintf(bench->error, sizeof(bench->error),
		"%s: %" PRIu64 " packets were forwarded and %" PRIu64 " accounted for: the "
		"figures are worth nothing",
		loop.entrant->name, loop.taken, seen);
	return false;
}

static bool run_on_port(struct forward_bench *bench, struct port *port,
	const struct filter_set *filters, struct sample *sample)
{
	struct design_ops design = design_of(loop.entrant);
	struct run *run = run_create(&bench->run_config, &bench->plan, NULL, port, 1, bench->error);
	uint64_t lost = 0;
	bool right;

	if (run == NULL)
		return false;
	right = run_filter(run, filters) && fill_ring(run->pools[0]);
	if (right) {
		pipeline_pin(bench->plan.nb_lcores, bench->cpus.ids, bench->cpus.n);
		let_run(run, &design);
		if (run->nb_receivers > 0)
			lost = run->receivers[0]->generations[0].ring_full[0];
		right = check(bench, run, lost);
	}
	*sample = (struct sample){
		.ns = (double)loop.cycles * 1e9 / (double)rte_get_tsc_hz() /
		      (double)(loop.timed > 0 ? loop.timed : 1),
		.lost = (double)lost / (double)loop.wanted,
		.interrupted = (double)loop.interrupted / (double)loop.wanted,
	};
	empty_ring(loop.in);
	empty_ring(loop.out);
	run_destroy(run);
	return right;
}

static bool run_entrant(
	struct forward_bench *bench, const struct entrant *entrant, struct sample *sample)
{
	struct filter_set filters = {0};
	char error[SOURCE_ERROR_MAX];
	struct port port;
	bool right;

	loop.entrant = entrant;
	loop.taken = loop.timed = loop.cycles = loop.interrupted = 0;
	right = make_plan(bench, entrant) && describe_port(bench, &port) &&
		(entrant->filter == NULL ||
			source_filter(NULL, entrant->filter, &filters, error)) &&
		run_on_port(bench, &port, &filters, sample);
	filter_set_free(&filters);
	return right;
}

/* --- all of them --- */

static void print_entrant(struct forward_bench *bench, uint32_t e, uint32_t rounds)
{
	struct figures *figures = &bench->figures;
	struct bench_stats added = bench_stats_difference(bench->ns[e], bench->ns[0], rounds);

	figures_cell(figures, "bench", "forward");
	figures_cell(figures, "name", "%s", entrants[e].name);
	figures_cell(figures, "packets", "%" PRIu64, loop.wanted);
	figures_cell(figures, "rounds", "%u", rounds);
	figures_cell(figures, "total_ns", "%.2f", bench_stats_of(bench->ns[e], rounds).median);
	figures_cell(figures, "interrupted", "%.4f",
		bench_stats_of(bench->interrupted[e], rounds).median);
	if (e > 0) {
		figures_cell(figures, "added_ns", "%.2f", added.median);
		figures_cell(figures, "added_ns_min", "%.2f", added.min);
		figures_cell(figures, "added_ns_max", "%.2f", added.max);
		figures_cell(figures, "of_io", "%.3f",
			bench_stats_ratio(bench->ns[0], bench->ns[e], rounds).median);
	}
	if (design_find(entrants[e].design)->receiver)
		figures_cell(
			figures, "lost", "%.4f", bench_stats_of(bench->lost[e], rounds).median);
	figures_row(figures);
}

static bool run_all(void *arg)
{
	struct forward_bench *bench = arg;
	uint32_t rounds = 0;

	for (; rounds < bench->rounds && !signals_stop_requested(); rounds++)
		for (uint32_t e = 0; e < NB_ENTRANTS; e++) {
			struct sample sample;

			if (!run_entrant(bench, &entrants[e], &sample)) {
				log_error("%s", bench->error[0] != '\0'
							? bench->error
							: "no memory for the ports");
				return false;
			}
			bench->ns[e][rounds] = sample.ns;
			bench->lost[e][rounds] = sample.lost;
			bench->interrupted[e][rounds] = sample.interrupted;
		}
	if (rounds == 0)
		return true;
	figures_heading(&bench->figures,
		"%d-byte frames, Zipf 1.05 over 1 M flows: %" PRIu64 " packets a round; %u rounds",
		FRAME, loop.wanted, rounds);
	for (uint32_t e = 0; e < NB_ENTRANTS; e++)
		print_entrant(bench, e, rounds);
	return true;
}

/* The stream that every entrant sees. */
static bool make_frames(struct forward_bench *bench)
{
	struct source *source = setup_source(ZIPF_E6, FLOWS);
	struct source_packet packet;

	loop.nb_frames = loop.wanted > MBUFS ? loop.wanted : MBUFS;
	bench->frames = calloc(loop.nb_frames, FRAME);
	for (uint64_t i = 0; source != NULL && bench->frames != NULL && i < loop.nb_frames; i++) {
		source->next(source, &packet);
		memcpy(bench->frames + i * FRAME, packet.data,
			packet.captured < FRAME ? packet.captured : FRAME);
	}
	if (source != NULL)
		source->close(source);
	loop.frames = bench->frames;
	return source != NULL && bench->frames != NULL;
}

static bool make_rings(void)
{
	loop.in = rte_ring_create("forward_in", RING, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	loop.out =
		rte_ring_create("forward_out", RING, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	loop.longest = rte_get_tsc_hz() / 1000000 * LONGEST_US;
	return loop.in != NULL && loop.out != NULL;
}

int bench_forward(struct config *config)
{
	static struct forward_bench bench;
	const struct bench_options *choices = bench_options(config);
	int status = 1;

	bench.config = config;
	bench.rounds = (uint32_t)bench_number(choices, choices->rounds, ROUNDS, QUICK_ROUNDS);
	loop.wanted = bench_number(choices, choices->packets, PACKETS, QUICK_PACKETS);
	if (!setup_topology(&bench.topology, config))
		return 1;
	cpus_init(&bench.cpus, &bench.topology);
	if (bench.cpus.n < 2) {
		log_error("two CPUs are needed, one to forward and one to count off-path");
		return 1;
	}
	/* The last one has most lcores. */
	if (!make_plan(&bench, &entrants[NB_ENTRANTS - 1]) ||
		!eal_start(&bench.plan, &bench.run_config, bench.error)) {
		log_error("%s", bench.error);
		return 1;
	}
	if (make_frames(&bench) && make_rings())
		status = figures_write(&bench.figures, columns, config, run_all, &bench);
	else
		log_error("no memory for the packets");
	free(bench.frames);
	eal_stop();
	return status;
}

/* --- options --- */

static const struct option_row forward_rows[] = {
	BENCH_ROW_PACKETS(4096, "2M", "Packets of a round."),
	BENCH_ROW_ROUNDS("7"),
	BENCH_ROW_QUICK(
		"Smaller defaults, to see that everything works: 3 rounds of 100K packets."),
	{0},
};

const struct option_owner forward_bench_owner = {
	.rows = forward_rows,
	.fills = &bench_owner,
};
