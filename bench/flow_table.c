/* SPDX-License-Identifier: BSD-3-Clause */

/* sketchtap-bench flow-table: compares the flow tables of Nassopoulos et al. (2014). */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/bench.h"
#include "bench/cache_misses.h"
#include "bench/chains.h"
#include "bench/common.h"
#include "bench/flow_table_options.h"
#include "bench/flow_variants.h"
#include "bench/bench_rounds.h"
#include "bench/hosts.h"
#include "bench/nassopoulos.h"
#include "bench/paper_facts.h"
#include "tune/measure/setup.h"
#include "tune/measure/figures.h"
#include "bench/traffic.h"
#include "parallel/run/eal.h"
#include "parallel/workers/node_memory.h"
#include "tune/measure/bench_options.h"

#define ROUNDS         3
#define PACKETS        (UINT64_C(1) << 19)
#define QUICK_ROUNDS   1
#define QUICK_PACKETS  (UINT64_C(1) << 16)
#define HEAP_MEGABYTES 64
#define SIZES_MAX      (2 * OPTION_VALUES_MAX)
#define PAPER_BUCKETS  UINT64_C(54000000)
#define FASTEST_MAX    (8 * OPTION_VALUES_MAX)

static const struct figures_column columns[] = {
	{.name = "bench"},
	{.name = "traffic"},
	{.name = "flows"},
	{.name = "distinct"},
	{.name = "packets"},
	{.name = "buckets"},
	{"collision", "", -6, ""},
	{"hash", "", -9, ""},
	{"bytes", "bytes", 11, ""},
	{.name = "load"},
	{"p_single", "P(L=1)", 6, "ratio"},
	{"mean_length", "E[L]", 7, ""},
	{"chance_length", "chance", 7, ""},
	{"p_tail", "P(L>=4)", 7, "ratio"},
	{"longest", "longest", 7, ""},
	{"occupancy", "used", 6, "ratio"},
	{"refused", "refused", 7, "ratio"},
	{.name = "rounds"},
	{"ns", "ns", 8, ""},
	{"ns_min", "min", 8, "ns"},
	{"ns_max", "max", 8, "ns"},
	{"mpps", "Mpps", 7, ""},
	{"misses", "misses", 6, ""},
	{"of_default", "/aes", 6, "ratio"},
	{"of_list", "/list", 6, "ratio"},
	{"of_power", "/2^n", 6, "ratio"},
	{"paper_mpps", "paper", 6, "Mpps"},
	{.name = "length"},
	{.name = "probability"},
	{"note", "", -1, ""},
	{.name = "item"},
	{.name = "setting"},
	{.name = "quantity"},
	{.name = "unit"},
	{.name = "printed"},
	{.name = "ours"},
	{.name = "ours_min"},
	{.name = "ours_max"},
	{.name = "how"},
	{.name = NULL},
};

static const struct option_values flows_default = {1, {100000}};
static const struct option_values flows_quick = {1, {10000}};
static const struct option_values sizes_default = {4, {1 << 16, 65537, 1 << 18, 1 << 20}};
static const struct option_values sizes_quick = {2, {1 << 14, 16411}};

/* The fastest of the tables that stored every key, for one traffic. */
struct fastest {
	char traffic[FIGURES_CELL_MAX];
	uint64_t flows, distinct, buckets;
	struct flow_variant variant;
	size_t memory;
	double ns, of_default;
};

struct flow_tables {
	const struct config *config;
	const struct option_values *flows;
	uint64_t sizes[SIZES_MAX];
	uint32_t nb_sizes, rounds;
	struct topology topology;
	struct cpus cpus;
	struct figures figures;
	struct flow_variant variants[FLOW_VARIANTS_MAX];
	struct bench_subject tables[FLOW_VARIANTS_MAX];
	uint32_t nb_tables;
	struct bench_rounds_result results[FLOW_VARIANTS_MAX];
	/*
	 * largest power of two measured as a size, and the ns of each table of this size; 0: none
	 */
	uint64_t power;
	double power_ns[FLOW_VARIANTS_MAX];
	struct fastest fastest[FASTEST_MAX];
	uint32_t nb_fastest;
	const struct workload *capture; /* NULL: none */
	struct nassopoulos paper;
};

