/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * sketchtap-bench flow-table --hosts: repeats Tables 2 and 3 of Zha et al., "Towards Software
 * Defined Measurement in Data Centers" (2022). Their FCAP is compact-table or flow-table here, and
 * their SMON is iblt, either on the receiving core (rss) or after a ring (async).
 *
 * Their traffic is a CAIDA trace of 2012 at 160 and 80 kpps, with intervals of 0.5 s. Here, packets
 * are drawn from 1 M flows to 14 000 hosts with Zipf exponent 1.05. With these numbers, the
 * monitored hosts have as many flows per interval as in the tables.
 */

#include "bench/hosts.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/bench_rounds.h"
#include "tune/measure/cpus.h"
#include "tune/measure/pipeline.h"
#include "tune/measure/setup.h"
#include "tune/measure/figures.h"
#include "parallel/run/eal.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/node_memory.h"
#include "rx/generate/zipf.h"
#include "rx/filter/prefix_file.h"
#include "base/random.h"
#include "bench/common.h"
#include "bench/flow_table_options.h"
#include "bench/paper_facts.h"
#include "tune/measure/bench_options.h"

#define ROUNDS             3
#define MILLISECONDS       300
#define QUICK_ROUNDS       1
#define QUICK_MILLISECONDS 50
#define MBUFS              16384
#define SIZE               64
#define FLOWS              (UINT64_C(1) << 20)
#define HOSTS              14000
#define ZIPF_E6            1050000
#define INTERVAL           0.5 /* s */
#define KPPS_HIGH          160
#define KPPS_LOW           80
#define KB                 1024.0 /* bytes: 0.387 MB in Table 2 are 396 KB in Table 1 */
#define MBUF_CACHE         256
#define HEAP_MEGABYTES     512
#define WIDTH_MIN          16
#define IBLT_LOAD          0.75 /* flows per cell at which all flows can be decoded */
#define FIRST_HOST         0x0a000001

static const struct figures_column columns[] = {
	{.name = "bench"},
	{"hosts", "hosts", 5, ""},
	{"kpps", "kpps", 4, ""},
	{"flows", "flows", 7, ""},
	{"paper_flows", "paper's", 7, ""},
	{"packets", "packets", 7, ""},
	{"structure", "", -4, ""},
	{"sketch", "", -10, ""},
	{"design", "", -6, ""},
	{"width", "width", 8, ""},
	{"bytes", "bytes", 10, ""},
	{"ring_bytes", "ring", 7, "bytes"},
	{.name = "ring_bytes_lossless"},
	{"off_path_bytes", "sum", 8, "bytes"},
	{.name = "run_bytes"}, /* all copies and the ring of a run */
	{"paper_bytes", "paper's", 8, "bytes"},
	{"exact", "exact", 6, "ratio"},
	{.name = "rounds"},
	{"table_ns", "table", 7, "ns"},
	{"count_ns", "count", 7, "ns"},
	{"count_ns_min", "min", 7, "ns"},
	{"count_ns_max", "max", 7, "ns"},
	{"delay_ns", "delay", 7, "ns"},
	{"ring_ns", "ring", 7, "ns"},
	{"measured_mpps", "Mpps", 6, ""},
	{"paper_ns", "paper's", 7, "ns"},
	{"note", "", -1, ""},
	{.name = NULL},
};

static const struct structure {
	const char *name, *sketch; /* names of the paper and here */
	bool smon;
} structures[] = {
	{"FCAP", "compact-table", false},
	{"FCAP", "flow-table", false},
	{"SMON", "iblt", true},
};

static const char *const used_designs[] = {"rss", "async"};

#define ENTRIES (RTE_DIM(structures) * RTE_DIM(used_designs))

struct entry {
	const struct structure *structure;
	double table_ns; /* ns per packet of the sketch only, without a worker */
	struct pipeline_setting setting;
	struct pipeline_sample samples[BENCH_ROUNDS_MAX];
};

struct hosts {
	const struct config *config;
	struct config run;
	uint32_t rounds, milliseconds;
	struct topology topology;
	struct cpus cpus;
	struct figures figures;
	struct entry entries[ENTRIES];
};

/* Packets of an interval. */
static uint64_t packets_of(uint32_t kpps)
{
	return (uint64_t)(kpps * 1000 * INTERVAL);
}

static uint32_t host_of(uint64_t flow, uint64_t seed)
{
	return (uint32_t)(random_mix(flow + seed) % HOSTS);
}

