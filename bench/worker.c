/* SPDX-License-Identifier: BSD-3-Clause */

/* sketchtap-bench worker: measures the time per packet that a sketch adds to a worker. */

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/common.h"
#include "bench/locked.h"
#include "bench/bench.h"
#include "bench/polled.h"
#include "tune/measure/setup.h"
#include "tune/measure/figures.h"
#include "parallel/run/eal.h"
#include "parallel/shed/shed_options.h"
#include "tune/measure/bench_options.h"
#include "sketch/measurement.h"
#include "parallel/sources/feeder.h"

#define ROUNDS        7
#define PACKETS       2000000
#define QUICK_ROUNDS  3
#define QUICK_PACKETS 100000
#define ENTRANTS_MAX  64

static const struct figures_column columns[] = {
	{.name = "bench"},
	{"name", "", -16, ""},
	{"sharing", "", -8, ""},
	{"atomic", "", -4, ""},
	{.name = "traffic"},
	{.name = "flows"},
	{.name = "packets"},
	{"width", "width", 8, ""},
	{.name = "rounds"},
	{"added_ns", "added", 7, "ns"},
	{"added_ns_min", "min", 7, "ns"},
	{"added_ns_max", "max", 7, "ns"},
	{"total_ns", "total", 7, "ns"},
	{"rx_ns", "rx", 7, "ns"},
	{"count_ns", "count", 7, "ns"},
	{"free_ns", "free", 7, "ns"},
	{"interrupted", "interr.", 7, "ratio"},
	{"note", "", -1, ""},
	{.name = NULL},
};

/* A measured variant. Number 0 only receives and frees. */
struct entrant {
	struct bench_subject subject;
	enum polled_kind kind;
	struct config config;
	struct plan plan;
	double total[BENCH_ROUNDS_MAX], rx[BENCH_ROUNDS_MAX], count[BENCH_ROUNDS_MAX],
		free[BENCH_ROUNDS_MAX], interrupted[BENCH_ROUNDS_MAX];
};

struct worker_bench {
	const struct config *config;
	const struct option_values *flows, *zipf, *widths;
	uint32_t rounds;
	uint64_t packets;
	struct topology topology;
	struct figures figures;
	struct entrant entrants[ENTRANTS_MAX];
	uint32_t nb_entrants;
};

static const struct option_values flows_default = {2, {1000, 1000000}};
static const struct option_values flows_quick = {1, {1000}};
static const struct option_values zipf_default = {2, {1050000, BENCH_ZIPF_RANDOM}};
static const struct option_values widths_default = {1, {0}};
static const struct option_values one_thread = {1, {1}};

/* Names of the first sketch with --overload, at full detail and if it only counts packets. */
static const char *const kept_up[] = {"first kept up", "first count only"};

static enum polled_kind kind_of(const struct bench_subject *subject, uint32_t e)
{
	return subject->name == kept_up[0]   ? POLLED_KEPT_UP
	       : subject->name == kept_up[1] ? POLLED_COUNT_ONLY
	       : e == 0                      ? POLLED_RECEIVE_AND_FREE
					     : POLLED_MEASURE;
}

