/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * bench flow-table: the question of Nassopoulos et al., "Flow management at multi-Gbps" (2014):
 * which hash, which structure for keys that collide, which size, for which traffic. Every
 * combination of the chosen lists is a row. What hangs on hash, size and traffic alone, the lengths
 * of chains, is counted from the keys; the rest is measured in rounds in which all structures and
 * hashes of one size and traffic take turns.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/bench.h"
#include "bench/cache_misses.h"
#include "bench/chains.h"
#include "bench/choices.h"
#include "bench/contest.h"
#include "bench/flow_tables.h"
#include "bench/hosts.h"
#include "bench/setup.h"
#include "bench/sheet.h"
#include "bench/traffic.h"
#include "parallel/eal.h"
#include "parallel/plan/flow_stores.h"
#include "parallel/memory.h"

#define ROUNDS         3
#define PACKETS        (UINT64_C(1) << 19)
#define QUICK_ROUNDS   1
#define QUICK_PACKETS  (UINT64_C(1) << 16)
#define HEAP_MEGABYTES 64 /* beside the tables */
#define SIZES_MAX      (2 * CONFIG_VALUES_MAX)
#define FASTEST_MAX    (8 * CONFIG_VALUES_MAX) /* kinds of traffic x flows */

static const struct sheet_column columns[] = {
	{.name = "bench"},
	{.name = "traffic"},
	{.name = "flows"},
	{.name = "distinct"},
	{.name = "packets"},
	{.name = "buckets"},
	{"collision", "", -6},
	{"hash", "", -9},
	{"bytes", "bytes", 11},
	{.name = "load"},
	{"p_single", "P(L=1)", 6},
	{"mean_length", "E[L]", 7},
	{"p_tail", "P(L>=4)", 7},
	{"longest", "longest", 7},
	{"occupancy", "used", 6},
	{"refused", "refused", 7},
	{.name = "rounds"},
	{"ns", "ns", 8},
	{"ns_min", "min", 8},
	{"ns_max", "max", 8},
	{"mpps", "Mpps", 7},
	{"misses", "misses", 6},
	{"of_default", "/aes", 6},
	{"note", "", -1},
	{.name = NULL},
};

static const struct config_values flows_default = {1, {100000}};
static const struct config_values flows_quick = {1, {10000}};
static const struct config_values sizes_default = {4, {1 << 16, 100003, 1 << 18, 1 << 20}};
static const struct config_values sizes_quick = {2, {1 << 14, 10007}};

/* The fastest table of a traffic that had room for every key. */
struct fastest {
	char traffic[SHEET_CELL_MAX];
	uint64_t flows, distinct, buckets;
	struct contestant table;
	size_t memory;
	double ns, of_default;
};

struct flow_tables {
	const struct config *config;
	const struct config_values *flows;
	uint64_t sizes[SIZES_MAX];
	uint32_t nb_sizes, rounds;
	struct topology topology;
	struct crew crew;
	struct sheet sheet;
	struct host_facts facts;
	struct contestant tables[FLOW_TABLES_MAX];
	uint32_t nb_tables;
	struct contest_result results[FLOW_TABLES_MAX];
	struct fastest fastest[FASTEST_MAX];
	uint32_t nb_fastest;
};

/* --- what is tried --- */

static void add_sizes(struct flow_tables *bench, const struct config_values *sizes)
{
	for (uint32_t i = 0; i < sizes->n && bench->nb_sizes < SIZES_MAX; i++)
		bench->sizes[bench->nb_sizes++] = sizes->values[i];
}

static void choose_sizes(struct flow_tables *bench)
{
	const struct bench_config *given = &bench->config->bench;

	add_sizes(bench, &given->widths);
	add_sizes(bench, &given->buckets);
	if (bench->nb_sizes == 0)
		add_sizes(bench, given->quick ? &sizes_quick : &sizes_default);
}

/* --- what is said --- */

