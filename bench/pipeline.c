/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * sketchtap-bench paper: repeats the evaluation of Wu, Li, Ran, Luo, "Network Measurement for
 * 100Gbps Links Using Multicore Processors" (2016). sketchtap-bench pipeline: the same experiments
 * with settings that most hosts can run, and more.
 */

#include "bench/locked.h"
#include "bench/pipeline_ports.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_ring.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/bench.h"
#include "bench/common.h"
#include "bench/modelled.h"
#include "bench/paper_facts.h"
#include "bench/papers.h"
#include "tune/measure/cpus.h"
#include "tune/measure/setup.h"
#include "tune/measure/figures.h"
#include "parallel/run/eal.h"
#include "rx/port/live_ports.h"
#include "parallel/sources/feeder.h"
#include "tune/measure/bench_options.h"
#include "rx/port/port_name.h"

#define ROUNDS             5
#define MILLISECONDS       500
#define QUICK_ROUNDS       1
#define QUICK_MILLISECONDS 50
#define PACKETS            (UINT64_C(4) << 20)
#define QUICK_PACKETS      (UINT64_C(1) << 17)
#define RATE               72000000 /* packets/s of the 100 Gbit/s link in Wu et al. (2016) */
#define FLOWS              1000000
#define ZIPF_E6            1050000
#define MBUFS              16384
#define SIZE               64
#define LOADS_MAX          16
#define SETTINGS_MAX       (LOADS_MAX * 32)
#define PAPER_WORKERS      6
#define LINK_BITS          100e9
#define FRAME_OVERHEAD     24 /* bytes of FCS, preamble and inter-frame gap */
#define CEILING_MS         200

static const struct figures_column columns[] = {
	{.name = "bench"},
	{.name = "experiment"},
	{"design", "", -5, ""},
	{"sharing", "", -8, ""},
	{"sketch", "", -11, ""},
	{"atomic", "", -4, ""},
	{"workers", "wrk", 3, ""},
	{"place", "place", -10, ""},
	{"size", "size", 4, "bytes"},
	{"mbufs", "mbufs", 6, ""},
	{"width", "width", 8, ""},
	{"traffic", "traffic", -9, ""},
	{"flows", "flows", 8, ""},
	{.name = "rounds"},
	{"offered_mpps", "offered", 7, "Mpps"},
	{"measured_mpps", "meas'd", 7, "Mpps"},
	{"drop_rate", "PDR", 6, "ratio"},
	{"drop_rate_min", "min", 6, "ratio"},
	{"drop_rate_max", "max", 6, "ratio"},
	{"paper_drop_rate", "paper's", 7, "ratio"},
	{"rx_ns", "rx", 6, "ns"},
	{"count_ns", "PPT", 7, "ns"},
	{"free_ns", "free", 6, "ns"},
	{"delay_ns", "delay", 7, "ns"},
	{"paper_count_ns", "paper's", 7, "ns"},
	{"note", "", -1, ""},
	MODELLED_COLUMNS,
	{.name = NULL},
};

struct entry {
	struct pipeline_setting setting;
	uint64_t zipf; /* Zipf's exponent times 10^6, or BENCH_ZIPF_RANDOM */
	uint64_t flows;
	const char *place; /* location of the worker; NULL if it is not varied */
	bool across;       /* the worker is not on the NUMA node of the packets */
	struct cpus cpus;
	char missing[96];
	struct pipeline_sample samples[BENCH_ROUNDS_MAX];
};

struct experiment_options {
	/* bit e selects experiments[e]; 0 selects all, or with `paper` all of the paper */
	uint32_t experiments;
};

OPTION_OWNER(experiment)

struct pipeline {
	const struct config *config;
	bool paper;
	const char *name;
	const struct option_values *zipf, *workers;
	uint64_t zipf_at, workers_at;
	struct port_name names[OPTION_LIST_MAX];
	struct machine machine;
	uint32_t rounds, milliseconds;
	uint64_t packets;
	struct cpus cpus;
	struct figures figures;
	struct workload *workload;
	struct entry entries[SETTINGS_MAX];
	uint32_t nb_entries;
};

static bool is_external(const struct pipeline *pipeline)
{
	return port_given(pipeline->config);
}

static struct pipeline_setting usual(const struct pipeline *pipeline, const char *sketch)
{
	return (struct pipeline_setting){
		.design = "rss",
		.subject = {.sketch = sketch_find(sketch), .name = sketch, .threads = 1},
		.workers = (uint32_t)pipeline->workers_at,
		.external = is_external(pipeline),
		.mbufs = is_external(pipeline) ? 0 : MBUFS,
		.size = SIZE,
		.rate = feeder_options(pipeline->config)->pace == PACE_RATE
				? feeder_options(pipeline->config)->pace_rate
				: RATE,
	};
}

