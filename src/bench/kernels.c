/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * bench kernels: every sketch, sharing, atomic and number of threads, beside the floor and the
 * rivals, for each traffic, number of flows and width. Counting distinct keys (HyperLogLog), which
 * a worker does beside its sketch, is not part of it.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/bench.h"
#include "bench/choices.h"
#include "bench/contest.h"
#include "bench/setup.h"
#include "bench/sheet.h"
#include "parallel/eal.h"
#include "parallel/memory.h"

#define ROUNDS        7
#define PACKETS       (UINT64_C(4) << 20)
#define QUICK_ROUNDS  3
#define QUICK_PACKETS UINT64_C(200000)
#define GROUP_BYTES   200 /* of a packet: its key, the truth and the rivals' tables */

static const struct sheet_column columns[] = {
	{.name = "bench"},
	{"name", "", -17},
	{"sharing", "", -8},
	{"atomic", "", -4},
	{"threads", "thr", 3},
	{.name = "traffic"},
	{.name = "flows"},
	{.name = "distinct"},
	{.name = "packets"},
	{.name = "width"},
	{"bytes", "bytes", 11},
	{.name = "rounds"},
	{"ns", "ns", 7},
	{"ns_min", "min", 7},
	{"ns_max", "max", 7},
	{"ready_ns", "ready", 7},
	{.name = "ready_ns_min"},
	{.name = "ready_ns_max"},
	{"mpps", "Mpps", 7},
	{"floor_ratio", "/floor", 7},
	{"member_ratio", "/member", 7},
	{"recall", "recall", 6},
	{"precision", "prec.", 6},
	{"relative_error", "error", 8},
	{"note", "", -1},
	{.name = NULL},
};

/* What a run of `bench kernels` tries, complete, and what it does it with. */
struct kernels {
	const struct config *config;
	const struct config_values *flows, *zipf, *widths, *threads;
	uint32_t rounds;
	struct topology topology;
	struct crew crew;
	struct sheet sheet;
	struct host_facts facts;
	struct contestant contestants[CONTEST_CONTESTANTS_MAX];
	uint32_t nb_contestants;
	struct contest_result results[CONTEST_CONTESTANTS_MAX];
};

static const struct config_values flows_default = {4, {1000, 100000, 1000000, 20000000}};
static const struct config_values flows_quick = {2, {1000, 100000}};
static const struct config_values zipf_default = {3, {0, 1050000, CONFIG_ZIPF_RANDOM}};
static const struct config_values widths_default = {4, {1 << 10, 1 << 16, 1 << 18, 1 << 22}};
static const struct config_values widths_quick = {1, {1 << 16}};
static const struct config_values threads_default = {2, {1, 2}};

static void add_contestant(struct kernels *kernels, const char *name,
	const struct contestant_ops *ops, uint64_t threads)
{
	kernels->contestants[kernels->nb_contestants++] =
		(struct contestant){.name = name, .ops = ops, .threads = (uint32_t)threads};
}

/* The floor comes first: once for each number of threads. */
static void choose_contestants(struct kernels *kernels)
{
	for (uint32_t t = 0; t < kernels->threads->n; t++)
		add_contestant(kernels, "floor", &contestant_floor, kernels->threads->values[t]);
	add_contestant(kernels, "rte_member", &contestant_member, 1);
	add_contestant(kernels, "rte_member bytes", &contestant_member_bytes, 1);
	add_contestant(kernels, "rte_hash", &contestant_rte_hash, 1);
	kernels->nb_contestants += choices_contestants(&kernels->config->bench, kernels->threads,
		kernels->contestants + kernels->nb_contestants,
		CONTEST_CONTESTANTS_MAX - kernels->nb_contestants);
}

static const struct contest_result *result_of(
	const struct kernels *kernels, const struct contestant_ops *ops, uint32_t threads)
{
	for (uint32_t c = 0; c < kernels->nb_contestants; c++)
		if (kernels->contestants[c].ops == ops &&
			kernels->contestants[c].threads == threads)
			return &kernels->results[c];
	return NULL;
}

static void cell_ratio(struct sheet *sheet, const char *column, const struct contest_result *result,
	const struct contest_result *other, uint32_t rounds)
{
	if (other != NULL && other->missing == NULL)
		sheet_cell(sheet, column, "%.2f",
			bench_stats_ratio(result->ns, other->ns, rounds).median);
}

