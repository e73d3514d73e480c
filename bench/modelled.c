/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/modelled.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assertion.h"
#include "base/signals.h"
#include "bench/card_run.h"
#include "bench/design_model.h"
#include "bench/paper_facts.h"
#include "tune/measure/setup.h"

#define PAPER_WORKERS    6
#define PAPER_RATE       72000000 /* packets/s */
#define PAPER_SIZE       64
#define BUSY_DROP        0.02 /* a poller that loses more has no time left */
#define DISTURBED        0.02 /* share of the time */
#define COMBINATIONS_MAX 16
#define DESIGNS_MAX      8

/* The rate of the paper, and shares of the rate that the host measures at it. */
enum load { LOAD_PAPER, LOAD_FEW, LOAD_MORE, LOAD_OVER, LOADS };

static const double shares[LOADS] = {[LOAD_FEW] = 0.25, [LOAD_MORE] = 0.75, [LOAD_OVER] = 1.25};

/* The costs come from these two loads. */
static bool is_fitted(uint32_t load)
{
	return load == LOAD_PAPER || load == LOAD_FEW;
}

struct workers {
	uint32_t n;
	uint64_t rates[LOADS];
	struct card_sample samples[LOADS][BENCH_ROUNDS_MAX];
};

struct combination {
	const char *design;
	enum sketch_sharing sharing;
	const struct sketch_ops *sketch;
	struct paper_cell cell;
	uint32_t nb_workers;
	struct workers workers[2]; /* one, and as many as fit, up to PAPER_WORKERS */
};

struct modelled {
	const struct modelled_params *params;
	struct figures *figures;
	uint32_t rounds, n;
	struct combination combinations[COMBINATIONS_MAX];
};

/* Medians, and the spread of the rounds. */
struct prediction {
	struct bench_stats drop, delay;
};

/* The paper has no count-min with sync and async. */
static void add_combinations(struct modelled *modelled)
{
	const struct cpus *cpus = modelled->params->cpus;

	for (const struct design_ops *const *design = designs; *design != NULL; design++)
		for (uint32_t sharing = 0; sharing < SHARING_COUNT; sharing++)
			for (uint32_t s = 0; sketches[s] != NULL; s++) {
				struct combination *one = &modelled->combinations[modelled->n];
				uint32_t others = (*design)->rx_core, most;

				paper_cell_of(&one->cell, (*design)->name,
					plan_sharing_word(sharing), sketches[s]->name);
				if (modelled->n + 1 == COMBINATIONS_MAX ||
					paper_cell_value(&one->cell, "PPT")[0] == '\0')
					continue;
				one->design = (*design)->name;
				one->sharing = (enum sketch_sharing)sharing;
				one->sketch = sketches[s];
				most = cpus->n > others ? cpus->n - others : 0;
				most = most < PAPER_WORKERS ? most : PAPER_WORKERS;
				one->nb_workers = most > 1 ? 2 : most;
				one->workers[0].n = 1;
				one->workers[1].n = most;
				modelled->n++;
			}
}

static const struct workers *most_workers(const struct combination *combination)
{
	return &combination->workers[combination->nb_workers > 1 ? 1 : 0];
}

static bool run_load(const struct modelled *modelled, const struct combination *combination,
	struct workers *workers, uint32_t load, uint32_t round, char *error)
{
	const struct modelled_params *params = modelled->params;
	struct pipeline_setting setting = {
		.design = combination->design,
		.subject = {.sketch = combination->sketch,
			.name = combination->sketch->name,
			.sharing = combination->sharing,
			.threads = 1},
		.workers = workers->n,
		.size = PAPER_SIZE,
		.rate = workers->rates[load],
		.workload = params->workload,
	};

	return card_run(&setting, params->config, params->topology, params->cpus->ids,
		params->cpus->n, params->milliseconds, &workers->samples[load][round], error);
}

/* Rates are the same in all rounds. */
static void choose_rates(struct workers *workers)
{
	double most = workers->samples[LOAD_PAPER][0].measured_pps;

	for (uint32_t load = LOAD_FEW; load < LOADS; load++)
		workers->rates[load] = (uint64_t)(shares[load] * most) + 1;
}