static void make_key(struct key4 *key, uint64_t flow, uint64_t seed)
{
	uint64_t random = random_mix(~flow);
	uint32_t dst = htobe32(FIRST_HOST + host_of(flow, seed));

	*key = (struct key4){.proto = 6};
	memcpy(key->src_ip, &random, sizeof(key->src_ip));
	memcpy(key->dst_ip, &dst, sizeof(dst));
	memcpy(key->src_port, (const char *)&random + 4, sizeof(key->src_port));
	key->dst_port[1] = 80;
}

/* Hosts from 0 to HOSTS - 1 receive the flows. */
static bool draw_keys(const struct workload_spec *spec, struct key4 *keys)
{
	struct zipf zipf;

	if (zipf_init(&zipf, spec->flows, spec->zipf_e6) != 0)
		return false;
	for (uint64_t i = 0; i < spec->packets; i++)
		make_key(&keys[i], zipf_rank(&zipf, zipf_draw(&zipf, random_mix(spec->seed + i))),
			spec->seed);
	zipf_fini(&zipf);
	return true;
}

static bool is_monitored(const struct key4 *key, uint32_t nb_hosts)
{
	uint32_t dst;

	memcpy(&dst, key->dst_ip, sizeof(dst));
	return be32toh(dst) - FIRST_HOST < nb_hosts;
}

/* Returns the packets to monitored hosts. Returns NULL if out of memory. */
static struct workload *select_monitored(
	const struct workload *all, uint32_t nb_hosts, uint64_t hash_seed)
{
	struct workload *some = workload_allocate(all->spec.packets, hash_seed);
	uint64_t n = 0;

	if (some == NULL)
		return NULL;
	for (uint64_t i = 0; i < all->spec.packets; i++)
		if (is_monitored(&all->keys[i], nb_hosts))
			some->keys[n++] = all->keys[i];
	some->spec = all->spec;
	some->spec.packets = n;
	workload_find_truth(some);
	return some;
}

static struct prefix_list *make_rules(uint32_t hosts)
{
	struct prefix_list *rules = calloc(1, sizeof(*rules) + hosts * sizeof(rules->rules[0]));

	if (rules == NULL)
		return NULL;
	rules->n = hosts;
	for (uint32_t h = 0; h < hosts; h++) {
		struct prefix_entry *rule = &rules->rules[h];
		uint32_t address = htobe32(FIRST_HOST + h);

		rule->length = 32;
		rule->parent = PREFIX_NO_ENTRY;
		memcpy(rule->bits, &address, sizeof(address));
		snprintf(rule->prefix, sizeof(rule->prefix), "%u.%u.%u.%u/32", rule->bits[0],
			rule->bits[1], rule->bits[2], rule->bits[3]);
		snprintf(rule->name, sizeof(rule->name), "host%u", h);
	}
	return rules;
}

/* Completes params. Returns false if the sketch does not support them. */
static bool params_of(const struct bench_subject *subject, struct sketch_params *params)
{
	params->width = subject->width;
	params->width6 = subject->width6;
	params->load = subject->load;
	params->width_max = FLOWS;
	return subject->sketch->check(params) == NULL;
}

/* Returns a sketch that has counted the packets, or NULL if out of memory. */
static struct sketch *counted(
	const struct bench_subject *subject, const struct workload *workload, uint64_t seed)
{
	struct sketch_params params = {
		.seed = seed, .allocator = node_memory_on_node(PLAN_NODE_ANY)};
	struct sketch *sketch =
		params_of(subject, &params) ? subject->sketch->create(&params) : NULL;
	struct key_burst burst;

	if (sketch == NULL)
		return NULL;
	workload_burst_init(&burst);
	for (uint64_t b = 0; b < workload_bursts(workload); b++) {
		workload_load(workload, b, &burst);
		hash_burst(&workload->hash_key, &burst);
		sketch->ops->update[SHARING_SEPARATE](sketch, &burst);
	}
	return sketch;
}

/* Selects the number of records or buckets, or the cells per row that a run would choose. */
static bool fit_subject(
	struct bench_subject *subject, const struct workload *workload, uint64_t seed)
{
	struct sketch_shape shape;
	struct sketch *sketch;

	subject->width = workload->distinct > WIDTH_MIN ? workload->distinct : WIDTH_MIN;
	if (subject->load <= 0)
		return true;
	sketch = counted(subject, workload, seed);
	if (sketch == NULL)
		return false;
	sketch->ops->candidates(sketch, NULL, NULL);
	shape = sketch->ops->fit(sketch);
	sketch->ops->destroy(sketch);
	subject->width = shape.width;
	subject->width6 = shape.width6;
	return true;
}

