/* SPDX-License-Identifier: BSD-3-Clause */

/* Targets of the exact and the invertible table, of the filter, and of monitored prefixes. */

#include <stdio.h>
#include <string.h>

#include "bench/matching.h"
#include "bench/parsing.h"
#include "bench/targets.h"
#include "rx/packet/filter.h"

#define FLOWS           1000000
#define FLOW_WIDTH      (UINT64_C(1) << 20)
#define IBLT_WIDTH      (UINT64_C(1) << 16) /* 30 MB */
#define COUNT_MIN_WIDTH (UINT64_C(1) << 21) /* 34 MB, with its candidates */
#define PREFIXES        50000

/* --- tables --- */

enum table {
	TABLE_FLOWS,
	TABLE_RTE_HASH,
	TABLE_IBLT,
	TABLE_COUNT_MIN,
	TABLES,
};

static void print_ratio(struct targets *targets, const struct target *target,
	const struct contest_result *dividend, const struct contest_result *divisor,
	const char *names)
{
	struct bench_stats stats;
	char note[96];

	if (dividend->missing != NULL || divisor->missing != NULL) {
		targets_print_missing(targets, target,
			dividend->missing != NULL ? dividend->missing : divisor->missing);
		return;
	}
	stats = bench_stats_ratio(dividend->ns, divisor->ns, targets->rounds);
	snprintf(note, sizeof(note), "%s: %.2f ns and %.2f ns", names,
		bench_stats_of(dividend->ns, targets->rounds).median,
		bench_stats_of(divisor->ns, targets->rounds).median);
	targets_print(targets, target, &stats, true, note);
}

static bool try_tables(struct targets *targets)
{
	static const struct target flow_table = {
		"flow-table, separate: faster than rte_hash with counters", "times", true, 1.5};
	static const struct target iblt = {
		"iblt, separate: of count-min at equal memory", "times", false, 2};
	static struct contest_result results[TABLES];
	const struct contestant contestants[TABLES] = {
		[TABLE_FLOWS] = targets_contestant(
			"flow-table", SHARING_SEPARATE, 1, SKETCH_PACKETS, FLOW_WIDTH),
		[TABLE_RTE_HASH] = {.name = "rte_hash", .ops = &contestant_rte_hash, .threads = 1},
		[TABLE_IBLT] =
			targets_contestant("iblt", SHARING_SEPARATE, 1, SKETCH_PACKETS, IBLT_WIDTH),
		[TABLE_COUNT_MIN] = targets_contestant(
			"count-min", SHARING_SEPARATE, 1, SKETCH_PACKETS, COUNT_MIN_WIDTH),
	};
	struct workload *workload = targets_workload(targets, 1050000, FLOWS);
	bool done;

	if (workload == NULL)
		return false;
	done = targets_contest(targets, workload, contestants, TABLES, targets->rounds, results);
	workload_destroy(workload);
	if (!done)
		return false;
	print_ratio(targets, &flow_table, &results[TABLE_RTE_HASH], &results[TABLE_FLOWS],
		"rte_hash, flow-table");
	print_ratio(
		targets, &iblt, &results[TABLE_IBLT], &results[TABLE_COUNT_MIN], "iblt, count-min");
	return true;
}

/* --- the filter --- */

struct filter_shift {
	const struct filter *filter;
	struct rte_mbuf *const *packets; /* [BURST_MAX] */
	uint64_t n, kept;
};

static void filter_shift(void *arg, uint32_t t)
{
	struct filter_shift *shift = arg;
	struct rte_mbuf *burst[BURST_MAX];

	(void)t;
	shift->kept = 0;
	for (uint64_t p = 0; p < shift->n; p += BURST_MAX) {
		memcpy(burst, shift->packets, sizeof(burst));
		shift->kept += filter_burst(shift->filter, burst, BURST_MAX);
	}
}

static bool time_filter(
	struct targets *targets, const struct target *target, struct filter_shift *shift)
{
	double ns[BENCH_ROUNDS_MAX];
	struct bench_stats stats;
	char note[32];

