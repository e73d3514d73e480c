/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * sketchtap-bench adaptive: repeats the figures of Tangari et al., "Adaptive Traffic Monitoring for
 * Software Dataplanes" (2017). As in the paper, a queue model gives the losses, with packet costs
 * of the paper or of --profile.
 */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "adapt/cache_share.h"
#include "adapt/demand.h"
#include "base/assertion.h"
#include "base/log.h"
#include "base/regular_file.h"
#include "base/random.h"
#include "bench/adaptive_model.h"
#include "bench/bench.h"
#include "bench/common.h"
#include "bench/paper_facts.h"
#include "bench/prediction.h"
#include "bench/state_counting.h"
#include "parallel/run/eal.h"
#include "parallel/workers/node_memory.h"
#include "parallel/plan/plan.h"
#include "sketch/measurement.h"
#include "tune/measure/bench_options.h"
#include "tune/measure/figures.h"
#include "tune/measure/setup.h"
#include "tune/measure/workload.h"

#define ROUNDS        5
#define QUICK_ROUNDS  1
#define PACKETS       (UINT64_C(1) << 19)
#define QUICK_PACKETS (UINT64_C(1) << 14)
#define FLOWS         100000
#define TABLE         (UINT64_C(1) << 18)
#define HEAP_MB       128
#define SKEWS         9
#define SKEW_STEP_E6  250000
/* simulated series of lookups with a known share of cache hits */
#define TRACES        1000
#define QUANTILES     4096
#define QUICK_NUMBERS 5 /* numbers of samples with --quick */
#define DECISIONS     51
#define SINE_S        1.0
/* assumed share of the capacity that the worker uses next to co-runners */
#define FIXED_LOAD    0.6

static const struct figures_column columns[] = {
	{.name = "bench"},
	{"figure", "", -5, ""},
	{"experiment", "", -11, ""},
	{"setting", "", -16, ""},
	{"source", "", -14, ""},
	{"entries", "queue", 6, ""},
	{"quantity", "", -15, ""},
	{"unit", "", -5, ""},
	{.name = "from_s"},
	{"value", "value", 8, ""},
	{"without", "without", 8, ""},
	{"greedy", "greedy", 8, ""},
	{"lsf", "lsf", 8, ""},
	{"queries", "queries", 8, ""},
	{"best", "best", 8, ""},
	{"best_valve", "+ valve", 8, ""},
	{"note", "", -1, ""},
	{.name = NULL},
};

struct adaptive {
	const struct config *config;
	struct figures figures;
	struct topology topology;
	struct cpus cpus;
	uint32_t rounds;
	uint64_t packets;
	struct profile profile;
	struct system paper, host;
	struct workload *workloads[SKEWS];
	double in_bursts[SKEWS], singly[SKEWS]; /* ns */
};

struct row {
	const char *figure, *experiment, *setting, *source, *quantity, *unit;
};

static void begin_row(struct adaptive *bench, const struct row *row)
{
	struct figures *figures = &bench->figures;

	figures_cell(figures, "bench", "adaptive");
	figures_cell(figures, "figure", "%s", row->figure);
	figures_cell(figures, "experiment", "%s", row->experiment);
	figures_cell(figures, "setting", "%s", row->setting);
	figures_cell(figures, "source", "%s", row->source);
	figures_cell(figures, "quantity", "%s", row->quantity);
	figures_cell(figures, "unit", "%s", row->unit);
}

static void cell(struct adaptive *bench, const char *column, double value)
{
	if (isfinite(value))
		figures_cell(&bench->figures, column, "%.4g", value);
}

static double time_pass(struct sketch *sketch, const struct workload *workload,
	struct key_burst *burst, bool singly)
{
	uint64_t start = rte_rdtsc_precise();

	for (uint64_t b = 0; b < workload_bursts(workload); b++) {
		workload_load(workload, b, burst);
		if (!singly) {
			hash_burst(&workload->hash_key, burst);
			sketch->ops->update[SHARING_SEPARATE](sketch, burst);
			continue;
		}
		for (uint32_t i = 0, n = burst->n; i < n; i++) {
			burst->key4[0] = workload->keys[b * BURST_MAX + i];
			burst->n = 1;
			hash_burst(&workload->hash_key, burst);
			sketch->ops->update[SHARING_SEPARATE](sketch, burst);
		}
	}
	return (double)(rte_rdtsc_precise() - start) * 1e9 / (double)rte_get_tsc_hz() /
	       (double)workload->spec.packets;
}