/* Returns the share of flows reported with their exact count; -1: out of memory. */
static double exact_share(const struct entry *entry, const struct workload *workload, uint64_t seed)
{
	struct sketch *sketch = counted(&entry->setting.subject, workload, seed);

	double exact;

	if (sketch == NULL)
		return -1;
	exact = bench_exact_share(sketch, workload);
	sketch->ops->destroy(sketch);
	return exact;
}

static bool measure_tables(struct hosts *hosts, const struct workload *workload)
{
	const struct bench_rounds setup = {
		.workload = workload, .seed = seed_options(hosts->config)->seed};
	static struct bench_rounds_result results[ENTRIES];
	struct bench_subject subjects[ENTRIES];
	char error[BENCH_PASS_ERROR_MAX];
	uint32_t rounds;

	for (uint32_t e = 0; e < ENTRIES; e++) {
		subjects[e] = hosts->entries[e].setting.subject;
		subjects[e].ops = &bench_subject_sketch;
	}
	if (!bench_rounds_run(&setup, &hosts->cpus, subjects, ENTRIES, hosts->rounds, results,
		    &rounds, error)) {
		log_error("%s", error);
		return false;
	}
	for (uint32_t e = 0; e < ENTRIES && rounds > 0; e++)
		hosts->entries[e].table_ns = bench_stats_of(results[e].ready_ns, rounds).median;
	return true;
}

/* Returns the ns per packet that the ring adds: the time of async less that of rss. */
static double ring_ns(const struct entry *behind, const struct entry *inline_, uint32_t rounds)
{
	double with[BENCH_ROUNDS_MAX], without[BENCH_ROUNDS_MAX];

	for (uint32_t r = 0; r < rounds; r++) {
		with[r] = behind->samples[r].delay_ns;
		without[r] = inline_->samples[r].delay_ns;
	}
	return bench_stats_difference(with, without, rounds).median;
}

/* Returns a figure of Zha et al. (2022), Tables 2 and 3, or 0. structure: "" or its name there. */
static double paper_of_hosts(
	uint32_t nb_hosts, uint32_t kpps, const char *structure, const char *quantity)
{
	char setting[FIGURES_CELL_MAX];

	snprintf(setting, sizeof(setting), "%u Kpps; %u hosts%s%s", kpps, nb_hosts,
		structure[0] != '\0' ? "; " : "", structure);
	return strtod(paper_value(PAPER_ZHA, kpps == KPPS_HIGH ? "Table 2" : "Table 3", setting,
			      quantity),
		NULL);
}

/* Writes the figure of a structure in Table 1. */
static void cell_table1(struct figures *figures, const char *column, const struct entry *entry,
	bool ring, const char *quantity, double times)
{
	char setting[FIGURES_CELL_MAX];

	snprintf(setting, sizeof(setting), "%s-path %s", ring ? "off" : "on",
		entry->structure->name);
	figures_cell(figures, column, "%.0f",
		paper_number(PAPER_ZHA, "Table 1", setting, quantity) * times);
}

static bool is_of_table1(uint32_t nb_hosts, uint32_t kpps)
{
	return nb_hosts == paper_number(PAPER_ZHA, "Sec. 4.1", "Table 1", "monitored hosts") &&
	       kpps == paper_number(PAPER_ZHA, "Sec. 4.1", "Table 1", "packet rate");
}

/* The ring of the paper holds the packets of an interval, so that none is lost. */
static void cell_ring(
	struct figures *figures, const struct key_rule *key, uint32_t kpps, size_t bytes)
{
	size_t lossless = packets_of(kpps) * plan_digest_bytes(key->fields, false);

	figures_cell(figures, "ring_bytes", "%zu", plan_digest_ring_bytes(DIGEST_RING_DEFAULT));
	figures_cell(figures, "ring_bytes_lossless", "%zu", lossless);
	figures_cell(figures, "off_path_bytes", "%zu", bytes + lossless);
}

/* Copies of a table in a run with one worker, the last while a table changes its size. */
static size_t copies_of(const struct sketch_ops *sketch)
{
	return PLAN_GENERATIONS + (sketch->first_width > 0);
}