static bool run_round(struct modelled *modelled, uint32_t round, char *error)
{
	for (uint32_t c = 0; c < modelled->n; c++) {
		struct combination *combination = &modelled->combinations[c];

		for (uint32_t w = 0; w < combination->nb_workers; w++)
			for (uint32_t load = 0; load < LOADS; load++) {
				struct workers *workers = &combination->workers[w];

				workers->rates[LOAD_PAPER] = PAPER_RATE;
				if (signals_stop_requested() ||
					!run_load(
						modelled, combination, workers, load, round, error))
					return false;
				if (round == 0 && load == LOAD_PAPER)
					choose_rates(workers);
			}
	}
	return true;
}

/* Returns the ns per poll that no step counts, from a run whose polling threads were always busy. */
static double loop_ns(
	const struct combination *combination, const struct card_sample *full, uint32_t workers)
{
	bool receiver = design_find(combination->design)->rx_core,
	     rings = design_find(combination->design)->rings;
	double received = full->measured_pps / (1 - full->ring_drop) / (receiver ? 1 : workers),
	       ns = full->poll.ns + full->handover_ns / full->poll.burst;

	if (1 - (1 - full->drop_rate) / (1 - full->ring_drop) < BUSY_DROP)
		return 0;
	if (!rings)
		ns += full->work.ns / (receiver ? workers : 1);
	return fmax((1e9 / received - ns) * full->poll.burst, 0);
}

static const struct combination *find(
	const struct modelled *modelled, const char *design, const struct combination *like)
{
	for (uint32_t c = 0; c < modelled->n; c++)
		if (strcmp(modelled->combinations[c].design, design) == 0 &&
			modelled->combinations[c].sharing == like->sharing &&
			modelled->combinations[c].sketch == like->sketch)
			return &modelled->combinations[c];
	return like;
}

static struct burst_cost poll_cost(const struct workers *workers, uint32_t round)
{
	const struct card_sample *full = &workers->samples[LOAD_PAPER][round];
	struct card_step poll = full->poll;

	poll.ns -= full->ring_drop * full->free_ns;
	return burst_cost_of(poll, workers->samples[LOAD_FEW][round].poll);
}

static struct design_costs costs_of(const struct modelled *modelled,
	const struct combination *combination, const struct workers *workers, uint32_t round)
{
	const struct card_sample *full = &workers->samples[LOAD_PAPER][round];
	struct design_costs costs = {
		.poll = poll_cost(workers, round),
		.work = burst_cost_of(full->work, workers->samples[LOAD_FEW][round].work),
		.loop_ns = loop_ns(combination, full, workers->n),
		.handover_ns = full->handover_ns / workers->n,
		.free_ns = full->free_ns,
	};

	/* A receiver with rings polls like a worker without; the rest of a poll is for the rings. */
	if (design_find(combination->design)->rings) {
		double own =
			poll_cost(&find(modelled, "rss", combination)->workers[0], round).burst_ns;
		double push = fmax(costs.poll.burst_ns - own, 0);

		costs.poll.burst_ns -= push;
		costs.handover_ns = push / workers->n;
	}
	return costs;
}

/*
 * Returns the ns per packet that each further worker adds to the update of a shared sketch, as
 * measured with the design rss.
 */
static double contention_ns(
	const struct modelled *modelled, const struct combination *combination, uint32_t round)
{
	const struct combination *rss = find(modelled, "rss", combination);
	const struct workers *one = &rss->workers[0], *most = &rss->workers[1];

	if (combination->sharing != SHARING_SHARED || rss->nb_workers < 2)
		return 0;
	return fmax(most->samples[LOAD_PAPER][round].count_ns -
			       one->samples[LOAD_PAPER][round].count_ns,
		       0) /
	       (most->n - one->n);
}

/*
 * Models a run with the costs of each round. card: the run has a simulated NIC, whose time is part
 * of the load but not of the delay. Contention is left out there: it was measured with such runs.
 */
