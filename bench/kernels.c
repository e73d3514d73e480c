/* SPDX-License-Identifier: BSD-3-Clause */

/* sketchtap-bench kernels: measures every sketch. Times do not include HyperLogLog. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/baselines.h"
#include "bench/bench_rounds.h"
#include "bench/common.h"
#include "bench/locked.h"
#include "bench/published.h"
#include "bench/rivals.h"
#include "bench/bench.h"
#include "tune/measure/setup.h"
#include "tune/measure/figures.h"
#include "parallel/run/eal.h"
#include "parallel/workers/node_memory.h"
#include "tune/measure/bench_options.h"
#include "sketch/measurement.h"

#define ROUNDS        7
#define PACKETS       (UINT64_C(4) << 20)
#define QUICK_ROUNDS  3
#define QUICK_PACKETS UINT64_C(200000)
/* bytes per packet, for the key, the true counts and the tables of the rivals */
#define GROUP_BYTES   200

static const struct figures_column columns[] = {
	{.name = "bench"},
	{"name", "", -17, ""},
	{"sharing", "", -8, ""},
	{"atomic", "", -4, ""},
	{"threads", "thr", 3, ""},
	{.name = "traffic"},
	{.name = "flows"},
	{.name = "distinct"},
	{.name = "packets"},
	{.name = "width"},
	{"bytes", "bytes", 11, ""},
	{.name = "rounds"},
	{"ns", "ns", 7, ""},
	{"ns_min", "min", 7, "ns"},
	{"ns_max", "max", 7, "ns"},
	{"ready_ns", "ready", 7, "ns"},
	{.name = "ready_ns_min"},
	{.name = "ready_ns_max"},
	{"mpps", "Mpps", 7, ""},
	{"floor_ratio", "/floor", 7, "ratio"},
	{"member_ratio", "/member", 7, "ratio"},
	{"recall", "recall", 6, "ratio"},
	{"precision", "prec.", 6, "ratio"},
	{"relative_error", "error", 8, "ratio"},
	{"recall_1000", "rec.1000", 8, "ratio"},
	{"relative_error_1000", "error", 8, "ratio"},
	{"note", "", -1, ""},
	{.name = NULL},
};

struct kernels {
	const struct config *config;
	const struct option_values *flows, *zipf, *widths, *threads;
	uint32_t rounds;
	struct topology topology;
	struct cpus cpus;
	struct figures figures;
	struct bench_subject subjects[BENCH_ROUNDS_SUBJECTS_MAX];
	uint32_t nb_subjects;
	struct bench_rounds_result results[BENCH_ROUNDS_SUBJECTS_MAX];
};

static const struct option_values flows_default = {4, {1000, 100000, 1000000, 20000000}};
static const struct option_values flows_quick = {2, {1000, 100000}};
static const struct option_values zipf_default = {3, {0, 1050000, BENCH_ZIPF_RANDOM}};
static const struct option_values widths_default = {4, {1 << 10, 1 << 16, 1 << 18, 1 << 22}};
static const struct option_values widths_quick = {1, {1 << 16}};
static const struct option_values threads_default = {2, {1, 2}};

static void add_subject(struct kernels *kernels, const char *name,
	const struct bench_subject_ops *ops, uint64_t threads)
{
	kernels->subjects[kernels->nb_subjects++] =
		(struct bench_subject){.name = name, .ops = ops, .threads = (uint32_t)threads};
}

/* "floor" only increments a counter in each row. */
static void choose_subjects(struct kernels *kernels)
{
	for (uint32_t t = 0; t < kernels->threads->n; t++)
		add_subject(kernels, "floor", &bench_subject_floor, kernels->threads->values[t]);
	add_subject(kernels, "rte_member", &bench_subject_member, 1);
	add_subject(kernels, "rte_member bytes", &bench_subject_member_bytes, 1);
	add_subject(kernels, "rte_hash", &bench_subject_rte_hash, 1);
	for (const struct published *sketch = published; sketch->name != NULL; sketch++)
		add_subject(kernels, sketch->name, sketch->ops, 1);
	kernels->nb_subjects += choices_subjects(bench_options(kernels->config), kernels->threads,
		kernels->subjects + kernels->nb_subjects,
		BENCH_ROUNDS_SUBJECTS_MAX - kernels->nb_subjects);
	kernels->nb_subjects += locked_subjects(bench_options(kernels->config), kernels->threads,
		kernels->subjects + kernels->nb_subjects,
		BENCH_ROUNDS_SUBJECTS_MAX - kernels->nb_subjects);
}

static const struct bench_rounds_result *result_of(
	const struct kernels *kernels, const struct bench_subject_ops *ops, uint32_t threads)
{
	for (uint32_t c = 0; c < kernels->nb_subjects; c++)
		if (kernels->subjects[c].ops == ops && kernels->subjects[c].threads == threads)
			return &kernels->results[c];
	return NULL;
}