static void cell_key(struct flow_tables *bench, const char *kind, const char *traffic,
	const struct contestant *table, uint64_t buckets)
{
	struct sheet *sheet = &bench->sheet;

	sheet_cell(sheet, "bench", "%s", kind);
	sheet_cell(sheet, "traffic", "%s", traffic);
	sheet_cell(sheet, "buckets", "%" PRIu64, buckets);
	sheet_cell(sheet, "collision", "%s", flow_stores[table->collision]->name);
	sheet_cell(sheet, "hash", "%s", table_hash_names[table->table_hash]);
}

static void cell_chains(struct sheet *sheet, const struct chains *chains, uint64_t buckets)
{
	sheet_cell(sheet, "p_single", "%.3f", chains->single);
	sheet_cell(sheet, "mean_length", "%.2f", chains->mean);
	sheet_cell(sheet, "p_tail", "%.4f", chains->tail);
	sheet_cell(sheet, "longest", "%u", chains->longest);
	sheet_cell(sheet, "occupancy", "%.3f", (double)chains->used / (double)buckets);
}

static const struct contest_result *default_of(
	const struct flow_tables *bench, enum collision collision)
{
	for (uint32_t t = 0; t < bench->nb_tables; t++)
		if (bench->tables[t].collision == collision &&
			bench->tables[t].table_hash == TABLE_HASH_AES &&
			bench->results[t].missing == NULL)
			return &bench->results[t];
	return NULL;
}

static void cell_result(
	struct flow_tables *bench, uint32_t t, const struct workload *workload, uint32_t rounds)
{
	const struct contest_result *result = &bench->results[t];
	const struct contest_result *other = default_of(bench, bench->tables[t].collision);
	struct bench_stats ns = bench_stats_of(result->ns, rounds);
	struct sheet *sheet = &bench->sheet;

	sheet_cell(sheet, "bytes", "%zu", result->memory);
	sheet_cell(
		sheet, "refused", "%.3f", (double)result->refused / (double)workload->spec.packets);
	sheet_cell(sheet, "rounds", "%u", rounds);
	sheet_cell(sheet, "ns", "%.2f", ns.median);
	sheet_cell(sheet, "ns_min", "%.2f", ns.min);
	sheet_cell(sheet, "ns_max", "%.2f", ns.max);
	sheet_cell(sheet, "mpps", "%.1f", 1000 / ns.median);
	if (other != NULL)
		sheet_cell(sheet, "of_default", "%.2f",
			bench_stats_ratio(result->ns, other->ns, rounds).median);
}

/* A row of one table; chains: where they are known and it has any. */
static void print_table(struct flow_tables *bench, uint32_t t, const char *traffic,
	const struct contest *contest, const struct chains *chains, uint32_t rounds)
{
	const struct workload *workload = contest->workload;
	const struct contestant *table = &bench->tables[t];
	struct sheet *sheet = &bench->sheet;
	double misses;

	cell_key(bench, "flow-table", traffic, table, contest->width);
	if (workload->spec.flows > 0)
		sheet_cell(sheet, "flows", "%" PRIu64, workload->spec.flows);
	sheet_cell(sheet, "distinct", "%" PRIu64, workload->distinct);
	sheet_cell(sheet, "packets", "%" PRIu64, workload->spec.packets);
	sheet_cell(sheet, "load", "%.3f", (double)workload->distinct / (double)contest->width);
	if (chains != NULL && table->collision != COLLISION_CUCKOO)
		cell_chains(sheet, chains, contest->width);
	if (bench->results[t].missing == NULL) {
		cell_result(bench, t, workload, rounds);
		if (contest_misses(contest, table, &misses))
			sheet_cell(sheet, "misses", "%.2f", misses);
	} else {
		sheet_cell(sheet, "note", "not measured: %s: %.1f GB are needed, %.1f are there",
			bench->results[t].missing,
			(double)flow_tables_memory(table, contest->width) / (1 << 30),
			(double)memory_available() / (1 << 30));
	}
	sheet_row(sheet, &bench->facts);
}

