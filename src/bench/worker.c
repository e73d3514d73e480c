/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * bench worker: what the whole measurement adds to a worker that only receives and frees, for every
 * sketch, sharing and atomic. One worker, alone on its sketch also where that is shared. Its
 * HyperLogLog is part of it.
 */

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/bench.h"
#include "bench/choices.h"
#include "bench/polled.h"
#include "bench/setup.h"
#include "bench/sheet.h"
#include "bench/stats.h"
#include "parallel/eal.h"
#include "rx/capture/synthetic.h"

#define ROUNDS        7
#define PACKETS       2000000
#define QUICK_ROUNDS  3
#define QUICK_PACKETS 100000
#define ENTRANTS_MAX  64

static const struct sheet_column columns[] = {
	{.name = "bench"},
	{"name", "", -16},
	{"sharing", "", -8},
	{"atomic", "", -4},
	{.name = "traffic"},
	{.name = "flows"},
	{.name = "packets"},
	{"width", "width", 8},
	{.name = "rounds"},
	{"added_ns", "added", 7},
	{"added_ns_min", "min", 7},
	{"added_ns_max", "max", 7},
	{"total_ns", "total", 7},
	{"rx_ns", "rx", 7},
	{"count_ns", "count", 7},
	{"free_ns", "free", 7},
	{"interrupted", "interr.", 7},
	{"note", "", -1},
	{.name = NULL},
};

/* Whoever takes turns; number 0 receives and frees. */
struct entrant {
	struct contestant contestant;
	struct config config;
	struct plan plan;
	double total[BENCH_ROUNDS_MAX], rx[BENCH_ROUNDS_MAX], count[BENCH_ROUNDS_MAX],
		free[BENCH_ROUNDS_MAX], interrupted[BENCH_ROUNDS_MAX];
};

struct worker_bench {
	const struct config *config;
	const struct config_values *flows, *zipf, *widths;
	uint32_t rounds;
	uint64_t packets;
	struct topology topology;
	struct sheet sheet;
	struct host_facts facts;
	struct entrant entrants[ENTRANTS_MAX];
	uint32_t nb_entrants;
};

static const struct config_values flows_default = {2, {1000, 1000000}};
static const struct config_values flows_quick = {1, {1000}};
static const struct config_values zipf_default = {2, {1050000, CONFIG_ZIPF_RANDOM}};
static const struct config_values widths_default = {1, {0}}; /* the sketch's own */
static const struct config_values one_thread = {1, {1}};

/* The first entrant counts nothing: any sketch does for its plan. */
static bool choose_entrants(struct worker_bench *bench, char *error)
{
	struct contestant contestants[ENTRANTS_MAX];
	uint32_t n = choices_contestants(
		&bench->config->bench, &one_thread, contestants + 1, ENTRANTS_MAX - 1);

	contestants[0] = (struct contestant){
		.name = "receive and free", .sketch = sketches[0], .threads = 1};
	for (bench->nb_entrants = 0; bench->nb_entrants < n + 1; bench->nb_entrants++) {
		struct entrant *entrant = &bench->entrants[bench->nb_entrants];

		entrant->contestant = contestants[bench->nb_entrants];
		setup_run_config(&entrant->config, bench->config, &entrant->contestant);
		entrant->config.packets = bench->packets;
		if (!setup_plan(&entrant->plan, &entrant->config, &bench->topology, error))
			return false;
	}
	return true;
}

static bool run_round(
	struct worker_bench *bench, struct source *source, uint32_t round, char *error)
{
	for (uint32_t e = 0; e < bench->nb_entrants; e++) {
		struct entrant *entrant = &bench->entrants[e];
		struct polled_sample sample;

		if (!polled_run(&entrant->config, &entrant->plan, source,
			    e == 0 ? POLLED_RECEIVE_AND_FREE : POLLED_MEASURE, &sample, error))
			return false;
		entrant->total[round] = sample.total;
		entrant->rx[round] = sample.rx;
		entrant->count[round] = sample.count;
		entrant->free[round] = sample.free;
		entrant->interrupted[round] = sample.interrupted;
	}
	return true;
}

static void cell_identity(
	struct worker_bench *bench, const struct entrant *entrant, uint64_t zipf, uint64_t flows)
{
	struct sheet *sheet = &bench->sheet;
	char traffic[CHOICES_TEXT_MAX];

	choices_traffic(traffic, zipf);
	sheet_cell(sheet, "bench", "worker");
	sheet_cell(sheet, "name", "%s", entrant->contestant.name);
	sheet_cell(sheet, "traffic", "%s", traffic);
	if (zipf != CONFIG_ZIPF_RANDOM)
		sheet_cell(sheet, "flows", "%" PRIu64, flows);
	sheet_cell(sheet, "packets", "%" PRIu64, bench->packets);
	if (entrant == &bench->entrants[0])
		return;
	sheet_cell(sheet, "sharing", "%s", entrant->config.sharing);
	sheet_cell(sheet, "atomic", "%s", setup_atomic_name(&entrant->contestant));
	sheet_cell(sheet, "width", "%" PRIu64, entrant->plan.measurements[0].params.width);
}