/* Ascending order, so that a size close to a power of two comes after it. */
static void add_sizes(struct flow_tables *bench, const struct option_values *sizes)
{
	for (uint32_t i = 0; i < sizes->n && bench->nb_sizes < SIZES_MAX; i++) {
		uint32_t at = bench->nb_sizes++;

		for (; at > 0 && bench->sizes[at - 1] > sizes->values[i]; at--)
			bench->sizes[at] = bench->sizes[at - 1];
		bench->sizes[at] = sizes->values[i];
	}
}

static void choose_sizes(struct flow_tables *bench)
{
	const struct bench_options *given = bench_options(bench->config);

	add_sizes(bench, &given->widths);
	add_sizes(bench, &flow_table_bench_options(bench->config)->buckets);
	if (bench->nb_sizes == 0)
		add_sizes(bench, given->quick ? &sizes_quick : &sizes_default);
}

static void cell_key(struct flow_tables *bench, const char *kind, const char *traffic,
	struct flow_variant variant, uint64_t buckets)
{
	struct figures *figures = &bench->figures;

	figures_cell(figures, "bench", "%s", kind);
	figures_cell(figures, "traffic", "%s", traffic);
	figures_cell(figures, "buckets", "%" PRIu64, buckets);
	figures_cell(figures, "collision", "%s", flow_structure_names[variant.structure]);
	figures_cell(figures, "hash", "%s", table_hash_names[variant.hash]);
}

/* Mean chain length of randomly placed keys (Poisson), at `load` keys per bucket. */
static double chance_length(double load)
{
	return load / -expm1(-load);
}

static void cell_chains(struct figures *figures, const struct chains *chains, uint64_t buckets)
{
	double load = (double)chains->used * chains->mean / (double)buckets;

	figures_cell(figures, "chance_length", "%.2f", chance_length(load));
	figures_cell(figures, "p_single", "%.3f", chains->of_length[1]);
	figures_cell(figures, "mean_length", "%.2f", chains->mean);
	figures_cell(figures, "p_tail", "%.4f", chains->tail);
	figures_cell(figures, "longest", "%u", chains->longest);
	figures_cell(figures, "occupancy", "%.3f", (double)chains->used / (double)buckets);
}

static const struct bench_rounds_result *result_of(
	const struct flow_tables *bench, enum flow_structure structure, enum table_hash hash)
{
	for (uint32_t t = 0; t < bench->nb_tables; t++)
		if (bench->variants[t].structure == structure && bench->variants[t].hash == hash &&
			bench->results[t].last.missing == NULL)
			return &bench->results[t];
	return NULL;
}

static void cell_ratio(struct flow_tables *bench, const char *column,
	const struct bench_rounds_result *result, const struct bench_rounds_result *other,
	uint32_t rounds)
{
	if (other != NULL)
		figures_cell(&bench->figures, column, "%.2f",
			bench_stats_ratio(result->ns, other->ns, rounds).median);
}

#define NEAR_POWER 1.25

/* Compares the time with that at the next lower power of two, which was measured before. */
static void cell_power(struct flow_tables *bench, uint32_t t, uint64_t buckets, double ns)
{
	if ((buckets & (buckets - 1)) == 0) {
		bench->power = buckets;
		bench->power_ns[t] = ns;
	} else if (buckets > bench->power && (double)buckets < NEAR_POWER * (double)bench->power &&
		   bench->power_ns[t] > 0) {
		figures_cell(&bench->figures, "of_power", "%.2f", ns / bench->power_ns[t]);
	}
}

/* The paper has no figure for some combinations. */
static void cell_paper(
	struct figures *figures, struct flow_variant variant, const char *traffic, uint64_t buckets)
{
	char setting[FIGURES_CELL_MAX];

	snprintf(setting, sizeof(setting), "%.90s; %s; CoralReef; 54 M rows",
		strcmp(traffic, "single") == 0 ? "deterministic (one tuple)" : traffic,
		flow_structure_names[variant.structure]);
	if (variant.hash == TABLE_HASH_CORALREEF && buckets == PAPER_BUCKETS)
		figures_cell(figures, "paper_mpps", "%s",
			paper_value(PAPER_NASSOPOULOS, "Table 1", setting, "rate"));
}

static void cell_result(
	struct flow_tables *bench, uint32_t t, const struct workload *workload, uint32_t rounds)
{
	const struct bench_rounds_result *result = &bench->results[t];
	struct flow_variant variant = bench->variants[t];
	struct bench_stats ns = bench_stats_of(result->ns, rounds);
	struct figures *figures = &bench->figures;