/* The first entrant does not count, but its plan needs a sketch. */
static bool choose_entrants(struct worker_bench *bench, char *error)
{
	struct bench_subject subjects[ENTRANTS_MAX];
	uint32_t n = choices_subjects(
		bench_options(bench->config), &one_thread, subjects + 1, ENTRANTS_MAX - 1);

	n += locked_subjects(
		bench_options(bench->config), &one_thread, subjects + 1 + n, ENTRANTS_MAX - 1 - n);

	subjects[0] = (struct bench_subject){
		.name = "receive and free", .sketch = sketches[0], .threads = 1};
	for (uint32_t k = 0; k < 2 && n + 1 < ENTRANTS_MAX; k++, n++) {
		subjects[n + 1] = subjects[1];
		subjects[n + 1].name = kept_up[k];
	}
	for (bench->nb_entrants = 0; bench->nb_entrants < n + 1; bench->nb_entrants++) {
		struct entrant *entrant = &bench->entrants[bench->nb_entrants];

		entrant->subject = subjects[bench->nb_entrants];
		entrant->kind = kind_of(&entrant->subject, bench->nb_entrants);
		setup_run_config(&entrant->config, bench->config, &entrant->subject);
		if (entrant->kind >= POLLED_KEPT_UP)
			edit_shed_policy_options(&entrant->config)->policy = SHED_POLICY_SAMPLE;
		edit_feeder_options(&entrant->config)->packets = bench->packets;
		if (!setup_plan(&entrant->plan, &entrant->config, &entrant->subject,
			    &bench->topology, error))
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

		if (!polled_run(&entrant->config, &entrant->plan, source, entrant->kind, &sample,
			    error))
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
	struct figures *figures = &bench->figures;
	char traffic[CHOICES_TEXT_MAX];

	choices_traffic(traffic, zipf);
	figures_cell(figures, "bench", "worker");
	figures_cell(figures, "name", "%s", entrant->subject.name);
	figures_cell(figures, "traffic", "%s", traffic);
	if (zipf != BENCH_ZIPF_RANDOM)
		figures_cell(figures, "flows", "%" PRIu64, flows);
	figures_cell(figures, "packets", "%" PRIu64, bench->packets);
	if (entrant == &bench->entrants[0])
		return;
	figures_cell(figures, "sharing", "%s", plan_sharing_word(entrant->subject.sharing));
	figures_cell(figures, "atomic", "%s", setup_atomic_name(&entrant->subject));
	figures_cell(figures, "width", "%" PRIu64, entrant->plan.measurements[0].params.width);
}

static void print_entrant(
	struct worker_bench *bench, uint32_t e, uint64_t zipf, uint64_t flows, uint32_t rounds)
{
	const struct entrant *entrant = &bench->entrants[e];
	struct bench_stats added =
		bench_stats_difference(entrant->total, bench->entrants[0].total, rounds);
	struct figures *figures = &bench->figures;

	cell_identity(bench, entrant, zipf, flows);
	figures_cell(figures, "rounds", "%u", rounds);
	figures_cell(figures, "total_ns", "%.2f", bench_stats_of(entrant->total, rounds).median);
	figures_cell(figures, "rx_ns", "%.2f", bench_stats_of(entrant->rx, rounds).median);
	figures_cell(figures, "free_ns", "%.2f", bench_stats_of(entrant->free, rounds).median);
	figures_cell(figures, "interrupted", "%.4f",
		bench_stats_of(entrant->interrupted, rounds).median);
	if (e > 0) {
		figures_cell(figures, "added_ns", "%.2f", added.median);
		figures_cell(figures, "added_ns_min", "%.2f", added.min);
		figures_cell(figures, "added_ns_max", "%.2f", added.max);
		figures_cell(
			figures, "count_ns", "%.2f", bench_stats_of(entrant->count, rounds).median);
	}
	figures_row(figures);
}

static bool run_widths(
	struct worker_bench *bench, struct source *source, uint64_t zipf, uint64_t flows)
{
	char traffic[CHOICES_TEXT_MAX], error[POLLED_ERROR_MAX];

	choices_traffic(traffic, zipf);
	for (uint32_t w = 0; w < bench->widths->n; w++) {
		uint32_t rounds = 0;

		for (uint32_t e = 0; e < bench->nb_entrants; e++) {
			struct entrant *entrant = &bench->entrants[e];

			edit_measurement_options(&entrant->config.measurements[0])->width =
				bench->widths->values[w];
			if (!setup_plan(&entrant->plan, &entrant->config, &entrant->subject,
				    &bench->topology, error)) {
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
		figures_heading(&bench->figures,
			"%s, %" PRIu64 " flows: %" PRIu64 " packets per round; %u rounds", traffic,
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

static bool run_all(void *arg)
{
	struct worker_bench *bench = arg;

	return choices_each_traffic(bench->zipf, bench->flows, run_traffic, bench);
}

int bench_worker(struct config *config)
{
	static struct worker_bench bench;
	const struct bench_options *choices = bench_options(config);
	char error[EAL_ERROR_MAX];
	int status = 1;

	bench.config = config;
	bench.flows = choices_of(&choices->flows, choices->quick ? &flows_quick : &flows_default);
	bench.zipf = choices_of(&choices->zipf, &zipf_default);
	bench.widths = choices_of(&choices->widths, &widths_default);
	bench.rounds = (uint32_t)bench_number(choices, choices->rounds, ROUNDS, QUICK_ROUNDS);
	bench.packets = bench_number(choices, choices->packets, PACKETS, QUICK_PACKETS);
	if (!setup_topology(&bench.topology, config))
		return 1;
	if (!choose_entrants(&bench, error)) {
		log_error("%s", error);
		return 1;
	}
	if (bench.entrants[0].plan.oversubscribed) {
		log_error("needs two CPUs, one for the feeder and one for the worker");
		return 1;
	}
	if (!eal_start(&bench.entrants[0].plan, config, error)) {
		log_error("%s", error);
		return 1;
	}
	status = figures_write(&bench.figures, columns, config, run_all, &bench);
	eal_stop();
	return status;
}

static const struct option_row worker_rows[] = {
	BENCH_ROW_SKETCH,
	BENCH_ROW_SHARING,
	BENCH_ROW_ATOMIC(
		locked_atomic_word, "Select how threads add to a shared sketch: cas, add, lock."),
	BENCH_ROW_FLOWS(bench_inapplicable_without_flows, "1K,1M"),
	BENCH_ROW_ZIPF(NULL, "1.05,random"),
	BENCH_ROW_WIDTH("the default of the sketch",
		"Set the counters per row, or the buckets, a power of two."),
	BENCH_ROW_PACKETS(4096, "2M", "Set the packets per round."),
	BENCH_ROW_ROUNDS("7"),
	BENCH_ROW_QUICK(
		"Use smaller defaults for a quick test: 1K flows, 3 rounds of 100K packets."),
	{0},
};

const struct option_owner worker_owner = {
	.rows = worker_rows,
	.fills = &bench_owner,
	.check = bench_check_widths,
};
