/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Options, traffic, plans and statistics that several benches share. */

#include "tune/measure/bench_options.h"
#include "tune/measure/bench_subject.h"
#include "parallel/plan/plan.h"
#include "tune/measure/bench_pass.h"

/* --- options --- */

#define BENCH_ZIPF_RANDOM UINT64_MAX /* exponent value that means random headers */

/* Returns the given number, or a default; --quick has a separate default. */
static inline uint64_t bench_number(
	const struct bench_options *bench, uint64_t given, uint64_t otherwise, uint64_t quick)
{
	return given > 0 ? given : bench->quick ? quick : otherwise;
}

/* Implements option_row.inapplicable: without traffic from flows. */
const char *bench_inapplicable_without_flows(
	const struct config *config, const struct measurement_config *measurement);
/* Parses a Zipf exponent, for option_row.read. */
bool bench_read_zipf(const struct option_text *text);

/* Option rows, like those of tune/measure/bench_options.h. */
#define BENCH_ROW_FLOWS(lack, otherwise)                                                           \
	{                                                                                          \
		.name = "flows", .placeholder = "N,...", .group = OPTION_GROUP_TRY,                \
		.type = OPTION_COUNTS, .inapplicable = (lack), OPTION_FIELD(bench_options, flows), \
		.min = 1, .max = UINT64_C(1) << 28, .default_note = (otherwise),                   \
		.help = "Draw packets from N flows.",                                              \
	}
#define BENCH_ROW_ZIPF(lack, otherwise)                                                            \
	{                                                                                          \
		.name = "zipf", .placeholder = "S,...", .group = OPTION_GROUP_TRY,                 \
		.type = OPTION_OWN_LIST, .inapplicable = (lack), .read = bench_read_zipf,          \
		OPTION_FIELD(bench_options, zipf), .default_note = (otherwise),                    \
		.help = "Distribute packets over flows by Zipf exponents S, uniform, or random. "  \
			"random: headers are random, so nearly every packet is a new flow.",       \
	}
#define BENCH_ROW_ROUNDS(otherwise)                                                                \
	{                                                                                          \
		.name = "rounds", .placeholder = "N", .group = OPTION_GROUP_TRY,                   \
		.type = OPTION_COUNT, OPTION_FIELD(bench_options, rounds), .min = 1, .max = 101,   \
		.default_note = (otherwise), .help = "Measure everything N times, in turns.",      \
	}
#define BENCH_ROW_QUICK(text)                                                                      \
	{                                                                                          \
		.name = "quick", .group = OPTION_GROUP_TRY, .type = OPTION_FLAG,                   \
		OPTION_FIELD(bench_options, quick), .help = (text),                                \
	}

/* --- traffic --- */

/*
 * Calls visit(arg, zipf, flows) for each exponent and number of flows. Random headers have one
 * call, with flows 0. Stops and returns false if visit() returns false. Also stops on a signal.
 */
bool choices_each_traffic(const struct option_values *zipf, const struct option_values *flows,
	bool (*visit)(void *arg, uint64_t zipf, uint64_t flows), void *arg);

#define CHOICES_TEXT_MAX 64

/* Writes "uniform", "zipf=1.05" or "random": a field of --synthetic. */
void choices_traffic(char text[CHOICES_TEXT_MAX], uint64_t zipf);

/* Opens a source of endless 64-byte packets. Returns NULL with one line logged if out of memory. */
struct source *setup_source(uint64_t zipf, uint64_t flows);

/* Writes the keys of spec->packets packets. Returns false if out of memory. */
typedef bool (*workload_keys_fn)(const struct workload_spec *spec, struct key4 *keys);

/* Writes the keys of the packets that the traffic generator would send. */
bool workload_generate(const struct workload_spec *spec, struct key4 *keys);

/*
 * Draws the keys of the packets with `draw`, and computes the true count of each key. Returns NULL
 * if out of memory.
 */
struct workload *workload_create_from(
	const struct workload_spec *spec, workload_keys_fn draw, uint64_t hash_seed);

static inline struct workload *workload_create(const struct workload_spec *spec, uint64_t hash_seed)
{
	return workload_create_from(spec, workload_generate, hash_seed);
}

/* Adds the flow hash that a NIC would compute to each packet. Returns false if out of memory. */
bool workload_add_flow_hashes(struct workload *workload);

/*
 * Plans a run of the subject on these CPUs, with the load generator as input. Returns false with
 * one line in error[PLAN_TEXT_MAX].
 */
bool setup_plan(struct plan *plan, const struct config *config, const struct bench_subject *subject,
	const struct topology *topology, char *error);

/*
 * Returns the statistics of the ratios values[i] / others[i]. Values of the same round are
 * compared, because a disturbance affects all subjects of the round. If a divisor is not above 0,
 * the ratio counts as 0.
 */
struct bench_stats bench_stats_ratio(const double *values, const double *others, uint32_t n);

/* Returns the statistics of the differences values[i] - others[i]. */
struct bench_stats bench_stats_difference(const double *values, const double *others, uint32_t n);
