/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * sketchtap-bench forward: measures the time that measuring adds to a forwarding core, in
 * comparison with a loop like `io` of testpmd. On-path, the forwarding core does all the work;
 * off-path, it enqueues digests for a worker on another core. Ports are rings in memory, and each
 * packet gets new headers outside the measured time. Latency is measured with a clock that runs
 * only while the forwarding core works.
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
#include <rte_dev.h>
#include <rte_ring.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/bench.h"
#include "bench/common.h"
#include "parallel/designs/digest_ring.h"
#include "parallel/run/eal.h"
#include "parallel/run/run.h"
#include "rx/filter/filter_program.h"
#include "rx/packet/parse.h"
#include "rx/port/driver_loader.h"
#include "rx/port/forwarding.h"
#include "sketch/measurement.h"
#include "tune/measure/bench_options.h"
#include "tune/measure/cpus.h"
#include "tune/measure/figures.h"
#include "tune/measure/pipeline.h"
#include "tune/measure/setup.h"

#define ROUNDS        7
#define PACKETS       2000000
#define QUICK_ROUNDS  3
#define QUICK_PACKETS 100000
#define ZIPF_E6       1050000
#define FLOWS         1000000
#define PAPER_FLOWS   2550 /* Table 1 of Zha et al. (2022) */
#define FRAME         64
#define MBUFS         256
#define RING          4096
#define LONGEST_US    200
/* lower than LONGEST_US, because an interruption would delay later packets */
#define LONGEST_PACED 5
#define LATENCY_MAX   65536 /* TSC cycles */
#define NAP_NS        1000000

static const struct figures_column columns[] = {
	{.name = "bench"},
	{"part", "", -60, ""},
	{"packets", "packets", 8, ""},
	{"round", "round", 5, ""},
	{"value", "value", 8, ""},
	{"unit", "", -4, ""},
	{"lost", "lost", 7, "ratio"},
	{"interrupted", "interr.", 7, "ratio"},
	{"note", "", -1, ""},
	{.name = NULL},
};

/* Measured programs take turns. */
static const struct entrant {
	const char *name, *design, *sketch;
	bool io;
	bool null;
	const char *filter; /* --filter expression; NULL: all packets */
	/* index of the entrant whose time is subtracted from this one; its own index: none */
	int above;
	bool paced; /* latency is also measured, at half of the highest rate */
	bool paper; /* PAPER_FLOWS instead of FLOWS; the flows with an exact count are also found */
	const char *key; /* NULL: 5-tuples */
} entrants[] = {
	{.name = "io", .design = "rss", .sketch = "count-min", .io = true, .above = 0},
	{.name = "nothing measured",
		.design = "rss",
		.sketch = "count-min",
		.filter = "less 0",
		.above = 1},
	{.name = "io, net_null",
		.design = "rss",
		.sketch = "count-min",
		.io = true,
		.null = true,
		.above = 2},
	{.name = "nothing measured, net_null",
		.design = "rss",
		.sketch = "count-min",
		.filter = "less 0",
		.null = true,
		.above = 3},
	{.name = "on-path count-min",
		.design = "rss",
		.sketch = "count-min",
		.above = 1,
		.paced = true},
	{.name = "on-path flow-table", .design = "rss", .sketch = "flow-table", .above = 1},
	{.name = "on-path iblt", .design = "rss", .sketch = "iblt", .above = 1},
	{.name = "off-path count-min",
		.design = "async",
		.sketch = "count-min",
		.above = 0,
		.paced = true},
	{.name = "off-path flow-table", .design = "async", .sketch = "flow-table", .above = 0},
	{.name = "on-path compact-table, 2550 flows",
		.design = "rss",
		.sketch = "compact-table",
		.above = 0,
		.paper = true,
		.key = "6tuple"},
	{.name = "on-path iblt, 2550 flows",
		.design = "rss",
		.sketch = "iblt",
		.above = 0,
		.paper = true},
	{.name = "off-path compact-table, 2550 flows",
		.design = "async",
		.sketch = "compact-table",
		.above = 0,
		.paper = true,
		.key = "6tuple"},
	{.name = "off-path iblt, 2550 flows",
		.design = "async",
		.sketch = "iblt",
		.above = 0,
		.paper = true},
};

#define NB_ENTRANTS (sizeof(entrants) / sizeof(entrants[0]))
#define NOTHING     1 /* index of the entrant that forwards without measuring */

struct sample {
	double ns, lost, interrupted; /* ns per packet, and fractions of packets */
	double p50, p99;              /* ns of latency runs */
	double exact;                 /* fraction of the flows */
};