static void note_fastest(
	struct flow_tables *bench, struct fastest *fastest, uint64_t buckets, uint32_t rounds)
{
	for (uint32_t t = 0; t < bench->nb_tables; t++) {
		const struct contest_result *result = &bench->results[t];
		const struct contest_result *other = default_of(bench, COLLISION_LIST);
		double ns;

		if (result->missing != NULL || result->refused > 0)
			continue;
		ns = bench_stats_of(result->ns, rounds).median;
		if (fastest->buckets > 0 && fastest->ns <= ns)
			continue;
		fastest->buckets = buckets;
		fastest->table = bench->tables[t];
		fastest->memory = result->memory;
		fastest->ns = ns;
		fastest->of_default =
			other == NULL ? 0 : bench_stats_ratio(result->ns, other->ns, rounds).median;
	}
}

static void print_fastest(struct flow_tables *bench)
{
	struct sheet *sheet = &bench->sheet;

	if (bench->nb_fastest == 0)
		return;
	sheet_heading(sheet,
		"the fastest of each traffic that had room for every key; /aes: of a list of "
		"the same size under aes");
	for (uint32_t f = 0; f < bench->nb_fastest; f++) {
		const struct fastest *fastest = &bench->fastest[f];

		cell_key(bench, "flow-table fastest", fastest->traffic, &fastest->table,
			fastest->buckets);
		sheet_cell(sheet, "bytes", "%zu", fastest->memory);
		sheet_cell(sheet, "ns", "%.2f", fastest->ns);
		sheet_cell(sheet, "mpps", "%.1f", 1000 / fastest->ns);
		if (fastest->of_default > 0)
			sheet_cell(sheet, "of_default", "%.2f", fastest->of_default);
		if (fastest->flows > 0)
			sheet_cell(sheet, "flows", "%" PRIu64, fastest->flows);
		sheet_cell(sheet, "note", "%.40s, %" PRIu64 " keys: %" PRIu64 " buckets",
			fastest->traffic, fastest->distinct, fastest->buckets);
		sheet_row(sheet, &bench->facts);
	}
}

/* --- what is measured --- */

static const struct chains *find_chains(const struct workload *workload, uint64_t buckets,
	struct chains all[TABLE_HASH_COUNT], enum table_hash hash)
{
	if (all[hash].used == 0 && !chains_of(workload, hash, (uint32_t)buckets, &all[hash]))
		return NULL;
	return &all[hash];
}

static bool run_size(struct flow_tables *bench, const char *traffic, const struct contest *contest,
	struct fastest *fastest)
{
	const struct workload *workload = contest->workload;
	struct chains chains[TABLE_HASH_COUNT] = {0};
	char error[CONTEST_ERROR_MAX];
	uint32_t rounds;

	if (!contest_run(contest, &bench->crew, bench->tables, bench->nb_tables, bench->rounds,
		    bench->results, &rounds, error)) {
		log_error("%s", error);
		return false;
	}
	if (rounds == 0)
		return true;
	sheet_heading(&bench->sheet,
		"%s: %" PRIu64 " keys in %" PRIu64 " packets; %" PRIu64 " buckets; %u rounds",
		traffic, workload->distinct, workload->spec.packets, contest->width, rounds);
	for (uint32_t t = 0; t < bench->nb_tables; t++)
		print_table(bench, t, traffic, contest,
			find_chains(workload, contest->width, chains, bench->tables[t].table_hash),
			rounds);
	note_fastest(bench, fastest, contest->width, rounds);
	return true;
}