static struct prediction predict(const struct modelled *modelled,
	const struct combination *combination, const struct workers *from, uint32_t workers,
	double rate, bool card)
{
	const struct design_load load = {combination->design, workers, rate};
	double drop[BENCH_ROUNDS_MAX] = {0}, delay[BENCH_ROUNDS_MAX] = {0};

	for (uint32_t r = 0; r < modelled->rounds; r++) {
		struct design_costs costs = costs_of(modelled, combination, from, r);
		double dma = from->samples[LOAD_PAPER][r].dma_ns;
		struct design_outcome outcome;

		if (!card) {
			costs.poll.packet_ns = fmax(costs.poll.packet_ns - dma, 0);
			costs.work.packet_ns +=
				(workers - from->n) * contention_ns(modelled, combination, r);
		}
		outcome = design_model_run(&load, &costs);
		drop[r] = outcome.drop_rate;
		delay[r] = (outcome.poll_ns - (card ? dma : 0)) / (1 - outcome.ring_drop) +
			   outcome.work_ns;
	}
	return (struct prediction){
		.drop = bench_stats_of(drop, modelled->rounds),
		.delay = bench_stats_of(delay, modelled->rounds),
	};
}

static void cell_setting(const struct modelled *modelled, const struct combination *combination,
	uint32_t workers, double rate)
{
	const struct modelled_params *params = modelled->params;
	struct figures *figures = modelled->figures;

	figures_cell(figures, "bench", "%s", params->bench);
	figures_cell(figures, "experiment", "%s", MODELLED_TITLE);
	figures_cell(figures, "design", "%s", combination->design);
	figures_cell(figures, "sharing", "%s", plan_sharing_word(combination->sharing));
	figures_cell(figures, "sketch", "%s", combination->sketch->name);
	if (combination->sharing == SHARING_SHARED)
		figures_cell(figures, "atomic", "%s", plan_atomic_word(ATOMIC_CAS));
	figures_cell(figures, "workers", "%u", workers);
	figures_cell(figures, "size", "%u", PAPER_SIZE);
	figures_cell(
		figures, "width", "%llu", (unsigned long long)combination->sketch->default_width);
	figures_cell(figures, "traffic", "%s", params->traffic);
	figures_cell(figures, "rounds", "%u", modelled->rounds);
	figures_cell(figures, "offered_mpps", "%.2f", rate / 1e6);
}

static void cell_loss(struct figures *figures, struct bench_stats drop)
{
	figures_cell(figures, "drop_rate", "%.4f", drop.median);
	figures_cell(figures, "drop_rate_min", "%.4f", drop.min);
	figures_cell(figures, "drop_rate_max", "%.4f", drop.max);
}

static const char *printed(const struct modelled *modelled, const struct combination *combination,
	const char *quantity)
{
	return modelled->params->of_paper ? paper_cell_value(&combination->cell, quantity) : "";
}

static void cell_measured(const struct modelled *modelled, const struct card_sample *samples,
	struct bench_stats *drop, struct bench_stats *delay)
{
	struct figures *figures = modelled->figures;
	uint32_t rounds = modelled->rounds;

	*drop = BENCH_STATS(samples, drop_rate, rounds);
	*delay = BENCH_STATS(samples, delay_ns, rounds);
	figures_cell(figures, "measured_mpps", "%.2f",
		BENCH_STATS(samples, measured_pps, rounds).median / 1e6);
	cell_loss(figures, *drop);
	figures_cell(figures, "rx_ns", "%.2f", BENCH_STATS(samples, rx_ns, rounds).median);
	figures_cell(figures, "count_ns", "%.2f", BENCH_STATS(samples, count_ns, rounds).median);
	figures_cell(figures, "free_ns", "%.2f", BENCH_STATS(samples, free_ns, rounds).median);
	figures_cell(figures, "delay_ns", "%.2f", delay->median);
	figures_cell(figures, "how", "measured");
}

/* Writes a run and what the model says of it, with the costs of `from`. */
static void print_run(const struct modelled *modelled, const struct combination *combination,
	const struct workers *workers, const struct workers *from, uint32_t load,
	struct model_errors *errors)
{
	struct prediction model = predict(
		modelled, combination, from, workers->n, (double)workers->rates[load], true);
	struct figures *figures = modelled->figures;
	struct bench_stats drop, delay;
	double drop_error;