/* Written by the forwarding core, and read after the run. */
static struct {
	const struct entrant *entrant;
	struct rte_ring *in, *out;
	const uint8_t *frames; /* nb_frames frames of FRAME bytes, used in turn */
	uint64_t nb_frames, next;
	uint64_t wanted;
	uint64_t longest; /* limit for a burst, cycles */
	uint64_t taken, timed, cycles, interrupted;

	uint64_t begin;      /* first paced packet; earlier ones insert the flows */
	double pace;         /* cycles between packets; 0: as fast as possible */
	double now;          /* cycles since the first paced packet */
	uint64_t sent;       /* TSC */
	uint32_t *latencies; /* [LATENCY_MAX], packets per latency in cycles */
} loop;

struct forward_bench {
	const struct config *config;
	uint32_t rounds;
	struct topology topology;
	struct cpus cpus;
	struct figures figures;
	struct config run_config;
	struct plan plan;
	uint8_t *frames, *paper_frames;
	char error[RUN_ERROR_MAX];
};

static bool is_paced(void)
{
	return loop.pace > 0 && loop.taken >= loop.begin;
}

static double comes(uint64_t packet)
{
	return (double)(packet - loop.begin) * loop.pace;
}

/* Returns the number of waiting packets, at most a burst. Advances the clock if none wait. */
static uint32_t due(void)
{
	double first, n;

	if (!is_paced())
		return BURST_MAX;
	first = comes(loop.taken);
	if (loop.now < first)
		loop.now = first;
	n = (loop.now - first) / loop.pace + 1;
	return n < BURST_MAX ? (uint32_t)n : BURST_MAX;
}