/* All sizes. Takes the workload. */
static bool run_traffic(struct flow_tables *bench, const char *traffic, struct workload *workload)
{
	struct contest contest = {.workload = workload, .seed = bench->config->seed};
	struct fastest fastest = {.flows = workload->spec.flows, .distinct = workload->distinct};
	bool right = workload_add_flow_hashes(workload);

	if (!right)
		log_error("no memory for the hashes of %" PRIu64 " packets: lower --packets",
			workload->spec.packets);
	for (uint32_t s = 0; s < bench->nb_sizes && right && !signals_stop_requested(); s++) {
		contest.width = bench->sizes[s];
		right = run_size(bench, traffic, &contest, &fastest);
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
	uint64_t packets = bench->config->bench.quick ? QUICK_PACKETS : PACKETS;

	if (bench->config->bench.packets > 0)
		packets = bench->config->bench.packets;
	return workload_packets(packets);
}

static bool run_kind(struct flow_tables *bench, const struct traffic *kind)
{
	for (uint32_t f = 0; f < (kind->fixed ? 1 : bench->flows->n); f++) {
		struct workload *workload = traffic_create(
			kind, bench->flows->values[f], nb_packets(bench), bench->config->seed);

		if (signals_stop_requested())
			break;
		if (workload == NULL) {
			log_error("no memory for %" PRIu64 " packets: lower --packets",
				nb_packets(bench));
			return false;
		}
		if (!run_traffic(bench, kind->name, workload))
			return false;
	}
	return true;
}

/* Its first packets, as many as a round has. */
static bool run_capture(struct flow_tables *bench)
{
	const struct config *config = bench->config;
	struct workload_intake intake;
	struct workload *workload = NULL;
	char error[SOURCE_ERROR_MAX];
	struct source *source = replay_open(config->pcap, config->nb_pcap, error);

	if (source != NULL) {
		workload = workload_read(source, nb_packets(bench), config->seed, &intake, error);
		source->close(source);
	}
	if (workload == NULL) {
		log_error("%s", error);
		return false;
	}
	setup_say_intake(&intake);
	return run_traffic(bench, config->pcap[0], workload);
}

static bool run_all(struct flow_tables *bench)
{
	const struct config *config = bench->config;

	if (config->nb_pcap > 0 && !run_capture(bench))
		return false;
	for (uint32_t k = 0; traffics[k].name != NULL; k++)
		if ((config->bench.traffics >> k & 1) != 0 ||
			(config->bench.traffics == 0 && config->nb_pcap == 0))
			if (!run_kind(bench, &traffics[k]))
				return false;
	return true;
}

static void say_misses(void)
{
	int counter = cache_misses_open();

	if (counter < 0)
		log_notice("cache misses are not counted: no counter of this CPU can be opened: %s",
			strerror(errno));
	cache_misses_close(counter);
}

static int measure(struct flow_tables *bench, int argc, char *const argv[])
{
	int status = sheet_open(&bench->sheet, columns, bench->config), closed;

	if (status != 0)
		return status;
	say_misses();
	host_facts_read(&bench->facts, argc, argv);
	host_facts_add_memory(&bench->facts);
	sheet_begin(&bench->sheet, &bench->facts);
	if (!run_all(bench))
		status = 1;
	print_fastest(bench);
	closed = sheet_close(&bench->sheet);
	return status != 0 ? status : closed;
}

int bench_flow_table(const struct config *config, int argc, char *const argv[])
{
	static struct flow_tables bench;
	int status = 1;

	if (config->bench.hosts.n > 0)
		return bench_hosts(config, argc, argv);
	bench.config = config;
	bench.flows = choices_of(
		&config->bench.flows, config->bench.quick ? &flows_quick : &flows_default);
	bench.rounds = config->bench.quick ? QUICK_ROUNDS : ROUNDS;
	if (config->bench.rounds > 0)
		bench.rounds = config->bench.rounds;
	choose_sizes(&bench);
	bench.nb_tables = flow_tables_choose(&config->bench, bench.tables);
	if (!setup_topology(&bench.topology, config))
		return 1;
	crew_init(&bench.crew, &bench.topology);
	if (setup_eal(config, &bench.topology, &bench.crew, 1,
		    HEAP_MEGABYTES + (flow_tables_heap(bench.tables, bench.nb_tables, bench.sizes,
					      bench.nb_sizes) >>
					     20))) {
		status = measure(&bench, argc, argv);
		eal_stop();
	}
	return status;
}