	figures_cell(figures, "bytes", "%zu", result->last.memory);
	figures_cell(figures, "refused", "%.3f",
		(double)result->last.no_room / (double)workload->spec.packets);
	figures_cell(figures, "rounds", "%u", rounds);
	figures_cell(figures, "ns", "%.2f", ns.median);
	figures_cell(figures, "ns_min", "%.2f", ns.min);
	figures_cell(figures, "ns_max", "%.2f", ns.max);
	figures_cell(figures, "mpps", "%.1f", 1000 / ns.median);
	cell_ratio(bench, "of_default", result, result_of(bench, variant.structure, TABLE_HASH_AES),
		rounds);
	cell_ratio(bench, "of_list", result, result_of(bench, FLOW_LIST, variant.hash), rounds);
}

static void print_table(struct flow_tables *bench, uint32_t t, const char *traffic,
	const struct bench_rounds *setup, const struct chains *chains, uint32_t rounds)
{
	const struct workload *workload = setup->workload;
	const struct bench_subject *table = &bench->tables[t];
	struct figures *figures = &bench->figures;
	double misses;

	cell_key(bench, "flow-table", traffic, bench->variants[t], setup->width);
	cell_paper(figures, bench->variants[t], traffic, setup->width);
	if (workload->spec.flows > 0)
		figures_cell(figures, "flows", "%" PRIu64, workload->spec.flows);
	figures_cell(figures, "distinct", "%" PRIu64, workload->distinct);
	figures_cell(figures, "packets", "%" PRIu64, workload->spec.packets);
	figures_cell(figures, "load", "%.3f", (double)workload->distinct / (double)setup->width);
	if (chains != NULL && bench->variants[t].structure <= FLOW_TREE)
		cell_chains(figures, chains, setup->width);
	if (bench->results[t].last.missing == NULL) {
		cell_result(bench, t, workload, rounds);
		cell_power(bench, t, setup->width,
			bench_stats_of(bench->results[t].ns, rounds).median);
		if (bench_rounds_misses(setup, table, &misses))
			figures_cell(figures, "misses", "%.2f", misses);
	} else {
		figures_cell(figures, "note", "not measured: %s: %.1f GB needed, %.1f GB available",
			bench->results[t].last.missing,
			(double)flow_variant_memory(table, setup->width) / (1 << 30),
			(double)node_memory_available() / (1 << 30));
	}
	figures_row(figures);
}

static void print_lengths(struct flow_tables *bench, const char *traffic,
	const struct bench_rounds *setup, const struct chains *chains)
{
	struct figures *figures = &bench->figures;
	FILE *table = figures->table;

	figures->table = NULL;
	for (uint32_t hash = 0; hash < TABLE_HASH_COUNT; hash++)
		for (uint32_t l = 1; chains[hash].used > 0 && l <= chains[hash].longest; l++) {
			if (chains[hash].of_length[l] <= 0)
				continue;
			figures_cell(figures, "bench", "flow-table chains");
			figures_cell(figures, "traffic", "%s", traffic);
			figures_cell(figures, "buckets", "%" PRIu64, setup->width);
			figures_cell(figures, "hash", "%s", table_hash_names[hash]);
			figures_cell(figures, "length", "%u", l);
			figures_cell(figures, "probability", "%.3g", chains[hash].of_length[l]);
			figures_row(figures);
		}
	figures->table = table;
}

static void note_point(struct flow_tables *bench, uint32_t t, const char *traffic,
	const struct bench_rounds *setup, const struct chains *chains, uint32_t rounds)
{
	const struct bench_rounds_result *result = &bench->results[t];
	struct nassopoulos_point point = {
		.capture = setup->workload == bench->capture,
		.variant = bench->variants[t],
		.buckets = setup->width,
		.load = (double)setup->workload->distinct / (double)setup->width,
		.missing = result->last.missing != NULL,
	};

	snprintf(point.traffic, sizeof(point.traffic), "%.90s", traffic);
	if (chains->used > 0) {
		point.p_single = chains->of_length[1];
		point.mean = chains->mean;
	}
	if (!point.missing)
		point.ns = bench_stats_of(result->ns, rounds);
	nassopoulos_add(&bench->paper, &point);
}