static bool time_skew(struct adaptive *bench, uint32_t skew, double *in_bursts, double *singly)
{
	const struct sketch_ops *ops = sketch_find("flow-table");
	struct sketch_params params = {.width = TABLE,
		.key = &key_rules[0],
		.seed = seed_options(bench->config)->seed,
		.allocator = node_memory_on_node(PLAN_NODE_ANY)};
	static struct key_burst burst;
	struct sketch *sketch = ops->check(&params) == NULL ? ops->create(&params) : NULL;

	if (sketch == NULL)
		return false;
	workload_burst_init(&burst);
	time_pass(sketch, bench->workloads[skew], &burst, false);
	*in_bursts = time_pass(sketch, bench->workloads[skew], &burst, false);
	*singly = time_pass(sketch, bench->workloads[skew], &burst, true);
	ops->destroy(sketch);
	return true;
}

static bool make_workloads(struct adaptive *bench)
{
	for (uint32_t s = 0; s < SKEWS; s++) {
		const struct workload_spec spec = {.zipf_e6 = s * SKEW_STEP_E6,
			.flows = FLOWS,
			.packets = workload_packets(bench->packets),
			.seed = seed_options(bench->config)->seed};

		bench->workloads[s] = workload_create(&spec, seed_options(bench->config)->seed);
		if (bench->workloads[s] == NULL)
			return false;
	}
	return true;
}

static bool measure_skews(struct adaptive *bench)
{
	double in_bursts[SKEWS][BENCH_ROUNDS_MAX], singly[SKEWS][BENCH_ROUNDS_MAX];

	for (uint32_t round = 0; round < bench->rounds; round++)
		for (uint32_t s = 0; s < SKEWS; s++)
			if (!time_skew(bench, s, &in_bursts[s][round], &singly[s][round]))
				return false;
	for (uint32_t s = 0; s < SKEWS; s++) {
		bench->in_bursts[s] = bench_stats_of(in_bursts[s], bench->rounds).median;
		bench->singly[s] = bench_stats_of(singly[s], bench->rounds).median;
	}
	return true;
}

static void print_skew(struct adaptive *bench, const char *setting, const char *unit,
	double in_bursts, double singly)
{
	struct row row = {"1", "skew", setting, "measured", "time", unit};

	begin_row(bench, &row);
	figures_note(&bench->figures, "one by one");
	cell(bench, "value", singly);
	figures_row(&bench->figures);
	begin_row(bench, &row);
	figures_note(&bench->figures, "in bursts of 64");
	cell(bench, "value", in_bursts);
	figures_row(&bench->figures);
}

static bool run_figure_1(struct adaptive *bench)
{
	bool right = make_workloads(bench) && measure_skews(bench);
	char setting[32];

	for (uint32_t s = 0; s < SKEWS; s++) {
		workload_destroy(bench->workloads[s]);
		snprintf(setting, sizeof(setting), "zipf %.2f", s * SKEW_STEP_E6 / 1e6);
		if (right)
			print_skew(bench, setting, "ns", bench->in_bursts[s], bench->singly[s]);
	}
	if (right)
		print_skew(bench, "low of high", "ratio",
			bench->in_bursts[0] / bench->in_bursts[SKEWS - 1],
			bench->singly[0] / bench->singly[SKEWS - 1]);
	else
		log_error("out of memory for the flow table or its traffic");
	return right;
}

