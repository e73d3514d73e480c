/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * bench targets: what the project wants to reach, each with what this host reaches. Contestants of
 * one row are compared within rounds, as everywhere here.
 */

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/bench.h"
#include "bench/parsing.h"
#include "bench/reporting.h"
#include "bench/setup.h"
#include "bench/targets.h"
#include "parallel/eal.h"

#define ROUNDS         7
#define PACKETS        (UINT64_C(4) << 20)
#define REPLAY_PACKETS UINT64_C(2000000)
#define QUICK_ROUNDS   3
#define QUICK_PACKETS  UINT64_C(200000)
#define WIDTH          (UINT64_C(1) << 16) /* of Count-Min; the others have their defaults */
#define FLOWS          1000000
#define FEW_FLOWS      1000
#define MANY_FLOWS     20000000
#define REPORT_WORKERS 8
#define REPORT_TOP     1000
#define REPLAY_MPPS    8.0
#define REPLAY_OF_PCAP 0.9

static const struct sheet_column columns[] = {
	{.name = "bench"},
	{"target", "", -66},
	{"value", "value", 8},
	{"min", "min", 8},
	{"max", "max", 8},
	{"unit", "", -5},
	{"relation", "", 2},
	{"limit", "limit", 6},
	{"met", "", -7},
	{.name = "rounds"},
	{"note", "", -1},
	{.name = NULL},
};

void targets_print(struct targets *targets, const struct target *target,
	const struct bench_stats *stats, bool right, const char *note)
{
	struct sheet *sheet = &targets->sheet;
	bool met = right && (target->at_least ? stats->median >= target->limit
					      : stats->median <= target->limit);

	sheet_cell(sheet, "bench", "targets");
	sheet_cell(sheet, "target", "%s", target->what);
	sheet_cell(sheet, "value", "%.2f", stats->median);
	sheet_cell(sheet, "min", "%.2f", stats->min);
	sheet_cell(sheet, "max", "%.2f", stats->max);
	sheet_cell(sheet, "unit", "%s", target->unit);
	sheet_cell(sheet, "relation", "%s", target->at_least ? ">=" : "<=");
	sheet_cell(sheet, "limit", "%.2f", target->limit);
	sheet_cell(sheet, "met", "%s", met ? "met" : "not met");
	sheet_cell(sheet, "rounds", "%u", targets->rounds);
	sheet_cell(sheet, "note", "%s", note);
	sheet_row(sheet, &targets->facts);
}

void targets_print_missing(struct targets *targets, const struct target *target, const char *why)
{
	struct sheet *sheet = &targets->sheet;

	sheet_cell(sheet, "bench", "targets");
	sheet_cell(sheet, "target", "%s", target->what);
	sheet_cell(sheet, "unit", "%s", target->unit);
	sheet_cell(sheet, "relation", "%s", target->at_least ? ">=" : "<=");
	sheet_cell(sheet, "limit", "%.2f", target->limit);
	sheet_cell(sheet, "note", "not measured: %s", why);
	sheet_row(sheet, &targets->facts);
}

struct workload *targets_workload(const struct targets *targets, uint32_t zipf_e6, uint64_t flows)
{
	struct workload_spec spec = {
		.zipf_e6 = zipf_e6, .flows = flows, .packets = targets->packets, .seed = 1};

	return workload_create(&spec, targets->config->seed);
}

struct contestant targets_contestant(const char *sketch, enum sketch_sharing sharing,
	uint32_t threads, enum sketch_metric metric, uint64_t width)
{
	return (struct contestant){
		.name = sketch,
		.ops = &contestant_sketch,
		.sketch = sketch_find(sketch),
		.sharing = sharing,
		.metric = metric,
		.threads = threads,
		.width = width,
	};
}

static uint64_t width_of(const char *sketch)
{
	return strcmp(sketch, "count-min") == 0 ? WIDTH : sketch_find(sketch)->default_width;
}

/* --- the kernels, on Zipf 1.05 over a million flows --- */