static void note_fastest(
	struct flow_tables *bench, struct fastest *fastest, uint64_t buckets, uint32_t rounds)
{
	for (uint32_t t = 0; t < bench->nb_tables; t++) {
		const struct bench_rounds_result *result = &bench->results[t];
		const struct bench_rounds_result *other =
			result_of(bench, FLOW_LIST, TABLE_HASH_AES);
		double ns;

		if (result->last.missing != NULL || result->last.no_room > 0)
			continue;
		ns = bench_stats_of(result->ns, rounds).median;
		if (fastest->buckets > 0 && fastest->ns <= ns)
			continue;
		fastest->buckets = buckets;
		fastest->variant = bench->variants[t];
		fastest->memory = result->last.memory;
		fastest->ns = ns;
		fastest->of_default =
			other == NULL ? 0 : bench_stats_ratio(result->ns, other->ns, rounds).median;
	}
}

static void print_fastest(struct flow_tables *bench)
{
	struct figures *figures = &bench->figures;

	if (bench->nb_fastest == 0)
		return;
	figures_heading(figures,
		"the fastest table of each traffic that stored every key; /aes: ratio to a list "
		"of the same size with aes");
	for (uint32_t f = 0; f < bench->nb_fastest; f++) {
		const struct fastest *fastest = &bench->fastest[f];

		cell_key(bench, "flow-table fastest", fastest->traffic, fastest->variant,
			fastest->buckets);
		figures_cell(figures, "bytes", "%zu", fastest->memory);
		figures_cell(figures, "ns", "%.2f", fastest->ns);
		figures_cell(figures, "mpps", "%.1f", 1000 / fastest->ns);
		if (fastest->of_default > 0)
			figures_cell(figures, "of_default", "%.2f", fastest->of_default);
		if (fastest->flows > 0)
			figures_cell(figures, "flows", "%" PRIu64, fastest->flows);
		figures_cell(figures, "note", "%.40s, %" PRIu64 " keys: %" PRIu64 " buckets",
			fastest->traffic, fastest->distinct, fastest->buckets);
		figures_row(figures);
	}
}

static const struct chains *find_chains(const struct workload *workload, uint64_t buckets,
	struct chains all[TABLE_HASH_COUNT], enum table_hash hash)
{
	if (all[hash].used == 0 && !chains_of(workload, hash, (uint32_t)buckets, &all[hash]))
		return NULL;
	return &all[hash];
}

static bool run_size(struct flow_tables *bench, const char *traffic,
	const struct bench_rounds *setup, struct fastest *fastest)
{
	const struct workload *workload = setup->workload;
	struct chains chains[TABLE_HASH_COUNT] = {0};
	char error[BENCH_PASS_ERROR_MAX];
	uint32_t rounds;

	if (!bench_rounds_run(setup, &bench->cpus, bench->tables, bench->nb_tables, bench->rounds,
		    bench->results, &rounds, error)) {
		log_error("%s", error);
		return false;
	}
	if (rounds == 0)
		return true;
	figures_heading(&bench->figures,
		"%s: %" PRIu64 " keys in %" PRIu64 " packets; %" PRIu64 " buckets; %u rounds",
		traffic, workload->distinct, workload->spec.packets, setup->width, rounds);
	for (uint32_t t = 0; t < bench->nb_tables; t++)
		print_table(bench, t, traffic, setup,
			find_chains(workload, setup->width, chains, bench->variants[t].hash),
			rounds);
	print_lengths(bench, traffic, setup, chains);
	for (uint32_t t = 0; t < bench->nb_tables; t++)
		note_point(bench, t, traffic, setup, &chains[bench->variants[t].hash], rounds);
	for (uint32_t hash = 0; hash < TABLE_HASH_COUNT; hash++)
		chains_free(&chains[hash]);
	note_fastest(bench, fastest, setup->width, rounds);
	return true;
}

static bool run_traffic(struct flow_tables *bench, const char *traffic, struct workload *workload)
{
	struct bench_rounds setup = {
		.workload = workload, .seed = seed_options(bench->config)->seed};
	struct fastest fastest = {.flows = workload->spec.flows, .distinct = workload->distinct};
	bool right = workload_add_flow_hashes(workload);

	flow_variants_hold(workload->distinct);
	bench->power = 0;
	memset(bench->power_ns, 0, sizeof(bench->power_ns));
	if (!right)
		log_error("out of memory for the hashes of %" PRIu64 " packets: lower --packets",
			workload->spec.packets);
	for (uint32_t s = 0; s < bench->nb_sizes && right && !signals_stop_requested(); s++) {
		setup.width = bench->sizes[s];
		right = run_size(bench, traffic, &setup, &fastest);
	}
	if (fastest.buckets > 0 && bench->nb_fastest < FASTEST_MAX) {
		snprintf(fastest.traffic, sizeof(fastest.traffic), "%.90s", traffic);
		bench->fastest[bench->nb_fastest++] = fastest;
	}
	workload_destroy(workload);
	return right;
}