static void cell_ratio(struct figures *figures, const char *column,
	const struct bench_rounds_result *result, const struct bench_rounds_result *other,
	uint32_t rounds)
{
	if (other != NULL && other->last.missing == NULL)
		figures_cell(figures, column, "%.2f",
			bench_stats_ratio(result->ns, other->ns, rounds).median);
}

static void cell_times(struct figures *figures, const struct bench_subject *subject,
	const struct bench_rounds_result *result, uint32_t rounds)
{
	struct bench_stats ns = bench_stats_of(result->ns, rounds);
	struct bench_stats ready = bench_stats_of(result->ready_ns, rounds);

	figures_cell(figures, "ns", "%.2f", ns.median);
	figures_cell(figures, "ns_min", "%.2f", ns.min);
	figures_cell(figures, "ns_max", "%.2f", ns.max);
	figures_cell(figures, "mpps", "%.1f", subject->threads * 1000 / ns.median);
	if (subject->ops->takes_hashes) {
		figures_cell(figures, "ready_ns", "%.2f", ready.median);
		figures_cell(figures, "ready_ns_min", "%.2f", ready.min);
		figures_cell(figures, "ready_ns_max", "%.2f", ready.max);
	}
}

static void cell_accuracy(struct figures *figures, const struct bench_rounds_result *result)
{
	const struct bench_accuracy *accuracy = &result->last.accuracy,
				    *most = &result->last.accuracy_most;

	if (!result->last.keeps_keys || !accuracy->known)
		return;
	figures_cell(figures, "recall", "%.2f", accuracy->recall);
	figures_cell(figures, "precision", "%.2f", accuracy->precision);
	figures_cell(figures, "relative_error", "%.6f", accuracy->relative_error);
	if (!most->known)
		return;
	figures_cell(figures, "recall_1000", "%.3f", most->recall);
	figures_cell(figures, "relative_error_1000", "%.6f", most->relative_error);
}

static uint64_t zipf_of(const struct workload_spec *spec)
{
	return spec->random ? BENCH_ZIPF_RANDOM : spec->zipf_e6;
}

static void cell_rounds(struct figures *figures, const struct bench_rounds *setup)
{
	const struct workload_spec *spec = &setup->workload->spec;
	char traffic[CHOICES_TEXT_MAX];

	choices_traffic(traffic, zipf_of(spec));
	figures_cell(figures, "bench", "kernels");
	figures_cell(figures, "traffic", "%s", traffic);
	if (!spec->random)
		figures_cell(figures, "flows", "%" PRIu64, spec->flows);
	figures_cell(figures, "distinct", "%" PRIu64, setup->workload->distinct);
	figures_cell(figures, "packets", "%" PRIu64, spec->packets);
	figures_cell(figures, "width", "%" PRIu64, setup->width);
}

static void print_subject(
	struct kernels *kernels, const struct bench_rounds *setup, uint32_t c, uint32_t rounds)
{
	const struct bench_subject *subject = &kernels->subjects[c];
	const struct bench_rounds_result *result = &kernels->results[c];
	struct figures *figures = &kernels->figures;

	cell_rounds(figures, setup);
	figures_cell(figures, "name", "%s", subject->name);
	if (subject->sketch != NULL)
		figures_cell(figures, "sharing", "%s", plan_sharing_word(subject->sharing));
	figures_cell(figures, "atomic", "%s", setup_atomic_name(subject));
	figures_cell(figures, "threads", "%u", subject->threads);
	if (result->last.missing != NULL) {
		figures_cell(figures, "note", "not measured: %s", result->last.missing);
	} else {
		figures_cell(figures, "bytes", "%zu", result->last.memory);
		figures_cell(figures, "rounds", "%u", rounds);
		cell_times(figures, subject, result, rounds);
		cell_ratio(figures, "floor_ratio", result,
			result_of(kernels, &bench_subject_floor, subject->threads), rounds);
		cell_ratio(figures, "member_ratio", result,
			result_of(kernels, &bench_subject_member, 1), rounds);
		cell_accuracy(figures, result);
	}
	figures_row(figures);
}

static void print_rounds(struct kernels *kernels, const struct bench_rounds *setup, uint32_t rounds)
{
	const struct workload_spec *spec = &setup->workload->spec;
	char traffic[CHOICES_TEXT_MAX], flows[CHOICES_TEXT_MAX] = "";

	choices_traffic(traffic, zipf_of(spec));
	if (!spec->random)
		snprintf(flows, sizeof(flows), ", %" PRIu64 " flows", spec->flows);
	figures_heading(&kernels->figures,
		"%s%s: %" PRIu64 " keys in %" PRIu64 " packets; width %" PRIu64 "; %u rounds",
		traffic, flows, setup->workload->distinct, spec->packets, setup->width, rounds);
	for (uint32_t c = 0; c < kernels->nb_subjects; c++)
		print_subject(kernels, setup, c, rounds);
}