static struct entry *add(
	struct pipeline *pipeline, const struct pipeline_setting *setting, uint64_t flows)
{
	struct entry *entry = &pipeline->entries[pipeline->nb_entries];

	if (pipeline->nb_entries + 1 < SETTINGS_MAX)
		pipeline->nb_entries++;
	*entry = (struct entry){.setting = *setting,
		.zipf = pipeline->zipf_at,
		.flows = flows,
		.cpus = pipeline->cpus};
	return entry;
}

/* Returns "" if the paper has no value for the combination. */
static const char *paper_text(const struct pipeline_setting *setting, const char *quantity)
{
	struct paper_cell cell;

	paper_cell_of(&cell, setting->design, plan_sharing_word(setting->subject.sharing),
		setting->subject.sketch->name);
	return paper_cell_value(&cell, quantity);
}

/* Tables 3 and 4 and Figures 12 to 14. */
static void add_combinations(struct pipeline *pipeline)
{
	for (const struct design_ops *const *design = designs; *design != NULL; design++)
		for (uint32_t sharing = 0; sharing < SHARING_COUNT; sharing++)
			for (uint32_t s = 0; sketches[s] != NULL; s++) {
				struct pipeline_setting setting =
					usual(pipeline, sketches[s]->name);

				setting.design = (*design)->name;
				setting.subject.sharing = (enum sketch_sharing)sharing;
				/* the paper measured only combinations that have a PPT */
				if (pipeline->paper && paper_text(&setting, "PPT")[0] == '\0')
					continue;
				add(pipeline, &setting, FLOWS);
			}
}

/* Figure 7. The larger the packets, the fewer fit on the link. */
static void add_sizes(struct pipeline *pipeline)
{
	static const uint32_t sizes[] = {64, 128, 256, 512, 754, 1024, 1514};

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct pipeline_setting setting = usual(pipeline, "simple-hash");
		uint64_t link = (uint64_t)(LINK_BITS / 8 / (sizes[i] + FRAME_OVERHEAD));

		setting.size = sizes[i];
		if (link < setting.rate)
			setting.rate = link;
		add(pipeline, &setting, FLOWS);
	}
}

static void add_mempools(struct pipeline *pipeline)
{
	for (uint32_t mbufs = 4096; mbufs <= 262144; mbufs *= 4) {
		struct pipeline_setting setting = usual(pipeline, "simple-hash");

		setting.mbufs = mbufs;
		add(pipeline, &setting, FLOWS);
	}
}

static const char *const two_designs[] = {"rss", "sync"};

/* Figure 9. Rows with more threads than CPUs are marked. */
static void add_workers(struct pipeline *pipeline)
{
	uint64_t most = choices_largest(pipeline->workers);

	if (!pipeline->paper && most < pipeline->cpus.n)
		most = pipeline->cpus.n < LOAD_GENERATOR_QUEUES_MAX ? pipeline->cpus.n
								    : LOAD_GENERATOR_QUEUES_MAX;
	for (uint32_t d = 0; d < 2; d++)
		for (uint32_t workers = 1; workers <= most; workers += workers < 8 ? 1 : 4) {
			struct pipeline_setting setting = usual(pipeline, "simple-hash");

			setting.design = two_designs[d];
			setting.workers = workers;
			add(pipeline, &setting, FLOWS);
		}
}

/* Returns the CPUs of a node, or those of the other nodes. */
static struct cpus part_of(const struct pipeline *pipeline, int node, bool others)
{
	const struct topology *topology = &pipeline->machine.topology;
	struct cpus part = {0};

	for (uint32_t c = 0; c < pipeline->cpus.n; c++)
		for (uint32_t i = 0; i < topology->nb_cpus; i++)
			if (topology->cpus[i].id == pipeline->cpus.ids[c] &&
				(topology->cpus[i].node != node) == others)
				part.ids[part.n++] = pipeline->cpus.ids[c];
	return part;
}

/* Returns the NUMA node of the packets: the node of the port, or of the first CPU. */
static int home_of(const struct pipeline *pipeline)
{
	const struct topology *topology = &pipeline->machine.topology;

	if (is_external(pipeline))
		return pipeline->machine.ports.ports[0].node;
	for (uint32_t i = 0; i < topology->nb_cpus; i++)
		if (topology->cpus[i].id == pipeline->cpus.ids[0])
			return topology->cpus[i].node;
	return PLAN_NODE_ANY;
}