enum kernel {
	KERNEL_FLOOR,
	KERNEL_MEMBER,
	KERNEL_COUNT_MIN,
	KERNEL_COUNT_MIN_SHARED,
	KERNEL_COUNT_MIN_BYTES,
	KERNEL_SIMPLE_HASH,
	KERNEL_SIMPLE_HASH_SHARED,
	KERNEL_REVERSIBLE,
	KERNEL_REVERSIBLE_SHARED,
	KERNELS,
};

static void print_kernel(struct targets *targets, const struct contest_result *result,
	const char *what, double limit)
{
	const struct target target = {what, "ns", false, limit};
	struct bench_stats stats = bench_stats_of(result->ns, targets->rounds);
	char note[64];

	if (result->missing != NULL) {
		targets_print_missing(targets, &target, result->missing);
		return;
	}
	snprintf(note, sizeof(note), "recall %.2f, error %.4f", result->accuracy.recall,
		result->accuracy.relative_error);
	targets_print(targets, &target, &stats, true, note);
}

/* How many times faster than rte_member it is; as accurate at least, or it does not count. */
static void print_member(struct targets *targets, const struct contest_result *results)
{
	static const struct target target = {
		"count-min, separate: faster than rte_member in packet mode", "times", true, 5};
	const struct contest_result *ours = &results[KERNEL_COUNT_MIN];
	const struct contest_result *member = &results[KERNEL_MEMBER];
	struct bench_stats stats = bench_stats_ratio(member->ns, ours->ns, targets->rounds);
	bool right = ours->accuracy.recall >= member->accuracy.recall &&
		     ours->accuracy.relative_error <= member->accuracy.relative_error;
	char note[96];

	snprintf(note, sizeof(note), "rte_member: recall %.2f, error %.4f, %.2f ns",
		member->accuracy.recall, member->accuracy.relative_error,
		bench_stats_of(member->ns, targets->rounds).median);
	targets_print(targets, &target, &stats, right, note);
}

static void print_kernels(struct targets *targets, const struct contest_result *results)
{
	static const struct target of_floor = {
		"count-min, separate: of the floor of 4 random increments", "times", false, 2};
	static const struct target of_packets = {
		"--count bytes, of --count packets; each reports both", "times", false, 1.25};
	const struct contest_result *count_min = &results[KERNEL_COUNT_MIN];
	struct bench_stats stats;

	print_kernel(targets, count_min, "count-min 4 x 64K, separate", 8.5);
	stats = bench_stats_ratio(count_min->ns, results[KERNEL_FLOOR].ns, targets->rounds);
	targets_print(targets, &of_floor, &stats, true, "");
	print_member(targets, results);
	print_kernel(targets, &results[KERNEL_SIMPLE_HASH], "simple-hash, separate", 5);
	print_kernel(targets, &results[KERNEL_REVERSIBLE], "reversible, separate", 80);
	print_kernel(targets, &results[KERNEL_COUNT_MIN_SHARED],
		"count-min 4 x 64K, shared, one thread", 16);
	print_kernel(
		targets, &results[KERNEL_SIMPLE_HASH_SHARED], "simple-hash, shared, one thread", 8);
	print_kernel(
		targets, &results[KERNEL_REVERSIBLE_SHARED], "reversible, shared, one thread", 110);
	stats = bench_stats_ratio(
		results[KERNEL_COUNT_MIN_BYTES].ns, count_min->ns, targets->rounds);
	targets_print(targets, &of_packets, &stats, true, "");
}

bool targets_contest(struct targets *targets, const struct workload *workload,
	const struct contestant *contestants, uint32_t n, uint32_t rounds,
	struct contest_result *results)
{
	struct contest contest = {
		.workload = workload, .width = WIDTH, .seed = targets->config->seed};
	uint32_t done;

	return contest_run(&contest, &targets->crew, contestants, n, rounds, results, &done,
		       targets->error) &&
	       done == rounds;
}

