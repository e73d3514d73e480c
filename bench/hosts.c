/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * sketchtap-bench flow-table --hosts: repeats the evaluation of Zha et al., "Towards Software
 * Defined Measurement in Data Centers" (2022). Their FCAP is flow-table here, and their SMON is
 * iblt, either on the receiving core (rss) or after a ring (async).
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
#include "parallel/workers/node_memory.h"
#include "rx/filter/prefix_file.h"
#include "base/random.h"
#include "bench/common.h"
#include "bench/flow_table_options.h"
#include "tune/measure/bench_options.h"

#define ROUNDS             3
#define MILLISECONDS       300
#define QUICK_ROUNDS       1
#define QUICK_MILLISECONDS 50
#define PACKETS            (UINT64_C(1) << 20)
#define MBUFS              16384
#define SIZE               64
#define FLOWS_PER_HOST     64
#define MBUF_CACHE         256
#define HEAP_MEGABYTES     512
#define IBLT_ROWS          3
#define IBLT_LOAD          0.7 /* flows per cell at which all flows can be decoded */
#define FIRST_HOST         0x0a000001

static const struct figures_column columns[] = {
	{.name = "bench"},
	{"hosts", "hosts", 5, ""},
	{"flows", "flows", 7, ""},
	{"structure", "", -4, ""},
	{"sketch", "", -10, ""},
	{"design", "", -6, ""},
	{"width", "width", 8, ""},
	{"bytes", "bytes", 10, ""},
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

/* Times of Zha et al. (2022), ns per packet. */
#define PAPER_RING_NS 182
static const struct structure {
	const char *name, *sketch;
	double paper_ns;
} structures[] = {{"FCAP", "flow-table", 515}, {"SMON", "iblt", 848}};

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

/* Draws packets uniformly. The destination of each flow is a monitored host. */
static bool draw_keys(const struct workload_spec *spec, struct key4 *keys)
{
	uint64_t hosts = spec->flows / FLOWS_PER_HOST;

	for (uint64_t i = 0; i < spec->packets; i++) {
		uint64_t flow = random_mix(i) % spec->flows, random = random_mix(~flow);
		uint32_t dst = htobe32((uint32_t)(FIRST_HOST + flow % hosts));

		keys[i] = (struct key4){.proto = 6};
		memcpy(keys[i].src_ip, &random, sizeof(keys[i].src_ip));
		memcpy(keys[i].dst_ip, &dst, sizeof(dst));
		memcpy(keys[i].src_port, (const char *)&random + 4, sizeof(keys[i].src_port));
		keys[i].dst_port[1] = 80;
	}
	return true;
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

/* Returns the number of buckets, or of cells per row, that fits all flows. */
static uint64_t width_for(const struct structure *structure, uint64_t flows)
{
	bool iblt = strcmp(structure->sketch, "iblt") == 0;
	double wanted = iblt ? (double)flows / IBLT_LOAD / IBLT_ROWS : (double)flows;
	uint64_t width = 16;

	while ((double)width < wanted)
		width *= 2;
	return width;
}

struct judged {
	const struct workload *workload;
	uint64_t exact;
};

static void judge(const struct sketch_candidate *candidate, void *arg)
{
	struct judged *judged = arg;

	judged->exact += candidate->packets == workload_truth(judged->workload, &candidate->key.v4);
}

/* Returns the share of flows reported with their exact count; -1: out of memory. */
static double exact_share(const struct entry *entry, uint64_t seed)
{
	const struct workload *workload = entry->setting.workload;
	const struct sketch_ops *ops = entry->setting.subject.sketch;
	struct sketch_params params = {
		.width = entry->setting.subject.width,
		.seed = seed,
		.allocator = node_memory_on_node(PLAN_NODE_ANY),
	};
	struct judged judged = {.workload = workload};
	struct sketch *sketch = ops->check(&params) == NULL ? ops->create(&params) : NULL;
	struct key_burst burst;

	if (sketch == NULL)
		return -1;
	workload_burst_init(&burst);
	for (uint64_t b = 0; b < workload_bursts(workload); b++) {
		workload_load(workload, b, &burst);
		hash_burst(&workload->hash_key, &burst);
		ops->update[SHARING_SEPARATE](sketch, &burst);
	}
	ops->candidates(sketch, judge, &judged);
	ops->destroy(sketch);
	return (double)judged.exact / (double)workload->distinct;
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

static void print_entry(struct hosts *hosts, uint32_t e, uint32_t nb_hosts, uint32_t rounds)
{
	const struct entry *entry = &hosts->entries[e];
	const struct bench_subject *subject = &entry->setting.subject;
	struct sketch_params shape = {.width = subject->width};
	struct bench_stats count = PIPELINE_STATS(entry->samples, count_ns, rounds);
	uint32_t threads = pipeline_threads(&entry->setting);
	double exact = exact_share(entry, seed_options(hosts->config)->seed);
	bool ring = strcmp(entry->setting.design, "async") == 0;
	struct figures *figures = &hosts->figures;

	subject->sketch->check(&shape);
	figures_cell(figures, "bench", "flow-table hosts");
	figures_cell(figures, "hosts", "%u", nb_hosts);
	figures_cell(figures, "flows", "%" PRIu64, entry->setting.workload->distinct);
	figures_cell(figures, "structure", "%s", entry->structure->name);
	figures_cell(figures, "sketch", "%s", subject->sketch->name);
	figures_cell(figures, "design", "%s", entry->setting.design);
	figures_cell(figures, "width", "%" PRIu64, subject->width);
	figures_cell(figures, "bytes", "%zu", subject->sketch->memory(&shape));
	if (exact >= 0)
		figures_cell(figures, "exact", "%.4f", exact);
	figures_cell(figures, "rounds", "%u", rounds);
	figures_cell(figures, "table_ns", "%.2f", entry->table_ns);
	figures_cell(figures, "count_ns", "%.2f", count.median);
	figures_cell(figures, "count_ns_min", "%.2f", count.min);
	figures_cell(figures, "count_ns_max", "%.2f", count.max);
	figures_cell(figures, "delay_ns", "%.2f",
		PIPELINE_STATS(entry->samples, delay_ns, rounds).median);
	if (ring)
		figures_cell(figures, "ring_ns", "%.2f", ring_ns(entry, entry - 1, rounds));
	figures_cell(figures, "measured_mpps", "%.2f",
		PIPELINE_STATS(entry->samples, measured_pps, rounds).median / 1e6);
	if (ring)
		figures_cell(figures, "paper_ns", "%d", PAPER_RING_NS);
	else
		figures_cell(figures, "paper_ns", "%g", entry->structure->paper_ns);
	if (threads > hosts->cpus.n)
		figures_cell(figures, "note", "not comparable: %u polling threads share %u CPUs",
			threads, hosts->cpus.n);
	figures_row(figures);
}

static void add_entries(
	struct hosts *hosts, const struct workload *workload, const struct prefix_list *rules)
{
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
							.width = width_for(&structures[s],
								workload->spec.flows),
							.threads = 1},
						.workers = 1,
						.mbufs = MBUFS,
						.size = SIZE,
						.workload = workload,
						.key = key_rule_find("6tuple"),
						.rules = rules,
					},
			};
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

static bool run_hosts(struct hosts *hosts, uint32_t nb_hosts)
{
	uint64_t packets = bench_options(hosts->config)->packets;
	const struct workload_spec spec = {
		.flows = (uint64_t)nb_hosts * FLOWS_PER_HOST,
		.packets = workload_packets(packets > 0 ? packets : PACKETS),
	};
	struct workload *workload =
		workload_create_from(&spec, draw_keys, seed_options(hosts->config)->seed);
	struct prefix_list *rules = make_rules(nb_hosts);
	bool right = workload != NULL && rules != NULL;
	uint32_t rounds = 0;

	if (right) {
		add_entries(hosts, workload, rules);
		right = measure_tables(hosts, workload) && run_rounds(hosts, &rounds);
	} else {
		log_error("out of memory for %u hosts", nb_hosts);
	}
	if (right && rounds > 0) {
		figures_heading(&hosts->figures,
			"%u monitored hosts: %" PRIu64 " flows; %u rounds of %u ms", nb_hosts,
			workload->distinct, rounds, hosts->milliseconds);
		for (uint32_t e = 0; e < ENTRIES; e++)
			print_entry(hosts, e, nb_hosts, rounds);
	}
	if (workload != NULL)
		workload_destroy(workload);
	if (rules != NULL)
		prefix_rules_free(rules);
	return right;
}

static bool run_all(void *arg)
{
	struct hosts *hosts = arg;
	const struct option_values *numbers = &flow_table_bench_options(hosts->config)->hosts;
	bool right = true;

	for (uint32_t i = 0; i < numbers->n && right && !signals_stop_requested(); i++)
		right = run_hosts(hosts, (uint32_t)numbers->values[i]);
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