/* Figure 10. A generator runs on the last polling CPU. */
static void add_placements(struct pipeline *pipeline)
{
	static const char *const places[] = {"same node", "other node"};
	int home = home_of(pipeline);

	for (uint32_t across = 0; across < 2; across++)
		for (uint32_t d = 0; d < 2; d++) {
			struct pipeline_setting setting = usual(pipeline, "simple-hash");
			struct cpus local = part_of(pipeline, home, false);
			struct entry *entry;

			setting.design = two_designs[d];
			entry = add(pipeline, &setting, FLOWS);
			entry->place = places[across];
			entry->across = across;
			entry->cpus = part_of(pipeline, home, across);
			if (home == PLAN_NODE_ANY || entry->cpus.n == 0)
				snprintf(entry->missing, sizeof(entry->missing), "%s",
					home == PLAN_NODE_ANY
						? "not possible: the port is on no NUMA node"
						: "not possible: this host has one NUMA node");
			else if (across && !setting.external) {
				if (entry->cpus.n >= pipeline_threads(&setting))
					entry->cpus.n = pipeline_threads(&setting) - 1;
				entry->cpus.ids[entry->cpus.n++] = local.ids[0];
			}
		}
}

static void add_widths(struct pipeline *pipeline)
{
	static const uint64_t widths[] = {1 << 10, 1 << 18, 1 << 23};

	for (uint32_t d = 0; d < 2; d++)
		for (uint32_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
			struct pipeline_setting setting = usual(pipeline, "simple-hash");

			setting.design = two_designs[d];
			setting.subject.width = widths[i];
			add(pipeline, &setting, FLOWS);
		}
}

static void add_atomics(struct pipeline *pipeline)
{
	static const enum sketch_atomic atomics[] = {ATOMIC_CAS, ATOMIC_ADD, ATOMIC_CAS};

	for (uint32_t s = 0; sketches[s] != NULL; s++)
		for (uint32_t a = 0; sketches[s]->update[SHARING_SHARED] != NULL && a < 3; a++) {
			struct pipeline_setting setting = usual(pipeline, sketches[s]->name);

			setting.subject.sharing = SHARING_SHARED;
			setting.subject.atomic = atomics[a];
			setting.subject.locked = a == 2;
			if (setting.subject.locked)
				setting.subject.sketch = locked_sketch(sketches[s]);
			add(pipeline, &setting, FLOWS);
		}
}

static void add_flows(struct pipeline *pipeline)
{
	static const uint64_t flows[] = {1000, 100000, 1000000, 5000000, 10000000, 20000000};

	for (uint32_t i = 0; i < sizeof(flows) / sizeof(flows[0]); i++) {
		struct pipeline_setting setting = usual(pipeline, "count-min");

		add(pipeline, &setting, flows[i])->zipf =
			0; /* uniform traffic, so that each flow occurs */
	}
}

static const struct experiment {
	const char *name;
	const char *title;
	void (*add)(struct pipeline *pipeline); /* NULL: modelled_run() */
	bool paper;
	bool workers;
	bool traffic; /* varies the traffic, which is not possible with --port */
} experiments[] = {
	{"combinations", "all combinations (Tables 3 and 4, Figures 12 to 14)", add_combinations,
		true, false, false},
	{"size", "packet size (Figure 7)", add_sizes, true, false, true},
	{"mempool", "mempool size (Figure 8)", add_mempools, true, false, false},
	{"workers", "workers (Figure 9)", add_workers, true, true, false},
	{"numa", "NUMA placement (Figure 10)", add_placements, true, false, false},
	{"width", "table size (Figure 11)", add_widths, true, false, false},
	{"model", MODELLED_TITLE, NULL, true, true, true},
	{"atomic", "how a shared sketch is updated", add_atomics, false, false, false},
	{"flows", "number of flows", add_flows, false, false, true},
};

#define EXPERIMENTS (sizeof(experiments) / sizeof(experiments[0]))

/* Adds settings for each traffic and number of workers that the experiment does not vary. */
static void add_all(struct pipeline *pipeline, const struct experiment *experiment)
{
	uint32_t traffics = is_external(pipeline) ? 1 : pipeline->zipf->n;
	uint32_t workers = experiment->workers ? 1 : pipeline->workers->n;

	pipeline->nb_entries = 0;
	for (uint32_t z = 0; z < traffics; z++)
		for (uint32_t w = 0; w < workers; w++) {
			pipeline->zipf_at = pipeline->zipf->values[z];
			pipeline->workers_at = pipeline->workers->values[w];
			experiment->add(pipeline);
		}
}