static void cell_times(struct sheet *sheet, const struct contestant *contestant,
	const struct contest_result *result, uint32_t rounds)
{
	struct bench_stats ns = bench_stats_of(result->ns, rounds);
	struct bench_stats ready = bench_stats_of(result->ready_ns, rounds);

	sheet_cell(sheet, "ns", "%.2f", ns.median);
	sheet_cell(sheet, "ns_min", "%.2f", ns.min);
	sheet_cell(sheet, "ns_max", "%.2f", ns.max);
	sheet_cell(sheet, "mpps", "%.1f", contestant->threads * 1000 / ns.median);
	if (contestant->ops->takes_hashes) {
		sheet_cell(sheet, "ready_ns", "%.2f", ready.median);
		sheet_cell(sheet, "ready_ns_min", "%.2f", ready.min);
		sheet_cell(sheet, "ready_ns_max", "%.2f", ready.max);
	}
}

static void cell_accuracy(struct sheet *sheet, const struct contest_result *result)
{
	const struct bench_accuracy *accuracy = &result->accuracy;

	if (!result->keeps_keys || !accuracy->known)
		return;
	sheet_cell(sheet, "recall", "%.2f", accuracy->recall);
	sheet_cell(sheet, "precision", "%.2f", accuracy->precision);
	sheet_cell(sheet, "relative_error", "%.6f", accuracy->relative_error);
}

static uint64_t zipf_of(const struct workload_spec *spec)
{
	return spec->random ? CONFIG_ZIPF_RANDOM : spec->zipf_e6;
}

static void cell_contest(struct sheet *sheet, const struct contest *contest)
{
	const struct workload_spec *spec = &contest->workload->spec;
	char traffic[CHOICES_TEXT_MAX];

	choices_traffic(traffic, zipf_of(spec));
	sheet_cell(sheet, "bench", "kernels");
	sheet_cell(sheet, "traffic", "%s", traffic);
	if (!spec->random)
		sheet_cell(sheet, "flows", "%" PRIu64, spec->flows);
	sheet_cell(sheet, "distinct", "%" PRIu64, contest->workload->distinct);
	sheet_cell(sheet, "packets", "%" PRIu64, spec->packets);
	sheet_cell(sheet, "width", "%" PRIu64, contest->width);
}

static void print_contestant(
	struct kernels *kernels, const struct contest *contest, uint32_t c, uint32_t rounds)
{
	static const char *const sharings[] = {"separate", "shared"};
	const struct contestant *contestant = &kernels->contestants[c];
	const struct contest_result *result = &kernels->results[c];
	struct sheet *sheet = &kernels->sheet;

	cell_contest(sheet, contest);
	sheet_cell(sheet, "name", "%s", contestant->name);
	if (contestant->sketch != NULL)
		sheet_cell(sheet, "sharing", "%s", sharings[contestant->sharing]);
	sheet_cell(sheet, "atomic", "%s", setup_atomic_name(contestant));
	sheet_cell(sheet, "threads", "%u", contestant->threads);
	if (result->missing != NULL) {
		sheet_cell(sheet, "note", "not measured: %s", result->missing);
	} else {
		sheet_cell(sheet, "bytes", "%zu", result->memory);
		sheet_cell(sheet, "rounds", "%u", rounds);
		cell_times(sheet, contestant, result, rounds);
		cell_ratio(sheet, "floor_ratio", result,
			result_of(kernels, &contestant_floor, contestant->threads), rounds);
		cell_ratio(sheet, "member_ratio", result, result_of(kernels, &contestant_member, 1),
			rounds);
		cell_accuracy(sheet, result);
	}
	sheet_row(sheet, &kernels->facts);
}

static void print_contest(struct kernels *kernels, const struct contest *contest, uint32_t rounds)
{
	const struct workload_spec *spec = &contest->workload->spec;
	char traffic[CHOICES_TEXT_MAX], flows[CHOICES_TEXT_MAX] = "";

	choices_traffic(traffic, zipf_of(spec));
	if (!spec->random)
		snprintf(flows, sizeof(flows), ", %" PRIu64 " flows", spec->flows);
	sheet_heading(&kernels->sheet,
		"%s%s: %" PRIu64 " keys in %" PRIu64 " packets; width %" PRIu64 "; %u rounds",
		traffic, flows, contest->workload->distinct, spec->packets, contest->width, rounds);
	for (uint32_t c = 0; c < kernels->nb_contestants; c++)
		print_contestant(kernels, contest, c, rounds);
}