static uint64_t nb_packets(const struct flow_tables *bench)
{
	const struct bench_options *options = bench_options(bench->config);

	return workload_packets(bench_number(options, options->packets, PACKETS, QUICK_PACKETS));
}

static bool run_kind(struct flow_tables *bench, const struct traffic *kind)
{
	for (uint32_t f = 0; f < (kind->fixed ? 1 : bench->flows->n); f++) {
		struct workload *workload = traffic_create(kind, bench->flows->values[f],
			nb_packets(bench), seed_options(bench->config)->seed);

		if (signals_stop_requested())
			break;
		if (workload == NULL) {
			log_error("out of memory for %" PRIu64 " packets: lower --packets",
				nb_packets(bench));
			return false;
		}
		if (!run_traffic(bench, kind->name, workload))
			return false;
	}
	return true;
}

/* Measures the first packets of the capture: as many as a round has. */
static bool run_capture(struct flow_tables *bench)
{
	const struct config *config = bench->config;
	struct workload_intake intake;
	struct workload *workload = NULL;
	char error[SOURCE_ERROR_MAX];
	bool right;
	struct source *source = replay_open(
		replay_options(config)->pcap.texts, replay_options(config)->pcap.n, error);

	if (source != NULL) {
		workload = workload_read(
			source, nb_packets(bench), seed_options(config)->seed, &intake, error);
		source->close(source);
	}
	if (workload == NULL) {
		log_error("%s", error);
		return false;
	}
	setup_say_intake(&intake);
	bench->capture = workload;
	right = run_traffic(bench, replay_options(config)->pcap.texts[0], workload);
	bench->capture = NULL;
	return right;
}

static bool run_traffics(struct flow_tables *bench)
{
	const struct config *config = bench->config;

	if (replay_options(config)->pcap.n > 0 && !run_capture(bench))
		return false;
	for (uint32_t k = 0; traffics[k].name != NULL; k++)
		if ((flow_table_bench_options(config)->traffics >> k & 1) != 0 ||
			(flow_table_bench_options(config)->traffics == 0 &&
				replay_options(config)->pcap.n == 0))
			if (!run_kind(bench, &traffics[k]))
				return false;
	return true;
}

static void log_misses(void)
{
	int counter = cache_misses_open();

	if (counter < 0)
		log_notice("cache misses not counted: cannot open a counter of this CPU: %s",
			strerror(errno));
	cache_misses_close(counter);
}

static bool run_all(void *arg)
{
	struct flow_tables *bench = arg;
	bool right;

	log_misses();
	right = run_traffics(bench);
	print_fastest(bench);
	nassopoulos_print(&bench->paper, &bench->figures);
	return right;
}

int bench_flow_table(struct config *config)
{
	static struct flow_tables bench;
	const struct bench_options *options = bench_options(config);
	int status = 1;

	if (flow_table_bench_options(config)->hosts.n > 0)
		return bench_hosts(config);
	bench.config = config;
	bench.flows = choices_of(&options->flows, options->quick ? &flows_quick : &flows_default);
	bench.rounds = (uint32_t)bench_number(options, options->rounds, ROUNDS, QUICK_ROUNDS);
	choose_sizes(&bench);
	bench.nb_tables = flow_variants_choose(
		flow_table_bench_options(config), bench.variants, bench.tables);
	if (!setup_topology(&bench.topology, config))
		return 1;
	cpus_init(&bench.cpus, &bench.topology);
	if (setup_eal(config, &bench.topology, &bench.cpus, 1,
		    HEAP_MEGABYTES + (flow_variants_heap(bench.variants, bench.nb_tables,
					      bench.sizes, bench.nb_sizes) >>
					     20))) {
		status = figures_write(&bench.figures, columns, config, run_all, &bench);
		eal_stop();
	}
	return status;
}

static const char *structure_word(uint32_t i)
{
	return i < FLOW_STRUCTURE_COUNT ? flow_structure_names[i] : NULL;
}

static const char *hash_word(uint32_t i)
{
	return i < TABLE_HASH_COUNT ? table_hash_names[i] : NULL;
}

static const char *traffic_word(uint32_t i)
{
	return traffics[i].name;
}