static void cell_memory(
	struct hosts *hosts, const struct entry *entry, uint32_t nb_hosts, uint32_t kpps, bool ring)
{
	const struct bench_subject *subject = &entry->setting.subject;
	struct sketch_params shape = {0};
	struct figures *figures = &hosts->figures;
	size_t bytes;

	params_of(subject, &shape);
	bytes = subject->sketch->memory(&shape);
	figures_cell(figures, "bytes", "%zu", bytes);
	figures_cell(figures, "run_bytes", "%zu",
		copies_of(subject->sketch) * bytes +
			(ring ? plan_digest_ring_bytes(DIGEST_RING_DEFAULT) : 0));
	if (ring) {
		char structure[PAPER_FIELD_MAX];
		double mb;

		cell_ring(figures, entry->setting.key, kpps, bytes);
		snprintf(structure, sizeof(structure), "off-path %s", entry->structure->name);
		mb = paper_of_hosts(nb_hosts, kpps, structure, "memory");
		if (mb > 0)
			figures_cell(figures, "paper_bytes", "%.0f", mb * KB * KB);
	} else if (is_of_table1(nb_hosts, kpps)) {
		cell_table1(figures, "paper_bytes", entry, false, "kernel memory", KB);
	}
}

static void print_entry(struct hosts *hosts, uint32_t e, uint32_t nb_hosts, uint32_t kpps,
	const struct workload *monitored, uint32_t rounds)
{
	const struct entry *entry = &hosts->entries[e];
	const struct bench_subject *subject = &entry->setting.subject;
	double paper_flows = paper_of_hosts(nb_hosts, kpps, "", "monitored flows");
	struct bench_stats count = BENCH_STATS(entry->samples, count_ns, rounds);
	uint32_t threads = pipeline_threads(&entry->setting);
	bool ring = strcmp(entry->setting.design, "async") == 0;
	/* The packets of exact_share() pass no ring; sketchtap-bench forward has those that do. */
	double exact = ring ? -1 : exact_share(entry, monitored, seed_options(hosts->config)->seed);
	struct figures *figures = &hosts->figures;

	figures_cell(figures, "bench", "flow-table hosts");
	figures_cell(figures, "hosts", "%u", nb_hosts);
	figures_cell(figures, "kpps", "%u", kpps);
	figures_cell(figures, "flows", "%" PRIu64, monitored->distinct);
	if (paper_flows > 0)
		figures_cell(figures, "paper_flows", "%.0f", paper_flows);
	figures_cell(figures, "packets", "%" PRIu64, monitored->spec.packets);
	figures_cell(figures, "structure", "%s", entry->structure->name);
	figures_cell(figures, "sketch", "%s", subject->sketch->name);
	figures_cell(figures, "design", "%s", entry->setting.design);
	figures_cell(figures, "width", "%" PRIu64, subject->width);
	cell_memory(hosts, entry, nb_hosts, kpps, ring);
	if (exact >= 0)
		figures_cell(figures, "exact", "%.4f", exact);
	figures_cell(figures, "rounds", "%u", rounds);
	figures_cell(figures, "table_ns", "%.2f", entry->table_ns);
	figures_cell(figures, "count_ns", "%.2f", count.median);
	figures_cell(figures, "count_ns_min", "%.2f", count.min);
	figures_cell(figures, "count_ns_max", "%.2f", count.max);
	figures_cell(
		figures, "delay_ns", "%.2f", BENCH_STATS(entry->samples, delay_ns, rounds).median);
	if (ring)
		figures_cell(figures, "ring_ns", "%.2f", ring_ns(entry, entry - 1, rounds));
	figures_cell(figures, "measured_mpps", "%.2f",
		BENCH_STATS(entry->samples, measured_pps, rounds).median / 1e6);
	cell_table1(figures, "paper_ns", entry, ring, "forwarding latency added", 1);
	if (threads > hosts->cpus.n)
		figures_cell(figures, "note", "not comparable: %u polling threads share %u CPUs",
			threads, hosts->cpus.n);
	figures_row(figures);
}

/* Returns false if out of memory. */
static bool add_entries(
	struct hosts *hosts, const struct workload *workload, const struct prefix_list *rules)
{
	uint64_t seed = seed_options(hosts->config)->seed;
	uint32_t n = 0;