/* Moves sent packets to the receive ring, and gives them new headers. */
static void refill(void)
{
	struct rte_mbuf *pkts[BURST_MAX];
	uint32_t n = rte_ring_sc_dequeue_burst(loop.out, (void **)pkts, due(), NULL);

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

/* The burst began at `start` and took `cycles`. `first`: number of its first packet. */
static void add_latencies(uint64_t first, uint32_t n, uint64_t start, uint64_t cycles)
{
	double left = loop.now + (double)(loop.sent - start);

	for (uint32_t i = 0; i < n; i++) {
		double waited = left - comes(first + i);

		loop.latencies[waited < LATENCY_MAX ? (uint32_t)waited : LATENCY_MAX - 1]++;
	}
	loop.now += (double)cycles;
}

static uint16_t before_sending(
	uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n, void *arg)
{
	(void)port;
	(void)queue;
	(void)pkts;
	(void)arg;
	loop.sent = rte_rdtsc();
	return n;
}

typedef void take_fn(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);

static void take_burst(take_fn *take, void *arg, struct poller *poller)
{
	struct rte_mbuf *pkts[BURST_MAX];
	uint16_t port = poller->queues[0].port;
	uint64_t start = rte_rdtsc(), cycles;
	uint16_t n = rte_eth_rx_burst(port, 0, pkts, BURST_MAX);
	bool paced = is_paced();

	if (n == 0)
		return;
	if (loop.entrant->io) {
		send_alone(port, pkts, n);
	} else {
		poller->polled = rte_rdtsc();
		take(arg, pkts, n, poller->polled - start);
	}
	cycles = rte_rdtsc() - start;
	loop.taken += n;
	if (!paced && (n < BURST_MAX || loop.pace > 0))
		return;
	if (cycles > loop.longest) {
		loop.interrupted += n;
		return;
	}
	loop.timed += n;
	loop.cycles += cycles;
	if (paced)
		add_latencies(loop.taken - n, n, start, cycles);
}

/* Waits until the ring is half empty, because a lost digest costs less time than a counted one. */
static void wait_for_who_counts(const struct digest_ring *ring)
{
	while (ring->put - atomic_load_explicit(&ring->head, memory_order_relaxed) > ring->size / 2)
		rte_pause();
}

static void forward_all(
	take_fn *take, void *arg, struct poller *poller, const struct digest_ring *digests)
{
	while (loop.taken < loop.begin + loop.wanted) {
		if (!loop.entrant->null)
			refill();
		take_burst(take, arg, poller);
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

static void receive_off_path(struct rx_core *rx_core)
{
	struct poller *poller = &rx_core->poller;

	forward_all(poller->take, poller->arg, poller, rx_core->workers[0]->digests);
	poller->end(poller->arg, 1);
}

static bool fill_ring(struct rte_mempool *pool)
{
	struct rte_mbuf *pkts[MBUFS];

	if (rte_pktmbuf_alloc_bulk(pool, pkts, MBUFS) != 0)
		return false;
	for (uint32_t i = 0; i < MBUFS; i++) {
		memcpy(rte_pktmbuf_append(pkts[i], FRAME), loop.frames + (size_t)i * FRAME, FRAME);
		pkts[i]->ol_flags = 0;
	}
	/* refill() takes them from the output ring */
	return rte_ring_sp_enqueue_bulk(loop.out, (void *const *)pkts, MBUFS, NULL) == MBUFS;
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
	const struct bench_subject subject = {.sketch = sketch_find(entrant->sketch), .threads = 1};
	struct plan_ports ports = {.nb_ports = 1};

	ports.ports[0].name = entrant->null ? "net_null" : "rings";
	ports.ports[0].node = PLAN_NODE_ANY;
	setup_run_config(&bench->run_config, bench->config, &subject);
	edit_design_options(&bench->run_config)->design = design_index(entrant->design);
	edit_forward_options(&bench->run_config)->mode = FORWARD_LOOP;
	if (entrant->key != NULL)
		edit_measurement_options(&bench->run_config.measurements[0])->key =
			*key_rule_find(entrant->key);
	if (!plan_make(&bench->plan, &bench->run_config, &bench->topology, &ports, bench->error))
		return false;
	bench->plan.idle = IDLE_SPIN;
	return true;
}

static bool describe_port(struct forward_bench *bench, struct port *port)
{
	static uint32_t
		serial; /* a new number for each name, because names of ethdevs stay in use */
	const char *driver = loop.entrant->null ? "net_null" : "net_ring";
	char name[32], device[48];
	uint16_t id;
	int made;

	snprintf(name, sizeof(name), "forward%u", serial++);
	snprintf(device, sizeof(device), "%s_%s", driver, name);
	driver_loader_device(device);
	made = loop.entrant->null ? rte_dev_probe(device)
				  : rte_eth_from_rings(name, &loop.in, 1, &loop.out, 1, 0);
	if (made < 0 || rte_eth_dev_get_port_by_name(device, &id) != 0)
		return false;
	*port = (struct port){
		.id = id,
		.node = PLAN_NODE_ANY,
		.config = &bench->run_config,
		.driver = port_driver_find(driver),
		.sends = true,
	};
	snprintf(port->name, sizeof(port->name), "%s", name);
	snprintf(port->device, sizeof(port->device), "%s", device);
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

	if (design.rx_core)
		design.receive = receive_off_path;
	else
		design.work = work_on_path;
	return design;
}

/* Returns the ns that only one in `one_of` packets exceeds. */
static double latency(uint32_t one_of)
{
	uint64_t left = loop.timed / one_of;
	uint32_t cycles = LATENCY_MAX;

	while (cycles > 0 && loop.latencies[cycles - 1] <= left)
		left -= loop.latencies[--cycles];
	return (double)cycles * 1e9 / (double)rte_get_tsc_hz();
}

/* Returns true if each packet was counted, filtered out, or lost in the digest ring. */
static bool check(struct forward_bench *bench, const struct run *run, uint64_t lost)
{
	const struct generation *counted = &run->workers[0]->generations[0];
	uint64_t seen = counted->measured + counted->filtered + lost;

	if (loop.timed > 0 && (loop.entrant->io || seen == loop.taken))
		return true;
	snprintf(bench->error, sizeof(bench->error),
		"%s: %" PRIu64 " packets forwarded, but %" PRIu64 " accounted for: the figures "
		"are wrong",
		loop.entrant->name, loop.taken, seen);
	return false;
}

/* Returns the keys of `n` frames from number `first` on, or NULL if out of memory. */
static struct workload *find_truth(
	const struct forward_bench *bench, const struct key_rule *rule, uint64_t first, uint64_t n)
{
	static struct key_burst tuples, keys;
	struct workload *truth =
		workload_allocate(workload_packets(n), seed_options(bench->config)->seed);

	if (truth == NULL)
		return NULL;
	workload_burst_init(&tuples);
	tuples.n = 1;
	for (uint64_t i = 0; i < n; i++) {
		const uint8_t *frame = loop.frames + (first + i) % loop.nb_frames * FRAME;
		struct parsed parsed;

		parse_packet(frame, FRAME, LINK_ETHERNET, &parsed);
		tuples.key4[0] = parsed.key4;
		tuples.extra[0] = parsed.extra;
		key_burst_mask(&keys, &tuples, rule);
		truth->keys[i] = keys.key4[0];
	}
	truth->spec.packets = n;
	workload_find_truth(truth);
	return truth;
}

/* first: number of the first frame of the run. Returns false if out of memory. */
static bool find_exact(
	struct forward_bench *bench, const struct run *run, uint64_t first, double *exact)
{
	const struct sketch *sketch = run->workers[0]->generations[0].sketch[0];
	const struct key_rule *rule = &measurement_options(&bench->run_config.measurements[0])->key;
	struct workload *truth = find_truth(bench, rule, first, loop.taken);

	if (truth == NULL)
		return false;
	*exact = bench_exact_share(sketch, truth);
	workload_destroy(truth);
	return true;
}

static bool run_on_port(struct forward_bench *bench, struct port *port,
	const struct filter_set *filters, struct sample *sample)
{
	struct design_ops design = design_of(loop.entrant);
	struct run *run = run_create(&bench->run_config, &bench->plan, NULL, port, 1, bench->error);
	const struct rte_eth_rxtx_callback *watch = NULL;
	uint64_t lost = 0, first = loop.next;
	double exact = 0;
	bool right;

	if (run == NULL)
		return false;
	right = run_filter(run, filters) && fill_ring(run->pools[0]);
	if (right && loop.pace > 0) {
		watch = rte_eth_add_tx_callback(port->id, 0, before_sending, NULL);
		right = watch != NULL;
	}
	if (right) {
		pipeline_pin(bench->plan.nb_lcores, bench->cpus.ids, bench->cpus.n);
		let_run(run, &design);
		if (run->nb_rx_cores > 0)
			lost = run->rx_cores[0]->generations[0].ring_full[0];
		right = check(bench, run, lost) &&
			(!loop.entrant->paper || find_exact(bench, run, first, &exact));
	}
	/* otherwise a later port with the same id would have the callback */
	if (watch != NULL)
		rte_eth_remove_tx_callback(port->id, 0, watch);
	*sample = (struct sample){
		.ns = (double)loop.cycles * 1e9 / (double)rte_get_tsc_hz() /
		      (double)(loop.timed > 0 ? loop.timed : 1),
		.lost = (double)lost / (double)loop.wanted,
		.interrupted = (double)loop.interrupted / (double)loop.wanted,
		.p50 = loop.pace > 0 ? latency(2) : 0,
		.p99 = loop.pace > 0 ? latency(100) : 0,
		.exact = exact,
	};
	empty_ring(loop.in);
	empty_ring(loop.out);
	run_destroy(run);
	return right;
}

/* `pace`: ns between packets; 0: full speed */
static bool run_entrant(struct forward_bench *bench, const struct entrant *entrant, double pace,
	struct sample *sample)
{
	double cycles_of_us = (double)rte_get_tsc_hz() / 1e6;
	struct filter_set filters = {0};
	char error[SOURCE_ERROR_MAX];
	struct port port;
	bool right;

	loop.entrant = entrant;
	loop.frames = entrant->paper ? bench->paper_frames : bench->frames;
	loop.taken = loop.timed = loop.cycles = loop.interrupted = 0;
	loop.pace = pace * cycles_of_us / 1e3;
	loop.begin = pace > 0 ? loop.wanted : 0;
	loop.now = 0;
	loop.longest = (uint64_t)(cycles_of_us * (pace > 0 ? LONGEST_PACED : LONGEST_US));
	memset(loop.latencies, 0, LATENCY_MAX * sizeof(loop.latencies[0]));
	right = make_plan(bench, entrant) && describe_port(bench, &port) &&
		(entrant->filter == NULL ||
			source_filter(NULL, entrant->filter, &filters, error)) &&
		run_on_port(bench, &port, &filters, sample);
	filter_set_free(&filters);
	if (!right)
		log_error("%s",
			bench->error[0] != '\0' ? bench->error : "out of memory for the ports");
	return right;
}

static void print_row(struct forward_bench *bench, uint32_t round, const char *part,
	const struct sample *sample, double value, const char *unit)
{
	struct figures *figures = &bench->figures;

	figures_cell(figures, "bench", "forward");
	figures_cell(figures, "part", "%s", part);
	figures_cell(figures, "packets", "%" PRIu64, loop.wanted);
	figures_cell(figures, "round", "%u", round);
	figures_cell(figures, "value", strcmp(unit, "ratio") == 0 ? "%.4f" : "%.2f", value);
	figures_cell(figures, "unit", "%s", unit);
	if (design_find(loop.entrant->design)->rx_core)
		figures_cell(figures, "lost", "%.4f", sample->lost);
	figures_cell(figures, "interrupted", "%.4f", sample->interrupted);
	figures_row(figures);
}

/* Also measures forwarding without measuring, both at half of the highest rate of the entrant. */
static bool run_paced(
	struct forward_bench *bench, uint32_t round, const struct entrant *entrant, double ns)
{
	const struct entrant *const turns[] = {&entrants[NOTHING], entrant};
	struct sample sample;
	char part[80];

	for (uint32_t t = 0; t < 2; t++) {
		if (!run_entrant(bench, turns[t], 2 * ns, &sample))
			return false;
		snprintf(part, sizeof(part), "p50, half the rate of %s: %s", entrant->name,
			turns[t]->name);
		print_row(bench, round, part, &sample, sample.p50, "ns");
		memcpy(part, "p99", 3);
		print_row(bench, round, part, &sample, sample.p99, "ns");
	}
	return true;
}

static bool run_round(struct forward_bench *bench, uint32_t round)
{
	struct sample samples[NB_ENTRANTS];
	char part[80];

	for (uint32_t e = 0; e < NB_ENTRANTS; e++) {
		int above = entrants[e].above;
		double value;

		if (!run_entrant(bench, &entrants[e], 0, &samples[e]))
			return false;
		value = samples[e].ns;
		snprintf(part, sizeof(part), "%s", entrants[e].name);
		if (above != (int)e) {
			value -= samples[above].ns;
			snprintf(part, sizeof(part), "%s, above %s", entrants[e].name,
				entrants[above].name);
		}
		print_row(bench, round, part, &samples[e], value, "ns");
		snprintf(part, sizeof(part), "exact flows of %s", entrants[e].name);
		if (entrants[e].paper)
			print_row(bench, round, part, &samples[e], samples[e].exact, "ratio");
	}
	for (uint32_t e = 0; e < NB_ENTRANTS; e++)
		if (entrants[e].paced && !run_paced(bench, round, &entrants[e], samples[e].ns))
			return false;
	return true;
}

static bool run_all(void *arg)
{
	struct forward_bench *bench = arg;

	figures_heading(&bench->figures,
		"%d-byte frames, Zipf 1.05 over 1 M flows or %d: %" PRIu64 " packets per round",
		FRAME, PAPER_FLOWS, loop.wanted);
	for (uint32_t r = 0; r < bench->rounds && !signals_stop_requested(); r++)
		if (!run_round(bench, r))
			return false;
	return true;
}

/* Returns NULL if out of memory. */
static uint8_t *make_frames(uint64_t flows)
{
	struct source *source = setup_source(ZIPF_E6, flows);
	uint8_t *frames = calloc(loop.nb_frames, FRAME);
	struct source_packet packet;

	for (uint64_t i = 0; source != NULL && frames != NULL && i < loop.nb_frames; i++) {
		source->next(source, &packet);
		memcpy(frames + i * FRAME, packet.data,
			packet.captured < FRAME ? packet.captured : FRAME);
	}
	if (source == NULL) {
		free(frames);
		return NULL;
	}
	source->close(source);
	return frames;
}

static bool make_all_frames(struct forward_bench *bench)
{
	loop.nb_frames = loop.wanted > MBUFS ? loop.wanted : MBUFS;
	bench->frames = make_frames(FLOWS);
	bench->paper_frames = make_frames(PAPER_FLOWS);
	return bench->frames != NULL && bench->paper_frames != NULL;
}

static bool make_rings(void)
{
	loop.in = rte_ring_create("forward_in", RING, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	loop.out =
		rte_ring_create("forward_out", RING, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	loop.latencies = calloc(LATENCY_MAX, sizeof(loop.latencies[0]));
	return loop.in != NULL && loop.out != NULL && loop.latencies != NULL;
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
		log_error("needs two CPUs, one to forward and one to count off-path");
		return 1;
	}
	/* the last entrant has the most lcores */
	if (!make_plan(&bench, &entrants[NB_ENTRANTS - 1]) ||
		!eal_start(&bench.plan, &bench.run_config, bench.error)) {
		log_error("%s", bench.error);
		return 1;
	}
	if (make_all_frames(&bench) && make_rings())
		status = figures_write(&bench.figures, columns, config, run_all, &bench);
	else
		log_error("out of memory for the packets");
	free(bench.frames);
	free(bench.paper_frames);
	free(loop.latencies);
	eal_stop();
	return status;
}

static const struct option_row forward_rows[] = {
	BENCH_ROW_PACKETS(4096, "2M", "Set the packets per round."),
	BENCH_ROW_ROUNDS("7"),
	BENCH_ROW_QUICK("Use smaller defaults for a quick test: 3 rounds of 100K packets."),
	{0},
};

const struct option_owner forward_bench_owner = {
	.rows = forward_rows,
	.fills = &bench_owner,
};