/* All widths on one workload. Returns false where a contestant counted wrongly. */
static bool run_workload(struct kernels *kernels, const struct workload *workload)
{
	struct contest contest = {.workload = workload, .seed = kernels->config->seed};

	for (uint32_t w = 0; w < kernels->widths->n && !signals_stop_requested(); w++) {
		char error[CONTEST_ERROR_MAX];
		uint32_t rounds;

		contest.width = kernels->widths->values[w];
		if (!contest_run(&contest, &kernels->crew, kernels->contestants,
			    kernels->nb_contestants, kernels->rounds, kernels->results, &rounds,
			    error)) {
			log_error("%s", error);
			return false;
		}
		if (rounds > 0)
			print_contest(kernels, &contest, rounds);
	}
	return true;
}

static uint64_t nb_packets(const struct kernels *kernels, uint64_t flows)
{
	const struct config *config = kernels->config;
	uint64_t packets = config->bench.quick ? QUICK_PACKETS : PACKETS;

	if (config->bench.packets > 0)
		packets = config->bench.packets;
	else if (flows > packets)
		packets = flows;
	return workload_packets(packets);
}

static bool run_traffic(void *arg, uint64_t zipf, uint64_t flows)
{
	struct kernels *kernels = arg;
	struct workload_spec spec = {
		.random = zipf == CONFIG_ZIPF_RANDOM,
		.zipf_e6 = zipf == CONFIG_ZIPF_RANDOM ? 0 : (uint32_t)zipf,
		.flows = flows,
		.packets = nb_packets(kernels, flows),
		.seed = 1,
	};
	struct workload *workload = NULL;
	bool right;

	if (spec.packets * GROUP_BYTES < memory_available())
		workload = workload_create(&spec, kernels->config->seed);
	if (workload == NULL) {
		log_warning("no memory for %" PRIu64 " packets: lower --packets or --flows",
			spec.packets);
		return true;
	}
	right = run_workload(kernels, workload);
	workload_destroy(workload);
	return right;
}

/* EAL serves the rivals alone. */
static bool start_eal(const struct kernels *kernels)
{
	size_t megabytes = rivals_heap_megabytes(choices_largest(kernels->widths),
		nb_packets(kernels, choices_largest(kernels->flows)));

	if (!setup_eal(kernels->config, &kernels->topology, &kernels->crew, 1, megabytes))
		return false;
	rivals_init();
	return true;
}

static int measure(struct kernels *kernels, int argc, char *const argv[])
{
	int status = sheet_open(&kernels->sheet, columns, kernels->config), closed;

	if (status != 0)
		return status;
	host_facts_read(&kernels->facts, argc, argv);
	host_facts_add_memory(&kernels->facts);
	sheet_begin(&kernels->sheet, &kernels->facts);
	if (!choices_each_traffic(kernels->zipf, kernels->flows, run_traffic, kernels))
		status = 1;
	closed = sheet_close(&kernels->sheet);
	return status != 0 ? status : closed;
}

int bench_kernels(const struct config *config, int argc, char *const argv[])
{
	static struct kernels kernels;
	const struct bench_config *bench = &config->bench;
	int status = 1;

	kernels.config = config;
	kernels.flows = choices_of(&bench->flows, bench->quick ? &flows_quick : &flows_default);
	kernels.zipf = choices_of(&bench->zipf, &zipf_default);
	kernels.widths = choices_of(&bench->widths, bench->quick ? &widths_quick : &widths_default);
	kernels.threads = choices_of(&bench->threads, &threads_default);
	kernels.rounds = bench->quick ? QUICK_ROUNDS : ROUNDS;
	if (bench->rounds > 0)
		kernels.rounds = bench->rounds;
	if (!setup_topology(&kernels.topology, config))
		return 1;
	crew_init(&kernels.crew, &kernels.topology);
	choose_contestants(&kernels);
	if (start_eal(&kernels)) {
		status = measure(&kernels, argc, argv);
		eal_stop();
	}
	return status;
}