static bool try_kernels(struct targets *targets)
{
	static struct contest_result results[KERNELS];
	const struct contestant contestants[KERNELS] = {
		[KERNEL_FLOOR] = {.name = "floor", .ops = &contestant_floor, .threads = 1},
		[KERNEL_MEMBER] = {.name = "rte_member", .ops = &contestant_member, .threads = 1},
		[KERNEL_COUNT_MIN] =
			targets_contestant("count-min", SHARING_SEPARATE, 1, SKETCH_PACKETS, WIDTH),
		[KERNEL_COUNT_MIN_SHARED] =
			targets_contestant("count-min", SHARING_SHARED, 1, SKETCH_PACKETS, WIDTH),
		[KERNEL_COUNT_MIN_BYTES] =
			targets_contestant("count-min", SHARING_SEPARATE, 1, SKETCH_BYTES, WIDTH),
		[KERNEL_SIMPLE_HASH] = targets_contestant("simple-hash", SHARING_SEPARATE, 1,
			SKETCH_PACKETS, width_of("simple-hash")),
		[KERNEL_SIMPLE_HASH_SHARED] = targets_contestant(
			"simple-hash", SHARING_SHARED, 1, SKETCH_PACKETS, width_of("simple-hash")),
		[KERNEL_REVERSIBLE] = targets_contestant(
			"reversible", SHARING_SEPARATE, 1, SKETCH_PACKETS, width_of("reversible")),
		[KERNEL_REVERSIBLE_SHARED] = targets_contestant(
			"reversible", SHARING_SHARED, 1, SKETCH_PACKETS, width_of("reversible")),
	};
	struct workload *workload = targets_workload(targets, 1050000, FLOWS);
	bool done;

	if (workload == NULL)
		return false;
	done = targets_contest(targets, workload, contestants, KERNELS, targets->rounds, results);
	workload_destroy(workload);
	if (done)
		print_kernels(targets, results);
	return done;
}

/* --- two threads on one sketch --- */

static bool try_shared_threads(struct targets *targets)
{
	static const struct target target = {
		"count-min 4 x 64K, shared, Zipf 1.3: two threads, of one's rate", "times", true,
		0.9};
	static struct contest_result results[2];
	const struct contestant contestants[2] = {
		targets_contestant("count-min", SHARING_SHARED, 1, SKETCH_PACKETS, WIDTH),
		targets_contestant("count-min", SHARING_SHARED, 2, SKETCH_PACKETS, WIDTH),
	};
	struct workload *workload = targets_workload(targets, 1300000, FLOWS);
	struct bench_stats stats;
	bool done;

	if (workload == NULL)
		return false;
	done = targets_contest(targets, workload, contestants, 2, targets->rounds, results);
	workload_destroy(workload);
	if (!done)
		return false;
	if (results[1].missing != NULL) {
		targets_print_missing(targets, &target, results[1].missing);
		return true;
	}
	/* Each of the two takes so long for its packets, and there are two. */
	stats = bench_stats_ratio(results[0].ns, results[1].ns, targets->rounds);
	stats = (struct bench_stats){2 * stats.median, 2 * stats.min, 2 * stats.max};
	targets_print(targets, &target, &stats, true, "");
	return true;
}

/* --- flat in flows --- */

#define FLAT_SKETCHES 3

static bool flat_rounds(struct targets *targets, const struct workload *few,
	const struct workload *many, const struct contestant *contestants,
	double ns[2][FLAT_SKETCHES][BENCH_ROUNDS_MAX])
{
	static struct contest_result results[FLAT_SKETCHES];

	for (uint32_t r = 0; r < targets->rounds; r++)
		for (uint32_t w = 0; w < 2; w++) {
			if (!targets_contest(targets, w == 0 ? few : many, contestants,
				    FLAT_SKETCHES, 1, results))
				return false;
			for (uint32_t s = 0; s < FLAT_SKETCHES; s++)
				ns[w][s][r] = results[s].ns[0];
		}
	return true;
}