	if (filter_interpreted(shift->filter) > 0) {
		targets_print_missing(targets, target, "no native code could be made here");
		return true;
	}
	for (uint32_t r = 0; r < targets->rounds; r++) {
		double seconds;

		if (!crew_run(&targets->crew, 1, filter_shift, shift, &seconds))
			return false;
		ns[r] = seconds * 1e9 / (double)shift->n;
	}
	stats = bench_stats_of(ns, targets->rounds);
	snprintf(note, sizeof(note), "%.0f %% match",
		100.0 * (double)shift->kept / (double)shift->n);
	targets_print(targets, target, &stats, true, note);
	return true;
}

/* On packets of the generator, in cache. */
static bool try_filter(struct targets *targets, const char *expression)
{
	char what[96], error[FILTER_ERROR_MAX];
	const struct target target = {what, "ns", false, 6};
	struct filter_set set = {0};
	struct parsing *parsing = parsing_create(false, targets->config->seed);
	struct filter *filter = NULL;
	bool done = false;

	snprintf(what, sizeof(what), "filter, native: %s", expression);
	if (parsing != NULL && filter_set_add_ethernet(&set, expression, error) == 0)
		filter = filter_create(&set, false);
	if (filter != NULL) {
		struct filter_shift shift = {
			.filter = filter,
			.packets = parsing_packets(parsing),
			.n = targets->packets,
		};

		done = time_filter(targets, &target, &shift);
		filter_destroy(filter);
	}
	filter_set_free(&set);
	if (parsing != NULL)
		parsing_destroy(parsing);
	return done;
}

/* --- monitored prefixes --- */

struct matching_shift {
	struct matching *matching;
	uint64_t packets, matched;
	enum matching_part part;
};

static void match_shift(void *arg, uint32_t t)
{
	struct matching_shift *shift = arg;

	(void)t;
	shift->matched = matching_run(shift->matching, shift->packets, shift->part);
}

/* ns[part] of every round. */
static bool time_matching(struct targets *targets, struct matching *matching,
	double ns[MATCHING_CREDIT + 1][BENCH_ROUNDS_MAX])
{
	struct matching_shift shift = {.matching = matching, .packets = targets->packets};

	for (uint32_t r = 0; r < targets->rounds; r++)
		for (shift.part = MATCHING_KEYS; shift.part <= MATCHING_CREDIT; shift.part++) {
			double seconds;

			if (!crew_run(&targets->crew, 1, match_shift, &shift, &seconds) ||
				shift.matched != shift.packets)
				return false;
			ns[shift.part][r] = seconds * 1e9 / (double)shift.packets;
		}
	return true;
}

static bool try_matching(struct targets *targets)
{
	static const struct target target = {
		"monitor: 50 000 random hosts, packets to all of them", "ns", false, 8};
	struct matching *matching = matching_create(PREFIXES, targets->config->seed);
	double ns[MATCHING_CREDIT + 1][BENCH_ROUNDS_MAX];
	struct bench_stats stats, credit;
	char note[64];
	bool done;

	if (matching == NULL)
		return false;
	done = time_matching(targets, matching, ns);
	matching_destroy(matching);
	if (!done)
		return false;
	stats = bench_stats_difference(ns[MATCHING_MATCH], ns[MATCHING_KEYS], targets->rounds);
	credit = bench_stats_difference(ns[MATCHING_CREDIT], ns[MATCHING_MATCH], targets->rounds);
	snprintf(note, sizeof(note), "and %.2f ns to credit the rule", credit.median);
	targets_print(targets, &target, &stats, true, note);
	return true;
}

size_t targets_exact_heap_megabytes(void)
{
	return matching_bytes(PREFIXES) >> 20;
}

bool targets_exact(struct targets *targets)
{
	sheet_heading(&targets->sheet, "exact counts, and what is left out");
	return try_tables(targets) && try_filter(targets, "dst net 10.0.0.0/8 and tcp") &&
	       try_filter(targets, "tcp port 443") &&
	       try_filter(targets, "tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420") &&
	       try_matching(targets);
}
