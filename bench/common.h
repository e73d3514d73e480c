/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Options, traffic, plans and statistics that several benches share. */

#include "tune/measure/bench_options.h"
#include "tune/measure/bench_subject.h"
#include "parallel/plan/plan.h"
#include "tune/measure/bench_pass.h"

#define BENCH_ZIPF_RANDOM UINT64_MAX /* value of a Zipf exponent: random headers */

static inline uint64_t bench_number(
	const struct bench_options *bench, uint64_t given, uint64_t otherwise, uint64_t quick)
{
	return given > 0 ? given : bench->quick ? quick : otherwise;
}

/* Implements option_row.inapplicable for options that need traffic from flows. */
const char *bench_inapplicable_without_flows(
	const struct config *config, const struct measurement_config *measurement);
/* Parses a Zipf exponent, for option_row.read. */
bool bench_read_zipf(const struct option_text *text);

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

/*
 * Calls visit(arg, zipf, flows) for each exponent and number of flows, once with flows 0 for random
 * headers. Stops on a signal or if visit() returns false; then returns false.
 */
bool choices_each_traffic(const struct option_values *zipf, const struct option_values *flows,
	bool (*visit)(void *arg, uint64_t zipf, uint64_t flows), void *arg);

#define CHOICES_TEXT_MAX 64

void choices_traffic(char text[CHOICES_TEXT_MAX], uint64_t zipf);

/* Opens a source of endless 64-byte packets. Returns NULL with one line logged if out of memory. */
struct source *setup_source(uint64_t zipf, uint64_t flows);

/* Writes spec->packets keys. Returns false if out of memory. */
typedef bool (*workload_keys_fn)(const struct workload_spec *spec, struct key4 *keys);

bool workload_generate(const struct workload_spec *spec, struct key4 *keys);

/* Draws keys with `draw` and computes their true counts. Returns NULL if out of memory. */
struct workload *workload_create_from(
	const struct workload_spec *spec, workload_keys_fn draw, uint64_t hash_seed);

static inline struct workload *workload_create(const struct workload_spec *spec, uint64_t hash_seed)
{
	return workload_create_from(spec, workload_generate, hash_seed);
}

/* Adds the flow hash of a NIC to each packet. Returns false if out of memory. */
bool workload_add_flow_hashes(struct workload *workload);

/* Plans a run of the subject. Returns false with one line in error[PLAN_TEXT_MAX]. */
bool setup_plan(struct plan *plan, const struct config *config, const struct bench_subject *subject,
	const struct topology *topology, char *error);

/*
 * Compares values of the same round, because a disturbance affects all subjects. Divisor 0 gives 0.
 */
struct bench_stats bench_stats_ratio(const double *values, const double *others, uint32_t n);

struct bench_stats bench_stats_difference(const double *values, const double *others, uint32_t n);