/* Returns true if all values are defaults, except for the parameters of Tables 3 and 4. */
static bool is_of_paper(const struct entry *entry)
{
	const struct pipeline_setting *setting = &entry->setting;

	return setting->workers == PAPER_WORKERS &&
	       (setting->external || (entry->zipf == BENCH_ZIPF_RANDOM && setting->size == SIZE &&
					     setting->rate == RATE && setting->mbufs == MBUFS)) &&
	       setting->subject.width == 0 && entry->place == NULL &&
	       setting->subject.atomic == ATOMIC_CAS && !setting->subject.locked;
}

/* Keeps the current workload if it is the same. */
static bool load_workload(struct pipeline *pipeline, uint64_t zipf, uint64_t flows)
{
	struct workload_spec spec = {
		.random = zipf == BENCH_ZIPF_RANDOM,
		.zipf_e6 = zipf == BENCH_ZIPF_RANDOM ? 0 : (uint32_t)zipf,
		.flows = flows,
		.packets = pipeline->packets,
		.seed = 1,
	};

	if (pipeline->workload != NULL && pipeline->workload->spec.flows == flows &&
		pipeline->workload->spec.random == spec.random &&
		pipeline->workload->spec.zipf_e6 == spec.zipf_e6)
		return true;
	if (pipeline->workload != NULL)
		workload_destroy(pipeline->workload);
	pipeline->workload = workload_create(&spec, seed_options(pipeline->config)->seed);
	return pipeline->workload != NULL;
}

/* Returns the mbufs with which the generator never overwrites a packet that is still in use. */
static uint32_t mbufs_min(const struct pipeline_setting *setting)
{
	/* Descriptors of the device, rings of async workers, and the bursts that threads hold. */
	return pipeline_queues(setting) * (LOAD_GENERATOR_DESCRIPTORS + 2 * BURST_MAX) +
	       setting->workers * (SETUP_RING_SIZE + 2 * BURST_MAX) + POLL_BURST_MAX;
}

/* Stores the reason if a setting cannot run on this host or with --port. */
static void find_missing(
	struct pipeline *pipeline, const struct experiment *experiment, struct entry *entry)
{
	const struct pipeline_setting *setting = &entry->setting;
	static struct config config;
	static struct plan plan;
	char error[PLAN_TEXT_MAX];

	if (entry->missing[0] != '\0')
		return;
	if (!setting->external && setting->mbufs < mbufs_min(setting))
		snprintf(entry->missing, sizeof(entry->missing),
			"not measured: rings and bursts need %u mbufs", mbufs_min(setting));
	if (setting->external && experiment->traffic)
		snprintf(entry->missing, sizeof(entry->missing),
			"not measured: with --port the sender sets it");
	else if (setting->external) {
		pipeline_ports_config(&config, setting, pipeline->config);
		if (!plan_make(&plan, &config, &pipeline->machine.topology,
			    &pipeline->machine.ports, error))
			snprintf(entry->missing, sizeof(entry->missing), "not measured: %.80s",
				error);
	}
}

/* Returns true if CPU i and the worker are both on the packets' NUMA node, or both not. */
static bool is_beside(const struct pipeline *pipeline, const struct entry *entry, uint32_t i)
{
	bool home = pipeline->machine.topology.cpus[i].node == home_of(pipeline);

	return entry->place == NULL || home == !entry->across;
}

/* Returns a machine with the CPUs of the NUMA nodes that the entry may use. */
static const struct machine *machine_of(const struct pipeline *pipeline, const struct entry *entry)
{
	static struct machine machine;
	uint32_t n = 0;

	machine = pipeline->machine;
	for (uint32_t i = 0; i < pipeline->machine.topology.nb_cpus; i++)
		if (is_beside(pipeline, entry, i))
			machine.topology.cpus[n++] = pipeline->machine.topology.cpus[i];
	machine.topology.nb_cpus = n;
	return &machine;
}

static bool run_entry(struct pipeline *pipeline, struct entry *entry, uint32_t round, char *error)
{
	const struct machine *machine = machine_of(pipeline, entry);
	const struct cpus *cpus = &entry->cpus;

	if (entry->setting.external)
		return pipeline_run_ports(&entry->setting, pipeline->config, machine,
			pipeline->names, cpus->ids, cpus->n, pipeline->milliseconds,
			&entry->samples[round], error);
	if (!load_workload(pipeline, entry->zipf, entry->flows)) {
		snprintf(error, LOAD_GENERATOR_ERROR_MAX, "out of memory for %" PRIu64 " flows",
			entry->flows);
		return false;
	}
	entry->setting.workload = pipeline->workload;
	return pipeline_run(&entry->setting, pipeline->config, &machine->topology, cpus->ids,
		cpus->n, pipeline->milliseconds, &entry->samples[round], error);
}