	cell_setting(modelled, combination, workers->n, (double)workers->rates[load]);
	cell_measured(modelled, workers->samples[load], &drop, &delay);
	drop_error = model.drop.median - drop.median;
	figures_cell(figures, "model_drop_rate", "%.4f", model.drop.median);
	figures_cell(figures, "model_delay_ns", "%.2f", model.delay.median);
	figures_cell(figures, "drop_error", "%.4f", drop_error);
	figures_cell(figures, "delay_error", "%.4f", model.delay.median / delay.median - 1);
	if (from != workers) {
		figures_cell(figures, "note", "modelled from one worker%s",
			combination->sharing == SHARING_SHARED ? ", without contention" : "");
	} else if (is_fitted(load)) {
		figures_cell(figures, "note", "costs come from this run");
		if (load == LOAD_PAPER && workers == most_workers(combination))
			figures_cell(figures, "paper_count_ns", "%s",
				printed(modelled, combination, "PPT"));
	}
	if (BENCH_STATS(workers->samples[load], interrupted, modelled->rounds).median > DISTURBED)
		figures_note(figures, "other programs took %.0f %% of the time",
			BENCH_STATS(workers->samples[load], interrupted, modelled->rounds).median *
				100);
	model_errors_add(errors, &(struct model_run){.workers = workers->n,
					 .cost_workers = from->n,
					 .fitted = from == workers && is_fitted(load),
					 .drop_error = drop_error});
	figures_row(figures);
}

static void print_runs(const struct modelled *modelled, const struct combination *combination,
	struct model_errors *errors)
{
	for (uint32_t w = 0; w < combination->nb_workers; w++)
		for (uint32_t load = 0; load < LOADS; load++)
			print_run(modelled, combination, &combination->workers[w],
				&combination->workers[w], load, errors);
	if (combination->nb_workers > 1)
		print_run(modelled, combination, &combination->workers[1], &combination->workers[0],
			LOAD_PAPER, errors);
}

static struct model_errors *errors_of(
	struct model_errors errors[DESIGNS_MAX], const struct combination *combination)
{
	uint32_t design = design_index(combination->design);

	VERIFY(design, <, (uint32_t)DESIGNS_MAX);
	return &errors[design];
}

/* n: number of workers in the measurement of the costs. */
static void note_errors(struct figures *figures, uint32_t n, const char *contention,
	const struct model_errors *errors)
{
	char more[96] = "; more workers not tested";

	if (errors->more.runs > 0)
		snprintf(more, sizeof(more),
			", %.3f in %u from 1 worker; contention beyond %u not tested",
			errors->more.drop, errors->more.runs, n);
	figures_cell(figures, "note", "from %u worker%s%s; PDR at most %.3f off in %u runs%s", n,
		n == 1 ? "" : "s", contention, errors->same.drop, errors->same.runs, more);
}

static void note_model(const struct modelled *modelled, const struct combination *combination,
	const struct model_errors *errors)
{
	double more[BENCH_ROUNDS_MAX] = {0};
	char contention[64] = "";

	for (uint32_t r = 0; r < modelled->rounds; r++)
		more[r] = contention_ns(modelled, combination, r);
	if (combination->sharing == SHARING_SHARED)
		snprintf(contention, sizeof(contention), ", %.1f ns more for each further one",
			bench_stats_of(more, modelled->rounds).median);
	note_errors(modelled->figures, most_workers(combination)->n, contention, errors);
}

static void print_six(const struct modelled *modelled, const struct combination *combination,
	const struct model_errors *errors)
{
	const struct workers *from = most_workers(combination);
	struct figures *figures = modelled->figures;
	struct prediction model;

	cell_setting(modelled, combination, PAPER_WORKERS, PAPER_RATE);
	if (combination->nb_workers == 0) {
		figures_cell(figures, "note", "not possible: a receiver and a worker need 2 CPUs");
		figures_row(figures);
		return;
	}
	model = predict(modelled, combination, from, PAPER_WORKERS, PAPER_RATE, false);
	figures_cell(figures, "measured_mpps", "%.2f", PAPER_RATE * (1 - model.drop.median) / 1e6);
	cell_loss(figures, model.drop);
	figures_cell(figures, "paper_drop_rate", "%s", printed(modelled, combination, "PDR"));
	figures_cell(figures, "delay_ns", "%.2f", model.delay.median);
	figures_cell(figures, "how", "modelled");
	note_model(modelled, combination, errors);
	figures_row(figures);
}