	for (uint32_t s = 0; s < RTE_DIM(structures); s++)
		for (uint32_t d = 0; d < RTE_DIM(used_designs); d++)
			hosts->entries[n++] = (struct entry){
				.structure = &structures[s],
				.setting =
					{
						.design = used_designs[d],
						.subject = {.name = structures[s].sketch,
							.sketch = sketch_find(structures[s].sketch),
							.load = structures[s].smon ? IBLT_LOAD : 0,
							.threads = 1},
						.workers = 1,
						.mbufs = MBUFS,
						.size = SIZE,
						.workload = workload,
						.key = key_rule_find(
							structures[s].smon ? "5tuple" : "6tuple"),
						.rules = rules,
					},
			};
	for (uint32_t e = 0; e < n; e++)
		if (!fit_subject(&hosts->entries[e].setting.subject, workload, seed))
			return false;
	return true;
}

static bool run_rounds(struct hosts *hosts, uint32_t *rounds)
{
	char error[LOAD_GENERATOR_ERROR_MAX];

	for (*rounds = 0; *rounds < hosts->rounds; ++*rounds)
		for (uint32_t e = 0; e < ENTRIES; e++) {
			struct entry *entry = &hosts->entries[e];

			if (signals_stop_requested())
				return true;
			if (!pipeline_run(&entry->setting, &hosts->run, &hosts->topology,
				    hosts->cpus.ids, hosts->cpus.n, hosts->milliseconds,
				    &entry->samples[*rounds], error)) {
				if (signals_stop_requested())
					return true;
				log_error("%s", error);
				return false;
			}
		}
	return true;
}

static bool run_hosts(struct hosts *hosts, uint32_t nb_hosts, uint32_t kpps)
{
	const uint64_t seed = seed_options(hosts->config)->seed;
	const struct workload_spec spec = {
		.flows = FLOWS,
		.zipf_e6 = ZIPF_E6,
		.packets = packets_of(kpps),
		.seed = seed,
	};
	struct workload *all = workload_create_from(&spec, draw_keys, seed);
	struct workload *monitored = all != NULL ? select_monitored(all, nb_hosts, seed) : NULL;
	struct prefix_list *rules = make_rules(nb_hosts);
	bool right = monitored != NULL && rules != NULL;
	uint32_t rounds = 0;

	if (right && add_entries(hosts, monitored, rules)) {
		right = measure_tables(hosts, monitored) && run_rounds(hosts, &rounds);
	} else {
		log_error("out of memory for %u hosts", nb_hosts);
		right = false;
	}
	if (right && rounds > 0) {
		figures_heading(&hosts->figures,
			"%u monitored hosts at %u kpps: %" PRIu64
			" flows in %g s; %u rounds of %u ms",
			nb_hosts, kpps, monitored->distinct, INTERVAL, rounds, hosts->milliseconds);
		for (uint32_t e = 0; e < ENTRIES; e++)
			print_entry(hosts, e, nb_hosts, kpps, monitored, rounds);
	}
	if (all != NULL)
		workload_destroy(all);
	if (monitored != NULL)
		workload_destroy(monitored);
	if (rules != NULL)
		prefix_rules_free(rules);
	return right;
}

static bool run_all(void *arg)
{
	struct hosts *hosts = arg;
	static const uint32_t rates[] = {KPPS_HIGH, KPPS_LOW};
	const struct option_values *numbers = &flow_table_bench_options(hosts->config)->hosts;
	bool right = true;

	for (size_t k = 0; k < RTE_DIM(rates); k++)
		for (uint32_t i = 0; i < numbers->n && right && !signals_stop_requested(); i++)
			right = run_hosts(hosts, (uint32_t)numbers->values[i], rates[k]);
	return right;
}

int bench_hosts(struct config *config)
{
	static struct hosts hosts;
	const struct bench_options *bench = bench_options(config);
	int status = 1;

	hosts.config = config;
	hosts.run = *config;
	edit_plan_options(&hosts.run)->mbuf_cache = MBUF_CACHE;
	hosts.rounds = (uint32_t)bench_number(bench, bench->rounds, ROUNDS, QUICK_ROUNDS);
	hosts.milliseconds = (uint32_t)bench_number(
		bench, bench->duration / 1000000, MILLISECONDS, QUICK_MILLISECONDS);
	if (!setup_topology(&hosts.topology, config))
		return 1;
	cpus_init(&hosts.cpus, &hosts.topology);
	/* one for lcore 0, one for the receiver and one for the worker */
	if (setup_eal(config, &hosts.topology, &hosts.cpus, 3, HEAP_MEGABYTES)) {
		status = figures_write(&hosts.figures, columns, config, run_all, &hosts);
		eal_stop();
	}
	return status;
}