static bool run_round(struct pipeline *pipeline, uint32_t round, char *error)
{
	for (uint32_t e = 0; e < pipeline->nb_entries; e++) {
		struct entry *entry = &pipeline->entries[e];

		if (entry->missing[0] != '\0')
			continue;
		if (signals_stop_requested())
			return true;
		if (!run_entry(pipeline, entry, round, error))
			return false;
	}
	return true;
}

#define MEDIAN(entry, member, rounds) BENCH_STATS((entry)->samples, member, rounds).median

static void cell_setting(
	struct pipeline *pipeline, const struct entry *entry, const struct experiment *experiment)
{
	const struct pipeline_setting *setting = &entry->setting;
	uint64_t width = setting->subject.width;
	struct figures *figures = &pipeline->figures;
	char traffic[CHOICES_TEXT_MAX];

	figures_cell(figures, "bench", "%s", pipeline->name);
	figures_cell(figures, "experiment", "%s", experiment->title);
	figures_cell(figures, "design", "%s", setting->design);
	figures_cell(figures, "sharing", "%s", plan_sharing_word(setting->subject.sharing));
	figures_cell(figures, "sketch", "%s", setting->subject.sketch->name);
	figures_cell(figures, "atomic", "%s", setup_atomic_name(&setting->subject));
	figures_cell(figures, "workers", "%u", setting->workers);
	if (entry->place != NULL)
		figures_cell(figures, "place", "%s", entry->place);
	if (setting->mbufs > 0)
		figures_cell(figures, "mbufs", "%u", setting->mbufs);
	figures_cell(figures, "width", "%" PRIu64,
		width > 0 ? width : setting->subject.sketch->default_width);
	if (setting->external) {
		const char *device = pipeline->names[0].device;

		figures_cell(figures, "traffic", "%.*s", (int)strcspn(device, ","), device);
		return;
	}
	figures_cell(figures, "size", "%u", setting->size);
	choices_traffic(traffic, entry->zipf);
	figures_cell(figures, "traffic", "%s", traffic);
	if (entry->zipf != BENCH_ZIPF_RANDOM)
		figures_cell(figures, "flows", "%" PRIu64, entry->flows);
}

static void cell_loss(struct figures *figures, const struct entry *entry, uint32_t rounds)
{
	struct bench_stats drops = BENCH_STATS(entry->samples, drop_rate, rounds);

	for (uint32_t r = 0; r < rounds; r++)
		if (entry->samples[r].loss_unknown) {
			figures_note(figures, "the port does not count all losses");
			return;
		}
	figures_cell(figures, "drop_rate", "%.4f", drops.median);
	figures_cell(figures, "drop_rate_min", "%.4f", drops.min);
	figures_cell(figures, "drop_rate_max", "%.4f", drops.max);
}

/* If all packets were rejected, the time of counting stays empty. */
static void cell_times(struct figures *figures, const struct entry *entry, uint32_t rounds)
{
	struct bench_stats rejected = BENCH_STATS(entry->samples, rejected, rounds);

	figures_cell(figures, "rx_ns", "%.2f", MEDIAN(entry, rx_ns, rounds));
	figures_cell(figures, "free_ns", "%.2f", MEDIAN(entry, free_ns, rounds));
	if (rejected.max > 0)
		figures_note(figures, "%.3g %% were not IP packets: not measured",
			rejected.median * 100);
	if (rejected.max >= 1)
		return;
	figures_cell(figures, "count_ns", "%.2f", MEDIAN(entry, count_ns, rounds));
	figures_cell(figures, "delay_ns", "%.2f", MEDIAN(entry, delay_ns, rounds));
}