static bool try_flatness(struct targets *targets)
{
	static const char *const names[FLAT_SKETCHES] = {"count-min", "simple-hash", "reversible"};
	static double ns[2][FLAT_SKETCHES][BENCH_ROUNDS_MAX];
	struct workload *few = targets_workload(targets, 0, FEW_FLOWS);
	struct workload *many = targets_workload(targets, 0, MANY_FLOWS);
	struct contestant contestants[FLAT_SKETCHES];
	bool done;

	for (uint32_t s = 0; s < FLAT_SKETCHES; s++)
		contestants[s] = targets_contestant(
			names[s], SHARING_SEPARATE, 1, SKETCH_PACKETS, width_of(names[s]));
	done = few != NULL && many != NULL && flat_rounds(targets, few, many, contestants, ns);
	for (uint32_t s = 0; done && s < FLAT_SKETCHES; s++) {
		struct bench_stats stats = bench_stats_ratio(ns[1][s], ns[0][s], targets->rounds);
		char what[96], note[64];
		struct target target = {what, "times", false, 1.3};

		snprintf(what, sizeof(what), "%s: 20 M uniform flows, of 1 K flows", names[s]);
		snprintf(note, sizeof(note), "%.2f ns and %.2f ns",
			bench_stats_of(ns[1][s], targets->rounds).median,
			bench_stats_of(ns[0][s], targets->rounds).median);
		targets_print(targets, &target, &stats, true, note);
	}
	if (few != NULL)
		workload_destroy(few);
	if (many != NULL)
		workload_destroy(many);
	return done;
}

/* --- parse and hash --- */

struct parsing_shift {
	struct parsing *parsing;
	uint64_t packets;
	bool right;
};

static void parse_shift(void *arg, uint32_t t)
{
	struct parsing_shift *shift = arg;

	(void)t;
	shift->right = parsing_run(shift->parsing, shift->packets);
}

static bool try_parsing(struct targets *targets, bool ipv6_vlan, const struct target *target)
{
	struct parsing_shift shift = {
		.parsing = parsing_create(ipv6_vlan, targets->config->seed),
		.packets = targets->packets,
	};
	double ns[BENCH_ROUNDS_MAX];
	struct bench_stats stats;
	bool done = shift.parsing != NULL;

	for (uint32_t r = 0; done && r < targets->rounds; r++) {
		double seconds;

		done = crew_run(&targets->crew, 1, parse_shift, &shift, &seconds) && shift.right;
		ns[r] = seconds * 1e9 / (double)shift.packets;
	}
	if (shift.parsing != NULL)
		parsing_destroy(shift.parsing);
	if (!done)
		return false;
	stats = bench_stats_of(ns, targets->rounds);
	targets_print(targets, target, &stats, true, "");
	return true;
}

/* --- the whole worker --- */

static bool try_worker(struct targets *targets)
{
	static const struct target target = {
		"whole worker, count-min: more than receiving and freeing", "ns", false, 14};
	double counted[BENCH_ROUNDS_MAX], freed[BENCH_ROUNDS_MAX];
	struct bench_stats stats;
	struct source *source;
	bool done = true;

	if (targets->plan.oversubscribed) {
		targets_print_missing(targets, &target, "it takes two CPUs");
		return true;
	}
	source = setup_source(1050000, FLOWS);
	if (source == NULL)
		return false;
	for (uint32_t r = 0; done && r < targets->rounds; r++) {
		struct polled_sample without, with;

		done = polled_run(&targets->run_config, &targets->plan, source,
			       POLLED_RECEIVE_AND_FREE, &without, targets->error) &&
		       polled_run(&targets->run_config, &targets->plan, source, POLLED_MEASURE,
			       &with, targets->error);
		freed[r] = without.total;
		counted[r] = with.total;
	}
	source->close(source);
	if (!done)
		return false;
	stats = bench_stats_difference(counted, freed, targets->rounds);
	targets_print(targets, &target, &stats, true, "");
	return true;
}

/* --- the reporter --- */

struct reporting_shift {
	struct reporting *reporting;
	const struct workload *workload;
	struct sketch *sketch; /* that thread 0 updates */
	uint32_t rows;
	_Atomic bool ended; /* thread 0 has nothing left to count */
};

static void report_shift(void *arg, uint32_t t)
{
	struct reporting_shift *shift = arg;

	(void)t;
	shift->rows = reporting_run(shift->reporting);
}

static void count_all(struct reporting_shift *shift)
{
	struct key_burst burst;

	workload_burst_init(&burst);
	for (uint64_t b = 0; b < workload_bursts(shift->workload); b++) {
		workload_load(shift->workload, b, &burst);
		hash_burst(&shift->workload->hash_key, &burst);
		shift->sketch->ops->update[SHARING_SEPARATE](shift->sketch, &burst);
	}
}