/* --hosts runs another measurement, with its own traffic. */
static bool check_hosts(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct bench_options *bench = bench_options(config);
	const struct flow_table_bench_options *own = flow_table_bench_options(config);
	const struct {
		const char *name;
		bool given;
	} others[] = {
		{"pcap", replay_options(config)->pcap.n > 0},
		{"traffic", own->traffics != 0},
		{"collision", own->collisions != 0},
		{"table-hash", own->table_hashes != 0},
		{"width", bench->widths.n > 0},
		{"buckets", own->buckets.n > 0},
		{"flows", bench->flows.n > 0},
		{"packets", bench->packets > 0},
	};

	if (own->hosts.n == 0 && bench->duration > 0)
		return option_fault(
			fault, "duration", measurement, "applies only to --hosts; use --packets");
	for (size_t i = 0; own->hosts.n > 0 && i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].given)
			return option_fault(fault, others[i].name, measurement,
				"cannot be used with --hosts, which has its own traffic and "
				"tables");
	return true;
}

static const char *inapplicable_without_flows(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return replay_options(config)->pcap.n == 0 ||
			       flow_table_bench_options(config)->traffics != 0
		       ? NULL
		       : "without traffic drawn from flows";
}

static const struct option_row flow_table_bench_rows[] = {
	{
		.name = "traffic",
		.placeholder = "WHAT,...",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_WORDS,
		.word = traffic_word,
		OPTION_FIELD(flow_table_bench_options, traffics),
		.default_note = "all, or only the capture of --pcap",
		.help = "Select the traffic. single: one flow. deterministic: consecutive clients "
			"and ports. random: flows drawn uniformly. zipf: exponent 1.05. netscan: "
			"one sender, every address in turn. portscan: every port of one host after "
			"the other. crafted: 512 keys each with the same hash under coralreef, "
			"jenkins, murmur3 and crc32.",
	},
	{
		.name = "collision",
		.placeholder = "HOW,...",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_WORDS,
		.word = structure_word,
		OPTION_FIELD(flow_table_bench_options, collisions),
		.default_note = "all",
		.help = "Select the structure for keys that share a bucket: list, tree, cuckoo, "
			"compact (only with aes).",
	},
	{
		.name = "table-hash",
		.placeholder = "HASH,...",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_WORDS,
		.word = hash_word,
		OPTION_FIELD(flow_table_bench_options, table_hashes),
		.default_note = "all",
		.help = "Select the hash that chooses the bucket: aes, rss, coralreef, jenkins, "
			"murmur3, crc32, fnv1a, hsieh, xxh3.",
	},
	{
		.name = "buckets",
		.placeholder = "N,...",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_COUNTS,
		OPTION_FIELD(flow_table_bench_options, buckets),
		.min = 16,
		.max = UINT64_C(1) << 28,
		.default_note = "65537, without --width",
		.help = "Measure also tables of N buckets, any number, in addition to --width.",
	},
	{
		.name = "hosts",
		.placeholder = "N,...",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_COUNTS,
		OPTION_FIELD(flow_table_bench_options, hosts),
		.min = 1,
		.max = 14000,
		.default_note = "the tables are measured",
		.help = "Measure instead the memory, accuracy and cost of counting the flows of "
			"N of 14000 hosts in a compact-table and a flow-table (FCAP) and an iblt "
			"(SMON), on the receiving core and after a ring, for the packets of 0.5 s "
			"at 160 and 80 kpps.",
	},
	{0},
};

const struct option_owner flow_table_bench_owner = {
	.rows = flow_table_bench_rows,
	.size = sizeof(struct flow_table_bench_options),
	.check = check_hosts,
};

static const struct option_row common_rows[] = {
	BENCH_ROW_WIDTH("64K,256K,1M",
		"Set the number of buckets, a power of two. Tables that do not fit in memory "
		"are marked and not measured."),
	BENCH_ROW_FLOWS(inapplicable_without_flows, "100K"),
	BENCH_ROW_PACKETS(
		4096, "524288", "Set the packets per round, and the limit for a capture."),
	BENCH_ROW_ROUNDS("3"),
	BENCH_ROW_DURATION(
		"300ms", "With --hosts, set the duration of each measurement in a round."),
	BENCH_ROW_QUICK("Use smaller defaults for a quick test: 10K flows, 16K and 16411 buckets, "
			"64K packets per round; with --hosts 50ms per run."),
	{0},
};

const struct option_owner flow_table_common_owner = {
	.rows = common_rows,
	.fills = &bench_owner,
};