static void print_printed(const struct modelled *modelled, const struct combination *combination,
	const char *quantity, const struct model_errors *errors)
{
	const struct workers *from = most_workers(combination);
	bool loss = strcmp(quantity, "PDR") == 0,
	     six = combination->nb_workers > 0 && from->n == PAPER_WORKERS;
	struct figures *figures = modelled->figures;
	struct bench_stats ours;

	figures_cell(figures, "bench", "%s", modelled->params->bench);
	figures_cell(figures, "experiment", "printed figures");
	figures_cell(figures, "item", "%s", combination->cell.item);
	figures_cell(figures, "setting", "%s", combination->cell.setting);
	figures_cell(figures, "quantity", "%s", quantity);
	figures_cell(figures, "unit", "%s", loss ? "ratio" : "ns");
	figures_cell(figures, "printed", "%s", printed(modelled, combination, quantity));
	if (combination->nb_workers == 0) {
		figures_cell(figures, "note", "not possible: a receiver and a worker need 2 CPUs");
		figures_row(figures);
		return;
	}
	if (!loss)
		ours = BENCH_STATS(from->samples[LOAD_PAPER], count_ns, modelled->rounds);
	else if (six)
		ours = BENCH_STATS(from->samples[LOAD_PAPER], drop_rate, modelled->rounds);
	else
		ours = predict(modelled, combination, from, PAPER_WORKERS, PAPER_RATE, false).drop;
	figures_cell(figures, "workers", "%u", loss ? PAPER_WORKERS : from->n);
	figures_cell(figures, "ours", loss ? "%.4f" : "%.2f", ours.median);
	figures_cell(figures, "ours_min", loss ? "%.4f" : "%.2f", ours.min);
	figures_cell(figures, "ours_max", loss ? "%.4f" : "%.2f", ours.max);
	figures_cell(figures, "how", loss && !six ? "modelled" : "measured");
	if (loss && !six)
		note_errors(figures, from->n, "", errors);
	else if (!six)
		figures_cell(figures, "note", "%u worker%s in place of six", from->n,
			from->n == 1 ? "" : "s");
	figures_row(figures);
}

/* In the CSV only: the table has the same figures. */
static void print_all_printed(
	const struct modelled *modelled, struct model_errors errors[DESIGNS_MAX])
{
	FILE *table = modelled->figures->table;

	modelled->figures->table = NULL;
	for (uint32_t c = 0; modelled->params->of_paper && c < modelled->n; c++) {
		const struct combination *one = &modelled->combinations[c];

		print_printed(modelled, one, "PDR", errors_of(errors, one));
		print_printed(modelled, one, "PPT", errors_of(errors, one));
	}
	modelled->figures->table = table;
}

static void print_all(const struct modelled *modelled)
{
	struct model_errors errors[DESIGNS_MAX] = {0};

	figures_heading(modelled->figures, "%s: %s, %u rounds of %u ms", MODELLED_TITLE,
		modelled->params->traffic, modelled->rounds, modelled->params->milliseconds);
	for (uint32_t c = 0; c < modelled->n; c++)
		print_runs(modelled, &modelled->combinations[c],
			errors_of(errors, &modelled->combinations[c]));
	for (uint32_t c = 0; c < modelled->n; c++)
		print_six(modelled, &modelled->combinations[c],
			errors_of(errors, &modelled->combinations[c]));
	print_all_printed(modelled, errors);
}

bool modelled_run(const struct modelled_params *params, struct figures *figures, char *error)
{
	static struct modelled modelled;

	memset(&modelled, 0, sizeof(modelled));
	modelled.params = params;
	modelled.figures = figures;
	modelled.rounds = params->rounds;
	add_combinations(&modelled);
	for (uint32_t round = 0; round < params->rounds; round++)
		if (!run_round(&modelled, round, error))
			return signals_stop_requested();
	print_all(&modelled);
	return true;
}