static void count_beside_reporter(void *arg, uint32_t t)
{
	struct reporting_shift *shift = arg;

	if (t == 0) {
		count_all(shift);
		atomic_store_explicit(&shift->ended, true, memory_order_relaxed);
		return;
	}
	while (!atomic_load_explicit(&shift->ended, memory_order_relaxed))
		shift->rows = reporting_run(shift->reporting);
}

/* Seconds of thread 0 while nobody reports, and while somebody does. */
static bool count_twice(
	struct targets *targets, struct reporting_shift *shift, double *alone, double *beside)
{
	double seconds[2];

	shift->sketch->ops->reset(shift->sketch);
	if (!crew_run(&targets->crew, 1, count_beside_reporter, shift, seconds))
		return false;
	*alone = seconds[0];
	shift->sketch->ops->reset(shift->sketch);
	atomic_store_explicit(&shift->ended, false, memory_order_relaxed);
	if (!crew_run(&targets->crew, 2, count_beside_reporter, shift, seconds))
		return false;
	*beside = seconds[0];
	return true;
}

static bool try_disturbance(struct targets *targets, struct reporting_shift *shift)
{
	static const struct target target = {
		"count-min while a reporter merges, of while none does", "times", false, 1.05};
	struct sketch_params params = {.width = WIDTH,
		.seed = targets->config->seed,
		.allocator = sketch_allocator_malloc};
	const struct sketch_ops *ops = sketch_find("count-min");
	double alone[BENCH_ROUNDS_MAX], beside[BENCH_ROUNDS_MAX];
	struct bench_stats stats;
	bool done;

	if (targets->crew.nb_cpus < 2) {
		targets_print_missing(targets, &target, "it takes two CPUs");
		return true;
	}
	if (ops->check(&params) != NULL || (shift->sketch = ops->create(&params)) == NULL)
		return false;
	done = true;
	for (uint32_t r = 0; done && r < targets->rounds; r++)
		done = count_twice(targets, shift, &alone[r], &beside[r]);
	ops->destroy(shift->sketch);
	if (!done)
		return false;
	stats = bench_stats_ratio(beside, alone, targets->rounds);
	targets_print(targets, &target, &stats, true, "one merge after the other");
	return true;
}

static bool try_merging(struct targets *targets, struct reporting_shift *shift)
{
	static const struct target target = {
		"merge, rank, print: 8 workers x (4 x 64K), N = 1000", "ms", false, 20};
	double milliseconds[BENCH_ROUNDS_MAX];
	struct bench_stats stats;

	for (uint32_t r = 0; r < targets->rounds; r++) {
		double seconds;

		if (!crew_run(&targets->crew, 1, report_shift, shift, &seconds) ||
			shift->rows != REPORT_TOP)
			return false;
		milliseconds[r] = seconds * 1000;
	}
	stats = bench_stats_of(milliseconds, targets->rounds);
	targets_print(targets, &target, &stats, true, "");
	return true;
}

static bool try_reporter(struct targets *targets)
{
	struct workload *workload = targets_workload(targets, 1050000, FLOWS);
	struct reporting_shift shift = {.workload = workload};
	bool done = false;

	if (workload == NULL)
		return false;
	shift.reporting = reporting_create(
		workload, REPORT_WORKERS, WIDTH, REPORT_TOP, targets->config->seed);
	if (shift.reporting != NULL) {
		done = try_merging(targets, &shift) && try_disturbance(targets, &shift);
		reporting_destroy(shift.reporting);
	}
	workload_destroy(workload);
	return done;
}

/* --- the program --- */