static void print_entry(struct pipeline *pipeline, const struct entry *entry,
	const struct experiment *experiment, uint32_t rounds)
{
	uint32_t threads = pipeline_threads(&entry->setting);
	struct figures *figures = &pipeline->figures;

	cell_setting(pipeline, entry, experiment);
	if (entry->missing[0] != '\0') {
		figures_cell(figures, "note", "%s", entry->missing);
		figures_row(figures);
		return;
	}
	figures_cell(figures, "rounds", "%u", rounds);
	figures_cell(figures, "offered_mpps", "%.2f", MEDIAN(entry, offered_pps, rounds) / 1e6);
	figures_cell(figures, "measured_mpps", "%.2f", MEDIAN(entry, measured_pps, rounds) / 1e6);
	cell_loss(figures, entry, rounds);
	cell_times(figures, entry, rounds);
	if (is_of_paper(entry)) {
		figures_cell(figures, "paper_drop_rate", "%s", paper_text(&entry->setting, "PDR"));
		figures_cell(figures, "paper_count_ns", "%s", paper_text(&entry->setting, "PPT"));
	}
	if (threads > entry->cpus.n)
		figures_note(figures, "not comparable: %u polling threads share %u CPUs", threads,
			entry->cpus.n);
	figures_row(figures);
}

static bool run_experiment(struct pipeline *pipeline, const struct experiment *experiment)
{
	char error[LOAD_GENERATOR_ERROR_MAX] = "";
	uint32_t rounds = 0;

	add_all(pipeline, experiment);
	for (uint32_t e = 0; e < pipeline->nb_entries; e++)
		find_missing(pipeline, experiment, &pipeline->entries[e]);
	for (; rounds < pipeline->rounds; rounds++) {
		if (!run_round(pipeline, rounds, error)) {
			if (signals_stop_requested())
				return true;
			log_error("%s", error);
			return false;
		}
		if (signals_stop_requested())
			break;
	}
	if (rounds == 0)
		return true;
	figures_heading(&pipeline->figures, "%s: %u rounds of %u ms", experiment->title, rounds,
		pipeline->milliseconds);
	for (uint32_t e = 0; e < pipeline->nb_entries; e++)
		print_entry(pipeline, &pipeline->entries[e], experiment, rounds);
	return true;
}

struct ring_drain {
	struct rte_ring *ring;
	_Atomic bool ended;
};

/* Drops packets of the ring until the generator has ended. */
static void *run_ring_drain(void *arg)
{
	struct ring_drain *drain = arg;
	void *burst[BURST_MAX];

	while (!atomic_load_explicit(&drain->ended, memory_order_relaxed))
		rte_ring_dequeue_burst(drain->ring, burst, BURST_MAX, NULL);
	return NULL;
}

/*
 * Returns the packets/s of the generator if a thread on CPU `cpu` only takes packets from the ring.
 */
static double measure_ceiling(struct load_generator *generator, uint32_t cpu)
{
	struct ring_drain drain = {.ring = load_generator_ring(generator, 0)};
	struct load_generator_counts counts;
	pthread_t thread;
	bool done;

	if (!cpus_start(cpu, run_ring_drain, &drain, &thread))
		return 0;
	done = load_generator_run(generator, CEILING_MS, &counts);
	atomic_store_explicit(&drain.ended, true, memory_order_relaxed);
	pthread_join(thread, NULL);
	return done ? (double)counts.taken / counts.seconds : 0;
}

static bool print_ceiling(struct pipeline *pipeline)
{
	struct load_generator_params params = {
		.nb_queues = 1,
		.mbufs = MBUFS,
		.size = SIZE,
		.cpu = pipeline->cpus.ids[pipeline->cpus.n - 1],
	};
	char error[LOAD_GENERATOR_ERROR_MAX];
	struct load_generator *generator;
	double ceiling;

	if (!load_workload(pipeline, ZIPF_E6, FLOWS)) {
		log_error("out of memory for the packets of the generator");
		return false;
	}
	params.workload = pipeline->workload;
	generator = load_generator_create(&params, error);
	if (generator == NULL) {
		log_error("%s", error);
		return false;
	}
	ceiling = measure_ceiling(generator, pipeline->cpus.ids[0]);
	rte_eth_dev_close(load_generator_port(generator));
	load_generator_destroy(generator);
	figures_heading(&pipeline->figures, "the generator only");
	figures_cell(&pipeline->figures, "bench", "%s", pipeline->name);
	figures_cell(&pipeline->figures, "experiment", "generator");
	figures_cell(&pipeline->figures, "size", "%u", SIZE);
	figures_cell(&pipeline->figures, "mbufs", "%u", MBUFS);
	figures_cell(&pipeline->figures, "flows", "%u", FLOWS);
	figures_cell(&pipeline->figures, "offered_mpps", "%.2f", ceiling / 1e6);
	figures_cell(&pipeline->figures, "note",
		pipeline->cpus.n < 2 ? "not comparable: one CPU" : "highest rate, one queue");
	figures_row(&pipeline->figures);
	return true;
}