/* Returns false if a sketch has a wrong total. */
static bool run_workload(struct kernels *kernels, const struct workload *workload)
{
	struct bench_rounds setup = {
		.workload = workload, .seed = seed_options(kernels->config)->seed};

	for (uint32_t w = 0; w < kernels->widths->n && !signals_stop_requested(); w++) {
		char error[BENCH_PASS_ERROR_MAX];
		uint32_t rounds;

		setup.width = kernels->widths->values[w];
		if (!bench_rounds_run(&setup, &kernels->cpus, kernels->subjects,
			    kernels->nb_subjects, kernels->rounds, kernels->results, &rounds,
			    error)) {
			log_error("%s", error);
			return false;
		}
		if (rounds > 0)
			print_rounds(kernels, &setup, rounds);
	}
	return true;
}

static uint64_t nb_packets(const struct kernels *kernels, uint64_t flows)
{
	const struct config *config = kernels->config;
	uint64_t packets = bench_options(config)->quick ? QUICK_PACKETS : PACKETS;

	if (bench_options(config)->packets > 0)
		packets = bench_options(config)->packets;
	else if (flows > packets)
		packets = flows;
	return workload_packets(packets);
}

static bool run_traffic(void *arg, uint64_t zipf, uint64_t flows)
{
	struct kernels *kernels = arg;
	struct workload_spec spec = {
		.random = zipf == BENCH_ZIPF_RANDOM,
		.zipf_e6 = zipf == BENCH_ZIPF_RANDOM ? 0 : (uint32_t)zipf,
		.flows = flows,
		.packets = nb_packets(kernels, flows),
		.seed = 1,
	};
	struct workload *workload = NULL;
	bool right;

	if (spec.packets * GROUP_BYTES < node_memory_available())
		workload = workload_create(&spec, seed_options(kernels->config)->seed);
	if (workload == NULL) {
		log_warning("out of memory for %" PRIu64 " packets: lower --packets or --flows",
			spec.packets);
		return true;
	}
	right = run_workload(kernels, workload);
	workload_destroy(workload);
	return right;
}

static bool start_eal(const struct kernels *kernels)
{
	size_t megabytes = rivals_heap_megabytes(choices_largest(kernels->widths),
		nb_packets(kernels, choices_largest(kernels->flows)));

	if (!setup_eal(kernels->config, &kernels->topology, &kernels->cpus, 1, megabytes))
		return false;
	rivals_init();
	return true;
}

static bool run_all(void *arg)
{
	struct kernels *kernels = arg;

	return choices_each_traffic(kernels->zipf, kernels->flows, run_traffic, kernels);
}

int bench_kernels(struct config *config)
{
	static struct kernels kernels;
	const struct bench_options *bench = bench_options(config);
	int status = 1;

	kernels.config = config;
	kernels.flows = choices_of(&bench->flows, bench->quick ? &flows_quick : &flows_default);
	kernels.zipf = choices_of(&bench->zipf, &zipf_default);
	kernels.widths = choices_of(&bench->widths, bench->quick ? &widths_quick : &widths_default);
	kernels.threads = choices_of(&bench->threads, &threads_default);
	kernels.rounds = (uint32_t)bench_number(bench, bench->rounds, ROUNDS, QUICK_ROUNDS);
	if (!setup_topology(&kernels.topology, config))
		return 1;
	cpus_init(&kernels.cpus, &kernels.topology);
	choose_subjects(&kernels);
	if (start_eal(&kernels)) {
		status = figures_write(&kernels.figures, columns, config, run_all, &kernels);
		eal_stop();
	}
	return status;
}

static const struct option_row kernels_rows[] = {
	BENCH_ROW_SKETCH,
	BENCH_ROW_SHARING,
	BENCH_ROW_ATOMIC(
		locked_atomic_word, "Select how threads add to a shared sketch: cas, add, lock."),
	{
		.name = "threads",
		.placeholder = "N,...",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_COUNTS,
		OPTION_FIELD(bench_options, threads),
		.min = 1,
		.max = 64,
		.default_note = "1,2",
		.help = "Count with N threads at the same time, each on its own CPU. If there are "
			"fewer CPUs, the row is marked as not measured.",
	},
	BENCH_ROW_FLOWS(bench_inapplicable_without_flows, "1K,100K,1M,20M"),
	BENCH_ROW_ZIPF(NULL, "uniform,1.05,random"),
	BENCH_ROW_WIDTH("1K,64K,256K,4M",
		"Set the counters per row, or the buckets, a power of two. The default ranges "
		"from a sketch that fits the first-level cache to one that fits none."),
	BENCH_ROW_PACKETS(4096, "4M, or --flows if larger", "Set the packets per round."),
	BENCH_ROW_ROUNDS("7"),
	BENCH_ROW_QUICK("Use smaller defaults for a quick test: 1K and 100K flows, a width of 64K, "
			"3 rounds of 200K packets."),
	{0},
};

const struct option_owner kernels_owner = {
	.rows = kernels_rows,
	.fills = &bench_owner,
	.check = bench_check_widths,
};