static bool try_program(struct targets *targets)
{
	static const struct target start_up = {
		"start-up: --pcap of 10 packets, wall", "s", false, 0.35};
	const struct program_captures *captures = &targets->captures;
	double small[BENCH_ROUNDS_MAX], mpps[BENCH_ROUNDS_MAX], alone[BENCH_ROUNDS_MAX];
	double packets = (double)captures->packets / 1e6;
	struct target replay = {"replay of a capture file, start-up left out", "Mpps", true, 0};
	struct bench_stats stats;
	char note[64];

	for (uint32_t r = 0; r < targets->rounds; r++) {
		double large, read;

		small[r] = program_replay(targets->config, captures->small, targets->error);
		large = program_replay(targets->config, captures->large, targets->error);
		read = program_read_alone(captures->large, captures->packets, targets->error);
		if (small[r] <= 0 || large <= 0 || read <= 0)
			return false;
		mpps[r] = large > small[r] ? packets / (large - small[r]) : 0;
		alone[r] = packets / read;
	}
	stats = bench_stats_of(small, targets->rounds);
	targets_print(targets, &start_up, &stats, true, "");
	stats = bench_stats_of(alone, targets->rounds);
	snprintf(note, sizeof(note), "libpcap alone: %.2f Mpps", stats.median);
	replay.limit = stats.median * REPLAY_OF_PCAP < REPLAY_MPPS ? stats.median * REPLAY_OF_PCAP
								   : REPLAY_MPPS;
	stats = bench_stats_of(mpps, targets->rounds);
	targets_print(targets, &replay, &stats, true, note);
	return true;
}

/* --- all of it --- */

/* Before EAL's start, which ties this process to a CPU: programs that it starts would be too. */
static bool try_before_eal(struct targets *targets)
{
	bool done =
		program_captures_write(&targets->captures, targets->replay_packets, targets->error);

	sheet_heading(&targets->sheet, "programs");
	done = done && try_program(targets);
	program_captures_remove(&targets->captures);
	return done;
}

static bool try_with_eal(struct targets *targets)
{
	static const struct target ipv4 = {
		"parse and hash: 64-byte IPv4, header in cache", "ns", false, 6};
	static const struct target ipv6 = {
		"parse and hash: IPv6 and VLAN, header in cache", "ns", false, 10};

	sheet_heading(&targets->sheet,
		"kernels: Zipf 1.05 over 1 M flows unless said otherwise (%s)",
		targets->facts.dpdk);
	if (!try_kernels(targets) || !try_shared_threads(targets) || !try_flatness(targets))
		return false;
	sheet_heading(&targets->sheet, "around them");
	return try_parsing(targets, false, &ipv4) && try_parsing(targets, true, &ipv6) &&
	       try_worker(targets) && try_reporter(targets) && targets_exact(targets);
}

static bool start_eal(struct targets *targets)
{
	const struct contestant whole =
		targets_contestant("count-min", SHARING_SEPARATE, 1, SKETCH_PACKETS, 0);

	setup_run_config(&targets->run_config, targets->config, &whole);
	targets->run_config.packets = targets->packets;
	if (!setup_plan(&targets->plan, &targets->run_config, &targets->topology, targets->error))
		return false;
	setup_add_heap(&targets->plan, &targets->topology,
		rivals_heap_megabytes(WIDTH, targets->packets) + targets_exact_heap_megabytes());
	if (!eal_start(&targets->plan, &targets->run_config, targets->error))
		return false;
	host_facts_add_memory(&targets->facts);
	rivals_init();
	return true;
}

static bool try_all(struct targets *targets)
{
	bool done;

	if (!try_before_eal(targets) || !start_eal(targets))
		return false;
	done = try_with_eal(targets);
	eal_stop();
	return done;
}

int bench_targets(const struct config *config, int argc, char *const argv[])
{
	static struct targets targets;
	const struct bench_config *bench = &config->bench;
	int status, closed;

	targets.config = config;
	targets.rounds = bench->quick ? QUICK_ROUNDS : ROUNDS;
	if (bench->rounds > 0)
		targets.rounds = bench->rounds;
	targets.packets = (bench->quick ? QUICK_PACKETS : PACKETS) / BURST_MAX * BURST_MAX;
	targets.replay_packets = bench->quick ? QUICK_PACKETS : REPLAY_PACKETS;
	if (!setup_topology(&targets.topology, config))
		return 1;
	crew_init(&targets.crew, &targets.topology);
	status = sheet_open(&targets.sheet, columns, config);
	if (status != 0)
		return status;
	host_facts_read(&targets.facts, argc, argv);
	sheet_begin(&targets.sheet, &targets.facts);
	if (!try_all(&targets) && !signals_stop_requested()) {
		log_error("%s", targets.error[0] != '\0' ? targets.error
							 : "no memory for the measurements");
		status = 1;
	}
	closed = sheet_close(&targets.sheet);
	return status != 0 ? status : closed;
}