static void print_entrant(
	struct worker_bench *bench, uint32_t e, uint64_t zipf, uint64_t flows, uint32_t rounds)
{
	const struct entrant *entrant = &bench->entrants[e];
	struct bench_stats added =
		bench_stats_difference(entrant->total, bench->entrants[0].total, rounds);
	struct sheet *sheet = &bench->sheet;

	cell_identity(bench, entrant, zipf, flows);
	sheet_cell(sheet, "rounds", "%u", rounds);
	sheet_cell(sheet, "total_ns", "%.2f", bench_stats_of(entrant->total, rounds).median);
	sheet_cell(sheet, "rx_ns", "%.2f", bench_stats_of(entrant->rx, rounds).median);
	sheet_cell(sheet, "free_ns", "%.2f", bench_stats_of(entrant->free, rounds).median);
	sheet_cell(
		sheet, "interrupted", "%.4f", bench_stats_of(entrant->interrupted, rounds).median);
	if (e > 0) {
		sheet_cell(sheet, "added_ns", "%.2f", added.median);
		sheet_cell(sheet, "added_ns_min", "%.2f", added.min);
		sheet_cell(sheet, "added_ns_max", "%.2f", added.max);
		sheet_cell(
			sheet, "count_ns", "%.2f", bench_stats_of(entrant->count, rounds).median);
	}
	sheet_row(sheet, &bench->facts);
}

/* All widths on one source. */
static bool run_widths(
	struct worker_bench *bench, struct source *source, uint64_t zipf, uint64_t flows)
{
	char traffic[CHOICES_TEXT_MAX], error[POLLED_ERROR_MAX];

	choices_traffic(traffic, zipf);
	for (uint32_t w = 0; w < bench->widths->n; w++) {
		uint32_t rounds = 0;

		for (uint32_t e = 0; e < bench->nb_entrants; e++) {
			struct entrant *entrant = &bench->entrants[e];

			entrant->config.measurements[0].width = bench->widths->values[w];
			if (!setup_plan(
				    &entrant->plan, &entrant->config, &bench->topology, error)) {
				log_error("%s", error);
				return false;
			}
		}
		for (; rounds < bench->rounds && !signals_stop_requested(); rounds++)
			if (!run_round(bench, source, rounds, error)) {
				log_error("%s", error);
				return false;
			}
		if (rounds == 0)
			return true;
		sheet_heading(&bench->sheet,
			"%s, %" PRIu64 " flows: %" PRIu64 " packets a round; %u rounds", traffic,
			flows, bench->packets, rounds);
		for (uint32_t e = 0; e < bench->nb_entrants; e++)
			print_entrant(bench, e, zipf, flows, rounds);
	}
	return true;
}

static bool run_traffic(void *arg, uint64_t zipf, uint64_t flows)
{
	struct worker_bench *bench = arg;
	struct source *source = setup_source(zipf, flows);
	bool right;

	if (source == NULL)
		return false;
	right = run_widths(bench, source, zipf, flows);
	source->close(source);
	return right;
}

static int measure(struct worker_bench *bench, int argc, char *const argv[])
{
	int status = sheet_open(&bench->sheet, columns, bench->config), closed;

	if (status != 0)
		return status;
	host_facts_read(&bench->facts, argc, argv);
	host_facts_add_memory(&bench->facts);
	sheet_begin(&bench->sheet, &bench->facts);
	if (!choices_each_traffic(bench->zipf, bench->flows, run_traffic, bench))
		status = 1;
	closed = sheet_close(&bench->sheet);
	return status != 0 ? status : closed;
}

int bench_worker(const struct config *config, int argc, char *const argv[])
{
	static struct worker_bench bench;
	const struct bench_config *choices = &config->bench;
	char error[EAL_ERROR_MAX];
	int status = 1;

	bench.config = config;
	bench.flows = choices_of(&choices->flows, choices->quick ? &flows_quick : &flows_default);
	bench.zipf = choices_of(&choices->zipf, &zipf_default);
	bench.widths = choices_of(&choices->widths, &widths_default);
	bench.rounds =
		choices->rounds > 0 ? choices->rounds : (choices->quick ? QUICK_ROUNDS : ROUNDS);
	bench.packets = choices->packets > 0 ? choices->packets
					     : (choices->quick ? QUICK_PACKETS : PACKETS);
	if (!setup_topology(&bench.topology, config))
		return 1;
	if (!choose_entrants(&bench, error)) {
		log_error("%s", error);
		return 1;
	}
	if (bench.entrants[0].plan.oversubscribed) {
		log_error("two CPUs are needed, one for the feeder and one for the worker");
		return 1;
	}
	if (!eal_start(&bench.entrants[0].plan, config, error)) {
		log_error("%s", error);
		return 1;
	}
	status = measure(&bench, argc, argv);
	eal_stop();
	return status;
}