static bool run_modelled(struct pipeline *pipeline)
{
	if (is_external(pipeline)) {
		figures_cell(&pipeline->figures, "bench", "%s", pipeline->name);
		figures_cell(&pipeline->figures, "experiment", "%s", MODELLED_TITLE);
		figures_cell(&pipeline->figures, "note",
			"not measured: with --port the sender sets the rate");
		figures_row(&pipeline->figures);
		return true;
	}
	for (uint32_t z = 0; z < pipeline->zipf->n; z++) {
		char error[LOAD_GENERATOR_ERROR_MAX] = "out of memory for the packets",
		     traffic[CHOICES_TEXT_MAX];
		struct modelled_params params = {
			.config = pipeline->config,
			.topology = &pipeline->machine.topology,
			.cpus = &pipeline->cpus,
			.traffic = traffic,
			.of_paper = pipeline->zipf->values[z] == BENCH_ZIPF_RANDOM,
			.rounds = pipeline->rounds,
			.milliseconds = pipeline->milliseconds,
			.bench = pipeline->name,
		};
		bool right = load_workload(pipeline, pipeline->zipf->values[z], FLOWS);

		choices_traffic(traffic, pipeline->zipf->values[z]);
		params.workload = pipeline->workload;
		if (!right || !modelled_run(&params, &pipeline->figures, error)) {
			log_error("%s", error);
			return false;
		}
	}
	return true;
}

static bool run_any(struct pipeline *pipeline, const struct experiment *experiment)
{
	return experiment->add == NULL ? run_modelled(pipeline)
				       : run_experiment(pipeline, experiment);
}

static bool run_all(void *arg)
{
	struct pipeline *pipeline = arg;
	uint32_t chosen = experiment_options(pipeline->config)->experiments;

	if (!is_external(pipeline) && !print_ceiling(pipeline))
		return false;
	for (uint32_t e = 0; e < EXPERIMENTS && !signals_stop_requested(); e++)
		if ((chosen == 0 && pipeline->paper ? experiments[e].paper
						    : choices_has(chosen, e)) &&
			!run_any(pipeline, &experiments[e]))
			return false;
	return true;
}

/* DPDK heap for the largest packet pool of an experiment, and those of the run */
#define HEAP_MEGABYTES 1024

/* The CPUs are those allowed by --lcores. */
static bool read_host(struct pipeline *pipeline, struct config *config)
{
	char error[MACHINE_ERROR_MAX];

	_Static_assert(MACHINE_ERROR_MAX >= PORT_DEVICE_MAX, "either error fits");
	if (live_ports_resolve(pipeline->names, config, error) &&
		machine_read(&pipeline->machine, config, pipeline->names, error))
		return true;
	log_error("%s", error);
	return false;
}

static int run_bench(struct config *config, bool paper)
{
	static const struct option_values random_and_zipf = {2, {BENCH_ZIPF_RANDOM, ZIPF_E6}};
	static const struct option_values zipf = {1, {ZIPF_E6}};
	static const struct option_values one_and_six = {2, {1, PAPER_WORKERS}}, one = {1, {1}};
	static struct pipeline pipeline;
	static struct config resolved;
	const struct bench_options *bench = bench_options(config);
	uint32_t most;
	int status;

	resolved = *config;
	pipeline.config = &resolved;
	pipeline.paper = paper;
	pipeline.name = config->command->name;
	pipeline.zipf = choices_of(&bench->zipf, paper ? &random_and_zipf : &zipf);
	pipeline.workers = choices_of(&bench->workers, paper ? &one_and_six : &one);
	pipeline.rounds = (uint32_t)bench_number(bench, bench->rounds, ROUNDS, QUICK_ROUNDS);
	pipeline.milliseconds = (uint32_t)bench_number(
		bench, bench->duration / 1000000, MILLISECONDS, QUICK_MILLISECONDS);
	pipeline.packets = bench->quick ? QUICK_PACKETS : PACKETS;
	if (!read_host(&pipeline, &resolved))
		return 1;
	cpus_init(&pipeline.cpus, &pipeline.machine.topology);
	most = (uint32_t)choices_largest(pipeline.workers);
	if (most < pipeline.cpus.n)
		most = pipeline.cpus.n < LOAD_GENERATOR_QUEUES_MAX ? pipeline.cpus.n
								   : LOAD_GENERATOR_QUEUES_MAX;
	/* one for lcore 0, one for the receiver, and the workers */
	if (!setup_eal(
		    config, &pipeline.machine.topology, &pipeline.cpus, 2 + most, HEAP_MEGABYTES))
		return 1;
	status = figures_write(&pipeline.figures, columns, config, run_all, &pipeline);
	if (pipeline.workload != NULL)
		workload_destroy(pipeline.workload);
	eal_stop();
	return status;
}

