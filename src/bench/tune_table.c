/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/tune_table.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/choices.h"
#include "bench/contest.h"
#include "bench/flow_tables.h"
#include "bench/pipeline.h"
#include "bench/tune_choice.h"
#include "parallel/plan/flow_stores.h"

#define SIZES      4
#define TRIES_MAX  (CONFIG_VALUES_MAX * FLOW_TABLES_MAX)
#define ALL_HASHES ((1u << TABLE_HASH_COUNT) - 1)

struct tables {
	const struct tune_table *tune;
	struct contestant tables[FLOW_TABLES_MAX];
	struct contest_result results[FLOW_TABLES_MAX];
	uint32_t nb_tables;
	/* By size, then by table. */
	uint32_t nb_tries;
	struct contestant tries[TRIES_MAX];
	struct tune_figures figures[TRIES_MAX];
};

bool tune_table_asked(const struct bench_config *bench)
{
	for (uint32_t s = 0; sketches[s] != NULL; s++)
		if (sketches[s] == &flow_table_ops)
			return bench->sketches == 1u << s;
	return false;
}

/*
 * Not rss: what a card would compute is not known here. The run's own hash is computed for all of
 * them, as a run does.
 */
static uint32_t choose_tables(const struct config *config, struct contestant *tables)
{
	struct bench_config bench = config->bench;
	uint32_t n;

	if (bench.table_hashes == 0)
		bench.table_hashes = ALL_HASHES & ~(1u << TABLE_HASH_RSS);
	n = flow_tables_choose(&bench, tables);
	for (uint32_t t = 0; t < n; t++)
		tables[t].ops = &contestant_table;
	return n;
}

/* From half as many buckets as keys upwards: fewer would not have room. */
static const struct config_values *choose_sizes(
	const struct config *config, const struct workload *workload)
{
	static struct config_values sizes;
	uint64_t width = 16;

	while (2 * width < workload->distinct)
		width *= 2;
	sizes.n = SIZES;
	for (uint32_t i = 0; i < SIZES; i++)
		sizes.values[i] = width << i;
	return choices_of(&config->bench.widths, &sizes);
}

size_t tune_table_heap(const struct config *config, const struct workload *workload)
{
	struct contestant tables[FLOW_TABLES_MAX];
	const struct config_values *sizes = choose_sizes(config, workload);

	return flow_tables_heap(tables, choose_tables(config, tables), sizes->values, sizes->n);
}

/* Of the smallest run there is. */
static uint64_t run_memory(const struct tune_table *tune, const struct contestant *table)
{
	static struct config config;
	static struct plan plan;
	const struct pipeline_setting setting = {
		.design = "rss", .contestant = *table, .workers = 1};
	char error[OFFER_ERROR_MAX];

	if (!pipeline_plan(&setting, tune->config, tune->topology, "tune", &config, &plan, error))
		return UINT64_MAX;
	return plan.packet_bytes + plan.sketch_bytes;
}

static void add_tries(struct tables *all, uint64_t buckets, uint32_t rounds)
{
	uint64_t limit = all->tune->config->bench.memory;

	for (uint32_t t = 0; t < all->nb_tables && rounds > 0; t++) {
		const struct contest_result *result = &all->results[t];
		struct contestant *try = &all->tries[all->nb_tries];
		struct tune_figures *figures = &all->figures[all->nb_tries++];

		*try = all->tables[t];
		try->width = buckets;
		*figures = (struct tune_figures){
			.comparable = true, .threads = 1, .memory = run_memory(all->tune, try)};
		figures->fits = result->missing == NULL && result->refused == 0 &&
				(limit == 0 || figures->memory <= limit);
		if (result->missing == NULL)
			figures->pps = 1e9 / bench_stats_of(result->ns, rounds).median;
		figures->error = (double)result->refused;
	}
}

static const char *why_not(const struct tables *all, uint32_t t)
{
	const struct tune_figures *figures = &all->figures[t];

	if (figures->pps <= 0)
		return "not measured: no memory";
	if (figures->error > 0)
		return "has no room for every key";
	return figures->fits ? "" : "more than --memory";
}

static void print_try(const struct tables *all, uint32_t t, bool chosen)
{
	const struct contestant *try = &all->tries[t];
	const struct tune_figures *figures = &all->figures[t];
	struct sheet *sheet = all->tune->sheet;

	sheet_cell(sheet, "bench", "tune table");
	sheet_cell(sheet, "source", "%s", all->tune->source);
	sheet_cell(sheet, "sketch", "%s", try->sketch->name);
	sheet_cell(sheet, "collision", "%s", flow_stores[try->collision]->name);
	sheet_cell(sheet, "hash", "%s", table_hash_names[try->table_hash]);
	sheet_cell(sheet, "width", "%" PRIu64, try->width);
	if (figures->memory < UINT64_MAX)
		sheet_cell(sheet, "memory_bytes", "%" PRIu64, figures->memory);
	if (figures->pps > 0)
		sheet_cell(sheet, "ns", "%.2f", 1e9 / figures->pps);
	if (chosen)
		sheet_cell(sheet, "chosen", "chosen");
	sheet_cell(sheet, "note", "%s", why_not(all, t));
	sheet_row(sheet, all->tune->facts);
}

static bool measure(struct tables *all)
{
	const struct tune_table *tune = all->tune;
	const struct config_values *sizes = choose_sizes(tune->config, tune->workload);
	struct contest contest = {.workload = tune->workload, .seed = tune->config->seed};
	char error[CONTEST_ERROR_MAX];
	uint32_t rounds;

	for (uint32_t s = 0; s < sizes->n && !signals_stop_requested(); s++) {
		contest.width = sizes->values[s];
		if (!contest_run(&contest, tune->crew, all->tables, all->nb_tables, tune->rounds,
			    all->results, &rounds, error)) {
			log_error("%s", error);
			return false;
		}
		add_tries(all, contest.width, rounds);
	}
	return true;
}

bool tune_table_choose(const struct tune_table *tune, struct contestant *chosen)
{
	static struct tables all;
	uint32_t choice;

	all.tune = tune;
	all.nb_tables = choose_tables(tune->config, all.tables);
	log_notice("counting %" PRIu64 " packets with %u kinds of flow table",
		tune->workload->spec.packets, all.nb_tables);
	if (!measure(&all))
		return false;
	choice = tune_choose(all.figures, all.nb_tries);
	sheet_heading(tune->sheet, "%s: %" PRIu64 " keys; which table, %u rounds in memory",
		tune->source, tune->workload->distinct, tune->rounds);
	for (uint32_t t = 0; t < all.nb_tries; t++)
		print_try(&all, t, t == choice);
	if (choice < all.nb_tries)
		*chosen = all.tries[choice];
	else
		log_error(signals_stop_requested()
				  ? "ended before every table had a round"
				  : "no table has room for all keys within --memory and --width: "
				    "see the table");
	return choice < all.nb_tries;
}