static double quantile(const struct distribution *times, double share)
{
	double low = fmin(0, times->p5), high = times->p95 + 40 * (times->p95 - times->p5);

	for (uint32_t step = 0; step < 60; step++) {
		double middle = (low + high) / 2;

		if (distribution_below(times, middle) < share)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static struct distribution gumbel(const char *setting)
{
	double p5 = paper_number(PAPER_TANGARI, "Table I", setting, "5th quantile"),
	       p95 = paper_number(PAPER_TANGARI, "Table I", setting, "95th quantile");
	double low = -log(-log(0.05)), high = -log(-log(0.95)), scale = (p95 - p5) / (high - low);
	struct distribution times = {.p5 = p5, .p95 = p95, .best = DISTRIBUTION_GUMBEL};

	times.a[DISTRIBUTION_GUMBEL] = p5 - low * scale;
	times.b[DISTRIBUTION_GUMBEL] = scale;
	times.mean = times.a[DISTRIBUTION_GUMBEL] + 0.5772156649 * scale;
	return times;
}

struct lookups {
	const char *source;
	double means[2], times[2][QUANTILES]; /* ns of a hit and of a miss */
	struct cache_share share;
};

/* Compares three estimators: nearest mean, rule of the paper, cache_share_estimate(). */
static void print_share(struct adaptive *bench, const struct lookups *lookups, uint32_t samples)
{
	char setting[32];
	const struct row row = {"3", "cache share", setting, lookups->source, "error", "ratio"};
	double nearest = 0, paper = 0, ours = 0;
	struct random random;

	snprintf(setting, sizeof(setting), "%u samples", samples);
	random_init(&random, seed_options(bench->config)->seed);
	for (uint32_t trace = 0; trace < TRACES; trace++) {
		uint64_t found = random_below(&random, samples + 1), near = 0, hits = 0;
		double known = (double)found / samples;

		for (uint32_t i = 0; i < samples; i++) {
			double t = lookups->times[i >= found][random_below(&random, QUANTILES)];

			near += fabs(t - lookups->means[0]) <= fabs(t - lookups->means[1]);
			hits += cache_share_hit(&lookups->share, t);
		}
		nearest += fabs((double)near / samples - known) / TRACES;
		paper += fabs((double)hits / samples - known) / TRACES;
		ours += fabs(cache_share_estimate(&lookups->share, hits, samples) - known) / TRACES;
	}
	begin_row(bench, &row);
	cell(bench, "value", paper);
	cell(bench, "without", nearest);
	cell(bench, "best", ours);
	figures_note(&bench->figures,
		"mean of %d traces; value: rule of the paper; without: "
		"nearest mean; best: corrected for misclassified times",
		TRACES);
	figures_row(&bench->figures);
}

static void print_shares(struct adaptive *bench, const char *source, const struct distribution *hit,
	const struct distribution *miss)
{
	static const uint32_t numbers[] = {50, 100, 200, 500, 1000, 2000, 5000};
	static struct lookups lookups;
	uint32_t n = bench_options(bench->config)->quick ? QUICK_NUMBERS : RTE_DIM(numbers);

	lookups.source = source;
	lookups.means[0] = hit->mean;
	lookups.means[1] = miss->mean;
	lookups.share = cache_share_of(hit, miss);
	for (uint32_t q = 0; q < QUANTILES; q++) {
		lookups.times[0][q] = quantile(hit, (q + 0.5) / QUANTILES);
		lookups.times[1][q] = quantile(miss, (q + 0.5) / QUANTILES);
	}
	for (uint32_t i = 0; i < n; i++)
		print_share(bench, &lookups, numbers[i]);
}

static const struct profile_row *find_single(
	const struct profile *profile, enum profile_traffic traffic)
{
	for (uint32_t r = 0; r < profile->n; r++) {
		const struct profile_row *row = &profile->rows[r];

		if (row->what.part == PROFILE_SKETCH && row->what.single &&
			row->what.traffic == traffic)
			return row;
	}
	return NULL;
}

static void run_figure_3(struct adaptive *bench)
{
	struct distribution hit = gumbel("T_r hit"), miss = gumbel("T_r miss");
	const struct profile_row *cached = find_single(&bench->profile, PROFILE_CACHED);
	const struct profile_row *uncached = find_single(&bench->profile, PROFILE_UNCACHED);

	print_shares(bench, "model of paper", &hit, &miss);
	if (cached != NULL && uncached != NULL)
		print_shares(bench, "model of host", &cached->times, &uncached->times);
}

/* The queue of the NIC, and the buffer of the capture library for small packets. */
static double paper_queue(void)
{
	return paper_number(PAPER_TANGARI, "Sec. VI", "buffer", "RSS queue");
}

static double paper_buffer(void)
{
	return paper_number(PAPER_TANGARI, "Sec. VI", "buffer", "capture library") * (1 << 20) / 64;
}

static double ramp(const struct load *load, double at)
{
	return load->peak * at;
}

static double sine(const struct load *load, double at)
{
	return load->peak / 2 * (1 + sin(2 * M_PI * at / load->period));
}

static double steady(const struct load *load, double at)
{
	(void)at;
	return load->peak;
}

/* Zipf's exponent falls from 1.5 to 1 in one second, in steps of 20 ms. */
static double exponent_at(double at)
{
	return 1.5 - 0.5 * floor(at / 0.02) * 0.02;
}

/* A line through the exponents at which the paper first lost packets. */
static double paper_more_ns(const struct load *load, double at)
{
	const struct adaptive *bench = load->arg;
	double full = system_full_ns(&bench->paper, 0),
	       from = paper_number(PAPER_TANGARI, "Fig. 5e", "without", "starves from alpha"),
	       to = paper_number(PAPER_TANGARI, "Fig. 5e", "adapted", "loss from alpha"),
	       least = bench->paper.fixed_ns + bench->paper.items[0].ns[0];

	return 1e3 / paper_number(PAPER_TANGARI, "Fig. 5e", "rate", "") - full +
	       (from - exponent_at(at)) * (full - least) / (from - to);
}

/* Interpolates the measured times of the flow table, in bursts. */
static double host_more_ns(const struct load *load, double at)
{
	const struct adaptive *bench = load->arg;
	double place = exponent_at(at) * 1e6 / SKEW_STEP_E6;
	uint32_t below = (uint32_t)place;
	double share = place - below;

	return bench->in_bursts[below] * (1 - share) + bench->in_bursts[below + 1] * share -
	       bench->in_bursts[6];
}

struct experiment {
	struct row row;
	struct load load;
	bool skew;
};

static void print_lost(struct adaptive *bench, const struct experiment *experiment,
	const struct outcome *outcomes, const char *quantity)
{
	struct row row = experiment->row;
	bool relative = strcmp(quantity, "lost of without") == 0;

	row.quantity = quantity;
	row.unit = "ratio";
	begin_row(bench, &row);
	figures_cell(&bench->figures, "entries", "%.0f", experiment->load.entries);
	for (uint32_t way = 0; way < WAYS; way++)
		cell(bench, way_names[way],
			outcomes[way].queue.lost / (relative ? outcomes[WAY_WITHOUT].queue.lost
							     : outcomes[way].queue.arrived));
	figures_row(&bench->figures);
}

static void print_first(
	struct adaptive *bench, const struct experiment *experiment, const struct outcome *outcomes)
{
	struct row row = experiment->row;

	row.quantity = experiment->skew ? "first loss" : "lossless";
	row.unit = experiment->skew ? "zipf" : "Mpps";
	begin_row(bench, &row);
	figures_cell(&bench->figures, "entries", "%.0f", experiment->load.entries);
	for (uint32_t way = 0; way < WAYS; way++) {
		double at = fmin(outcomes[way].queue.lost_from, experiment->load.seconds);

		if (experiment->skew && at < experiment->load.seconds)
			cell(bench, way_names[way], exponent_at(at));
		else if (experiment->skew)
			figures_cell(&bench->figures, way_names[way], "none");
		else
			cell(bench, way_names[way],
				experiment->load.rate(&experiment->load, at) / 1e6);
	}
	figures_row(&bench->figures);
}

/* One row for each time at which a way reduces detail. */
static void print_adaptations(
	struct adaptive *bench, const struct experiment *experiment, const struct outcome *outcomes)
{
	struct row row = experiment->row;
	uint32_t most = 0;

	row.quantity = "adaptations";
	row.unit = "s";
	for (uint32_t way = 0; way < WAYS; way++)
		most = RTE_MAX(most, RTE_MIN(outcomes[way].nb_adaptations, ADAPTATIONS_MAX));
	for (uint32_t i = 0; i < most; i++) {
		begin_row(bench, &row);
		figures_cell(&bench->figures, "entries", "%.0f", experiment->load.entries);
		for (uint32_t way = 0; way < WAYS; way++)
			if (i < outcomes[way].nb_adaptations)
				cell(bench, way_names[way], outcomes[way].adaptations[i]);
		figures_note(&bench->figures, "reduction %u", i + 1);
		figures_row(&bench->figures);
	}
}

/* One row for each whole window. */
static void print_windows(
	struct adaptive *bench, const struct experiment *experiment, const struct outcome *outcomes)
{
	uint32_t n = (uint32_t)floor(experiment->load.seconds / DEMAND_WINDOW_S);
	FILE *table = bench->figures.table;
	struct row row = experiment->row;

	row.quantity = "lost in window";
	row.unit = "packets";
	bench->figures.table = NULL;
	for (uint32_t w = 0; w < RTE_MIN(n, (uint32_t)WINDOWS_MAX); w++) {
		begin_row(bench, &row);
		figures_cell(&bench->figures, "entries", "%.0f", experiment->load.entries);
		cell(bench, "from_s", w * DEMAND_WINDOW_S);
		for (uint32_t way = 0; way < WAYS; way++)
			cell(bench, way_names[way], outcomes[way].lost[w]);
		figures_row(&bench->figures);
	}
	bench->figures.table = table;
}

static void print_skipped(
	struct adaptive *bench, const struct experiment *experiment, const struct outcome *outcomes)
{
	const struct outcome *valve = &outcomes[WAY_BEST_SHEDDING];
	struct row row = experiment->row;

	row.quantity = "not sampled";
	row.unit = "ratio";
	begin_row(bench, &row);
	figures_cell(&bench->figures, "entries", "%.0f", experiment->load.entries);
	cell(bench, way_names[WAY_BEST_SHEDDING], valve->skipped / valve->queue.arrived);
	figures_row(&bench->figures);
}

static void run_experiment(
	struct adaptive *bench, const struct system *system, struct experiment *experiment)
{
	const double buffers[] = {paper_queue(), paper_buffer()};
	struct outcome outcomes[WAYS];

	for (uint32_t b = 0; b < sizeof(buffers) / sizeof(buffers[0]); b++) {
		experiment->load.entries = buffers[b];
		for (uint32_t way = 0; way < WAYS; way++)
			outcomes[way] = system_run(system, &experiment->load, (enum way)way);
		print_lost(bench, experiment, outcomes, "lost");
		if (strcmp(experiment->row.figure, "5c") == 0)
			print_lost(bench, experiment, outcomes, "lost of without");
		if (experiment->skew || strcmp(experiment->row.figure, "5a") == 0)
			print_first(bench, experiment, outcomes);
		if (strcmp(experiment->row.figure, "5a") == 0)
			print_adaptations(bench, experiment, outcomes);
		print_skipped(bench, experiment, outcomes);
		if (system == &bench->paper && b == 0)
			print_windows(bench, experiment, outcomes);
	}
}

static void run_figure_5(struct adaptive *bench, const struct system *system, const char *source)
{
	double capacity = 1e9 / system_full_ns(system, 0);
	/* In the paper, the peak is 1 / 0.8 of the capacity. */
	struct load load = {.seconds = SINE_S, .peak = capacity / 0.8, .arg = bench};
	struct experiment experiments[7] = {
		{{.figure = "5a", .experiment = "ramp", .setting = "one core"}, load, false},
		{{.figure = "5b", .experiment = "sine", .setting = "250 ms"}, load, false},
		{{.figure = "5c", .experiment = "sine", .setting = "100 ms"}, load, false},
		{{.figure = "5d", .experiment = "co-runners", .setting = "1"}, load, false},
		{{.figure = "5d", .experiment = "co-runners", .setting = "2"}, load, false},
		{{.figure = "5d", .experiment = "co-runners", .setting = "3"}, load, false},
		{{.figure = "5e", .experiment = "skew", .setting = "1.5 to 1.0"}, load, true},
	};
	struct load *skew = &experiments[6].load;

	experiments[0].load.rate = ramp;
	experiments[1].load.rate = experiments[2].load.rate = sine;
	experiments[1].load.period = 0.25;
	experiments[2].load.period = 0.1;
	for (uint32_t c = 1; c <= 3; c++) {
		struct load *beside = &experiments[2 + c].load;

		beside->rate = steady;
		beside->seconds = 1.0 / 3;
		beside->peak = FIXED_LOAD * capacity;
		beside->uncached = c / 3.0;
	}
	skew->rate = steady;
	skew->more_ns = system == &bench->paper ? paper_more_ns : host_more_ns;
	skew->peak = 1e9 / (system_full_ns(system, 0) + skew->more_ns(skew, 0.5));
	for (uint32_t e = 0; e < 7; e++) {
		experiments[e].row.source = source;
		run_experiment(bench, system, &experiments[e]);
	}
}

#define RISE_S      4
#define RISE_BEYOND 1.25

static double rise(const struct load *load, double at)
{
	return load->peak * at / load->seconds;
}

static void print_rates(struct adaptive *bench, const struct row *row, const double rates[WAYS],
	double counted, double of)
{
	begin_row(bench, row);
	figures_cell(&bench->figures, "entries", "%.0f", paper_queue());
	cell(bench, "value", counted / of);
	for (uint32_t way = 0; way < WAYS; way++)
		cell(bench, way_names[way], rates[way] / of);
	figures_note(&bench->figures, "value: of a worker that only receives and frees");
	figures_row(&bench->figures);
}

/* The packet rate rises slowly until packets are lost. */
static void run_capacity(struct adaptive *bench, const struct system *system, const char *source)
{
	double counted = 1e3 / system->count_ns, rates[WAYS];
	struct load load = {.entries = paper_queue(),
		.seconds = RISE_S,
		.rate = rise,
		.peak = RISE_BEYOND * 1e6 * counted};
	struct row row = {"-", "capacity", "ramp", source, "rate", "Mpps"};

	for (uint32_t way = 0; way < WAYS; way++) {
		struct outcome outcome = system_run(system, &load, (enum way)way);

		rates[way] = rise(&load, fmin(outcome.queue.lost_from, load.seconds)) / 1e6;
	}
	print_rates(bench, &row, rates, counted, 1);
	row.quantity = "of without";
	row.unit = "ratio";
	print_rates(bench, &row, rates, counted, rates[WAY_WITHOUT]);
	row.quantity = "of counting";
	print_rates(bench, &row, rates, counted, counted);
}

struct choice_trial {
	struct choose_problem problem;
	struct choose_states states;
	struct choose_item *items;
	double target_ns; /* 0: no measurement fits, so all are switched off */
	struct choice choice;
	void *work;
};

static double decide_us(struct choice_trial *trial, enum choose_how how)
{
	double us[DECISIONS];

	for (uint32_t d = 0; d < DECISIONS; d++) {
		uint64_t start = rte_rdtsc_precise();

		choose(how, &trial->problem, trial->target_ns, trial->work, &trial->choice);
		us[d] = (double)(rte_rdtsc_precise() - start) * 1e6 / (double)rte_get_tsc_hz();
	}
	return bench_stats_of(us, DECISIONS).median;
}

static void print_decision(struct adaptive *bench, const char *setting, const double *us)
{
	static const char *const ways[] = {[CHOOSE_GREEDY] = "greedy",
		[CHOOSE_LSF] = "lsf",
		[CHOOSE_QUERIES] = "queries",
		[CHOOSE_BEST] = "best"};
	struct row row = {"6", "routine", setting, "measured", "time", "us"};

	begin_row(bench, &row);
	for (uint32_t how = 0; how <= CHOOSE_BEST; how++)
		cell(bench, ways[how], us[how]);
	figures_row(&bench->figures);
}

/* Nothing fits in the slowest case. With one_rank, the better half fits. */
static void fill_decision(
	struct choice_trial *trial, uint32_t items, uint32_t states, bool one_rank)
{
	trial->problem =
		(struct choose_problem){.fixed_ns = 50, .nb_items = items, .items = trial->items};
	trial->states = (struct choose_states){.n = states, .looked_at = {1}};
	for (uint32_t s = 0; s < states; s++) {
		trial->states.packets[s] = 1.0 / states;
		trial->states.ns[s] = s;
	}
	for (uint32_t i = 0; i < items; i++) {
		struct choose_item *item = &trial->items[i];

		*item = (struct choose_item){.rank = states > 0 ? i : one_rank ? 0 : i / 8};
		item->states = states > 0 ? &trial->states : NULL;
		item->nb_steps = item->ends_off = states == 0;
		item->ns[0] = 1 + i % 7;
		item->error[1] = 1 + i % 5;
		if (one_rank)
			trial->target_ns += item->ns[0] / 2;
	}
}

static bool run_decision(
	struct adaptive *bench, const char *setting, uint32_t items, uint32_t states, bool one_rank)
{
	struct choice_trial trial = {.items = calloc(items, sizeof(*trial.items)),
		.choice = {.step = calloc(items, 1),
			.flows = calloc(items, sizeof(*trial.choice.flows))},
		.work = malloc(choose_work_size(items))};
	bool right = trial.items != NULL && trial.choice.step != NULL &&
		     trial.choice.flows != NULL && trial.work != NULL;
	double us[CHOOSE_BEST + 1];

	if (right) {
		fill_decision(&trial, items, states, one_rank);
		/* greedy and lsf change states of flows; CHOOSE_QUERIES switches off measurements. */
		for (uint32_t how = 0; how <= CHOOSE_BEST; how++)
			us[how] = how == CHOOSE_BEST || (!one_rank && (how == CHOOSE_QUERIES) ==
									      (states == 0))
					  ? decide_us(&trial, (enum choose_how)how)
					  : NAN;
		print_decision(bench, setting, us);
	} else {
		log_error("out of memory for %u measurements", items);
	}
	free(trial.items);
	free(trial.choice.step);
	free(trial.choice.flows);
	free(trial.work);
	return right;
}

/* A decision about one measurement. */
struct single_trial {
	struct choose_item item;
	uint8_t step;
	struct choose_flows flows;
	struct choice_trial trial; /* free its work */
};

static struct choice_trial *prepare_single(struct single_trial *single, uint32_t states)
{
	single->trial = (struct choice_trial){.items = &single->item,
		.choice = {.step = &single->step, .flows = &single->flows},
		.work = malloc(choose_work_size(1))};
	if (single->trial.work == NULL) {
		log_error("out of memory for a decision");
		return NULL;
	}
	fill_decision(&single->trial, 1, states, false);
	return &single->trial;
}

/* A flow table whose flow states are those of queries, evenly over all ranks. All are turned off. */
static bool run_queries(struct adaptive *bench, uint32_t queries)
{
	static double ranks[CHOOSE_RANKS_MAX + 1];
	struct single_trial single;
	struct choice_trial *trial = prepare_single(&single, FLOW_STATES);
	double us[CHOOSE_BEST + 1];
	char setting[32];

	if (trial == NULL)
		return false;
	memset(ranks, 0, sizeof(ranks));
	for (uint32_t q = 0; q < queries; q++)
		ranks[1 + q * CHOOSE_RANKS_MAX / queries] += 1.0 / queries;
	for (uint32_t rank = 1; rank <= CHOOSE_RANKS_MAX; rank++)
		ranks[rank] += ranks[rank - 1];
	trial->states.ranks = ranks;
	for (uint32_t how = 0; how <= CHOOSE_BEST; how++)
		us[how] = decide_us(trial, (enum choose_how)how);
	VERIFY(single.flows.ranks_off, ==, (uint32_t)CHOOSE_RANKS_MAX);
	snprintf(setting, sizeof(setting), "%u queries", queries);
	print_decision(bench, setting, us);
	free(trial->work);
	return true;
}

/* Share of its processing time by which the time per packet is to fall. */
#define LESS 0.25

/* Both ways in turns, because other programs use the CPUs. */
static bool run_less(struct adaptive *bench, uint32_t states)
{
	struct single_trial single;
	struct choice_trial *trial = prepare_single(&single, states);
	double us[CHOOSE_LSF + 1][BENCH_ROUNDS_MAX], fixed_ns;
	char setting[32];

	if (trial == NULL)
		return false;
	fixed_ns = trial->problem.fixed_ns;
	choose_full(&trial->problem, trial->work, &trial->choice);
	trial->target_ns = fixed_ns + (1 - LESS) * (trial->choice.ns - fixed_ns);
	for (uint32_t r = 0; r < bench->rounds; r++)
		for (uint32_t how = CHOOSE_GREEDY; how <= CHOOSE_LSF; how++)
			us[how][r] = decide_us(trial, (enum choose_how)how);
	snprintf(setting, sizeof(setting), "%u states, -%.0f %%", states, LESS * 100);
	for (uint32_t how = CHOOSE_GREEDY; how <= CHOOSE_LSF; how++) {
		struct row row = {"6", "routine", setting, "measured",
			how == CHOOSE_GREEDY ? "Greedy" : "LSF", "us"};

		begin_row(bench, &row);
		cell(bench, "value", bench_stats_of(us[how], bench->rounds).median);
		figures_row(&bench->figures);
	}
	free(trial->work);
	return true;
}

static bool run_figure_6(struct adaptive *bench)
{
	return run_decision(bench, "16 states", 1, 16, false) &&
	       run_decision(bench, "32 states", 1, 32, false) &&
	       run_decision(bench, "64 states", 1, 64, false) && run_queries(bench, 256) &&
	       run_queries(bench, 1024) && run_queries(bench, 4096) &&
	       run_decision(bench, "256 measurements", 256, 0, false) &&
	       run_decision(bench, "1024 measurements", 1024, 0, false) &&
	       run_decision(bench, "4096 measurements", 4096, 0, false) &&
	       run_decision(bench, "4096 of one rank", 4096, 0, true) && run_less(bench, 16) &&
	       run_less(bench, 32) && run_less(bench, 64);
}

/* 10 Gbps of 64-byte packets, as in the paper */
#define SMALL_PPS       (1e10 / ((64 + 20) * 8))
#define COUNTED_FLOWS   4096
#define COUNTING_ROUNDS 20

/* without: ns per packet of the table to which `ns` is added; 0: none */
static void print_counting(
	struct adaptive *bench, uint32_t n, const char *what, double ns, double without)
{
	char setting[32];
	struct row row = {"III", "overhead", setting, "measured", "of window", "ratio"};

	snprintf(setting, sizeof(setting), "%u %s", n, what);
	begin_row(bench, &row);
	cell(bench, "value", ns * 1e-9 * SMALL_PPS);
	if (without > 0)
		figures_note(&bench->figures,
			"%.3g ns per packet more than the %.3g ns of a table without queries", ns,
			without);
	else
		figures_note(&bench->figures, "%.3g ns per packet for a counter by state", ns);
	figures_row(&bench->figures);
}

static bool run_table_3(struct adaptive *bench)
{
	const uint64_t seed = seed_options(bench->config)->seed;
	const struct workload_spec spec = {.zipf_e6 = 1000000,
		.flows = COUNTED_FLOWS,
		.packets = workload_packets(bench->packets),
		.seed = seed};
	struct workload *workload = workload_create(&spec, seed);
	struct state_counting times;

	if (workload == NULL ||
		!state_counting_measure(&times, workload, COUNTING_ROUNDS * bench->rounds, seed)) {
		workload_destroy(workload);
		log_error("out of memory for queries and their traffic");
		return false;
	}
	for (uint32_t c = 0; c < STATE_COUNTING_CASES; c++)
		print_counting(bench, counted_states[c], "states", times.states[c], 0);
	for (uint32_t c = 0; c < STATE_COUNTING_CASES; c++)
		print_counting(
			bench, counted_queries[c], "queries", times.queries[c], times.without);
	for (uint32_t c = 0; c < STATE_COUNTING_CASES; c++)
		print_counting(bench, counted_queries[c], "queries, none matches",
			times.no_match[c], times.without);
	workload_destroy(workload);
	return true;
}

static void print_estimate(struct adaptive *bench, const char *setting, double ns, const char *note)
{
	struct row row = {"VI-B", "estimate of P", setting, "measured", "of window", "ratio"};

	begin_row(bench, &row);
	cell(bench, "value", ns * FORMULA_SAMPLES * 1e-9 / DEMAND_WINDOW_S);
	figures_note(&bench->figures, "%.3g ns for each of %d %s", ns, FORMULA_SAMPLES, note);
	figures_row(&bench->figures);
}

static bool run_estimate(struct adaptive *bench)
{
	struct estimate_cost cost;

	if (!prediction_cost(
		    &cost, COUNTING_ROUNDS * bench->rounds, seed_options(bench->config)->seed)) {
		log_error("out of memory for the flow table");
		return false;
	}
	print_estimate(bench, "CDF", cost.cdf_ns, "times, by both CDFs");
	print_estimate(bench, "CDF tabulated", cost.table_ns, "times, by tables of both CDFs");
	print_estimate(bench, "threshold", cost.threshold_ns, "times, as a worker does");
	print_estimate(bench, "with lookups", cost.lookup_ns, "lookups, timed and classified");
	return true;
}

static void print_prediction(
	struct adaptive *bench, const struct prediction *prediction, const char *who, double error)
{
	struct row row = {"-", "prediction", prediction->load, "measured", who, "error"};

	begin_row(bench, &row);
	cell(bench, "value", error);
	figures_note(&bench->figures, "%.3g to %.3g ns per packet, P %.2f, lambda_f %.2f",
		prediction->lowest_ns, prediction->highest_ns, prediction->p, prediction->lambda);
	figures_row(&bench->figures);
}

/* Median errors of the time per packet that is predicted for the next window. */
static bool run_prediction(struct adaptive *bench)
{
	static const char *const names[ESTIMATORS + 1] = {[ESTIMATE_COSTS] = "costs",
		[ESTIMATE_FORMULA] = "formula (3)",
		[ESTIMATE_CORRECTED] = "corrected",
		[ESTIMATE_AVERAGE] = "average",
		[ESTIMATORS] = "last window"};
	struct prediction rounds[BENCH_ROUNDS_MAX][PREDICTION_LOADS];

	for (uint32_t r = 0; r < bench->rounds; r++)
		if (!prediction_measure(rounds[r], seed_options(bench->config)->seed + r)) {
			log_error("out of memory for the flow table");
			return false;
		}
	for (uint32_t l = 0; l < PREDICTION_LOADS; l++)
		for (uint32_t e = 0; e <= ESTIMATORS; e++) {
			double errors[BENCH_ROUNDS_MAX];

			for (uint32_t r = 0; r < bench->rounds; r++)
				errors[r] = rounds[r][l].errors[e];
			print_prediction(bench, &rounds[0][l], names[e],
				bench_stats_of(errors, bench->rounds).median);
		}
	return true;
}

static bool run_all(void *arg)
{
	struct adaptive *bench = arg;

	figures_heading(&bench->figures, "with the figures of the paper%s%s",
		bench->profile.n > 0 ? ", and with " : "; for those of this host use --profile",
		bench->profile.n > 0 ? bench->host.name : "");
	if (!run_figure_1(bench))
		return false;
	run_figure_3(bench);
	run_figure_5(bench, &bench->paper, "model of paper");
	run_capacity(bench, &bench->paper, "model of paper");
	if (bench->profile.n > 0) {
		run_figure_5(bench, &bench->host, "model of host");
		run_capacity(bench, &bench->host, "model of host");
	}
	return run_prediction(bench) && run_estimate(bench) && run_figure_6(bench) &&
	       run_table_3(bench);
}

static bool read_profile(struct adaptive *bench)
{
	const char *name = profile_options(bench->config)->file;
	char error[PROFILE_ERROR_MAX];
	struct profile_host host;
	bool right;
	FILE *in;

	if (name == NULL)
		return true;
	in = regular_file_open(name);
	if (in == NULL) {
		log_error("--profile %s: cannot open", name);
		return false;
	}
	right = profile_read(&bench->profile, in, name, error);
	fclose(in);
	host_facts_current(&host);
	if (!right || !profile_is_of(&bench->profile, &host, name, error)) {
		log_error("%s", error);
		return false;
	}
	if (system_of_profile(&bench->host, &bench->profile, name))
		return true;
	log_error("--profile %s: a part or a sketch is missing; create it with sketchtap-bench "
		  "profile",
		name);
	return false;
}

int bench_adaptive(struct config *config)
{
	static struct adaptive bench;
	const struct bench_options *options = bench_options(config);
	int status = 1;

	bench.config = config;
	bench.rounds = (uint32_t)bench_number(options, options->rounds, ROUNDS, QUICK_ROUNDS);
	bench.packets = bench_number(options, options->packets, PACKETS, QUICK_PACKETS);
	system_of_paper(&bench.paper);
	if (!read_profile(&bench) || !setup_topology(&bench.topology, config))
		return 1;
	cpus_init(&bench.cpus, &bench.topology);
	if (setup_eal(config, &bench.topology, &bench.cpus, 1, HEAP_MB)) {
		status = figures_write(&bench.figures, columns, config, run_all, &bench);
		eal_stop();
	}
	profile_free(&bench.profile);
	return status;
}

static const struct option_row adaptive_rows[] = {
	BENCH_ROW_PACKETS(4096, "524288", "Set the packets per round of measured times."),
	BENCH_ROW_ROUNDS("5"),
	BENCH_ROW_QUICK("Use smaller defaults for a quick test: 16K packets per round."),
	{0},
};

const struct option_owner adaptive_bench_owner = {
	.rows = adaptive_rows,
	.fills = &bench_owner,
};