int bench_pipeline(struct config *config)
{
	return run_bench(config, false);
}

int bench_paper(struct config *config)
{
	return papers_options(config)->directory != NULL ? papers_run(config)
							 : run_bench(config, true);
}

static const char *experiment_word(uint32_t i)
{
	return i < sizeof(experiments) / sizeof(experiments[0]) ? experiments[i].name : NULL;
}

static const struct option_row experiment_rows[] = {
	{
		.name = "experiment",
		.placeholder = "WHAT,...",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_WORDS,
		.word = experiment_word,
		OPTION_FIELD(experiment_options, experiments),
		.default_note = "all; for paper: those of the paper",
		.help = "Select what to vary: combinations (of design, sharing and sketch), size "
			"(of packets), mempool, workers, numa (node of the worker), width, model "
			"(of six workers), atomic, flows.",
	},
	{0},
};

const struct option_owner experiment_owner = {
	.rows = experiment_rows,
	.size = sizeof(struct experiment_options),
};

static const char *inapplicable_with_port(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return !port_given(config) ? NULL : "with --port: the sender sets it";
}

#define LOAD_ROWS(traffics, threads)                                                               \
	BENCH_ROW_DURATION("500ms", "Set the duration of each setting per round."),                \
		BENCH_ROW_ROUNDS("5"), BENCH_ROW_ZIPF(inapplicable_with_port, traffics),           \
		{                                                                                  \
			.name = "workers",                                                         \
			.placeholder = "N,...",                                                    \
			.group = OPTION_GROUP_TRY,                                                 \
			.type = OPTION_COUNTS,                                                     \
			OPTION_FIELD(bench_options, workers),                                      \
			.min = 1,                                                                  \
			.max = LOAD_GENERATOR_QUEUES_MAX,                                          \
			.default_note = (threads),                                                 \
			.help = "Set the number of counting cores. Rows are marked if there "      \
				"are fewer CPUs than workers, receiver and generator.",            \
		},                                                                                 \
		BENCH_ROW_QUICK("Use one round of 50ms each for a quick test. The figures "        \
				"are not accurate.")

static bool check_loads(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct bench_options *bench = bench_options(config);
	uint32_t traffics = bench->zipf.n > 0 ? bench->zipf.n : 2;

	return bench->workers.n * traffics <= LOADS_MAX ||
	       option_fault(fault, "workers", measurement,
		       "%u numbers of workers with %u values of --zipf: more than %u "
		       "combinations",
		       bench->workers.n, traffics, LOADS_MAX);
}

static const struct option_row pipeline_rows[] = {LOAD_ROWS("1.05", "1"), {0}};
static const struct option_row paper_rows[] = {LOAD_ROWS("random,1.05", "1,6"), {0}};

const struct option_owner pipeline_owner = {
	.rows = pipeline_rows,
	.fills = &bench_owner,
	.check = check_loads,
};

const struct option_owner paper_owner = {
	.rows = paper_rows,
	.fills = &bench_owner,
	.check = check_loads,
};

static bool check_pace(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	return feeder_options(config)->pace != PACE_RECORDED ||
	       option_fault(fault, "pace", measurement,
		       "recorded: only for captures; use a rate such as 72Mpps");
}

static const struct option_row pace_rows[] = {
	{
		.name = "pace",
		.placeholder = "RATE",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_OWN,
		.inapplicable = inapplicable_with_port,
		.read = feeder_read_pace,
		OPTION_FIELD(feeder_options, pace),
		.default_note = "72Mpps",
		.help = "Set the rate that the generator offers. Packets are lost if a ring is "
			"full.",
	},
	{0},
};

const struct option_owner pipeline_pace_owner = {
	.rows = pace_rows,
	.fills = &feeder_owner,
	.check = check_pace,
};

static const struct option_row port_rows[] = {
	{
		.name = "port",
		.placeholder = "NAME[,DEVARGS]",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_LIST,
		OPTION_FIELD(port_options, names),
		.default_note = "the built-in generator",
		.help = "Measure packets that an external sender sends to a port; NAME as for "
			"sketchtap run. The sender sets size and flows.",
	},
	{0},
};

const struct option_owner pipeline_port_owner = {
	.rows = port_rows,
	.fills = &port_owner,
	.check = port_check_names,
};
