/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Options of tune and the benches. In a set of bits, 0 means all choices. */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "tune/measure/bench_subject.h"

struct bench_options {
	uint32_t sketches; /* bits: index in sketches[] */
	uint32_t sharings; /* bits: enum sketch_sharing */
	uint32_t atomics;  /* bits: enum sketch_atomic */
	uint32_t designs;  /* bits: index in designs[] (parallel/plan/design.h) */
	struct option_values threads;
	struct option_values flows;
	struct option_values zipf; /* exponents x 10^6; 0: uniform */
	struct option_values widths;
	struct option_values workers;
	uint64_t packets;  /* per round; 0: the default */
	uint64_t duration; /* ns of a round; 0: the default */
	uint64_t memory;   /* bytes of a run; 0: unlimited */
	double error;      /* maximum of the mean relative error of the heaviest keys */
	uint32_t rounds;   /* 0: the default */
	bool quick;
};

OPTION_OWNER(bench)

const char *bench_inapplicable_without_shared(
	const struct config *config, const struct measurement_config *measurement);
bool bench_check_widths(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault);

const struct option_values *choices_of(
	const struct option_values *given, const struct option_values *otherwise);

uint64_t choices_largest(const struct option_values *values);

bool choices_has(uint32_t set, uint32_t i);

/*
 * Fills subjects[max] with all combinations of the chosen sketches, sharings, atomic operations and
 * numbers of threads. Returns their number.
 */
uint32_t choices_subjects(const struct bench_options *bench, const struct option_values *threads,
	struct bench_subject *subjects, uint32_t max);

#define BENCH_ROW_SKETCH                                                                           \
	{                                                                                          \
		.name = "sketch", .placeholder = "SKETCH,...", .group = OPTION_GROUP_TRY,          \
		.type = OPTION_WORDS, .alias = sketch_alias, .word = sketch_word,                  \
		OPTION_FIELD(bench_options, sketches), .default_note = "all",                      \
		.help = "Compare these sketches:",                                                 \
	}
#define BENCH_ROW_SHARING                                                                          \
	{                                                                                          \
		.name = "sharing", .placeholder = "SHARING,...", .group = OPTION_GROUP_TRY,        \
		.type = OPTION_WORDS, .word = plan_sharing_word,                                   \
		OPTION_FIELD(bench_options, sharings), .default_note = "all",                      \
		.help = "Compare separate and shared sketches. shared: with both atomic "          \
			"operations. shared:cas, shared:add: with one of them.",                   \
	}
#define BENCH_ROW_ATOMIC(words, text)                                                              \
	{                                                                                          \
		.name = "atomic", .placeholder = "HOW,...", .group = OPTION_GROUP_TRY,             \
		.type = OPTION_WORDS, .hidden = true, .part_of = "sharing",                        \
		.part = "shared:", .inapplicable = bench_inapplicable_without_shared,              \
		.word = (words), OPTION_FIELD(bench_options, atomics), .default_note = "all",      \
		.help = (text),                                                                    \
	}
#define BENCH_ROW_WIDTH(otherwise, text)                                                           \
	{                                                                                          \
		.name = "width", .placeholder = "N,...", .group = OPTION_GROUP_TRY,                \
		.type = OPTION_COUNTS, OPTION_FIELD(bench_options, widths), .min = 16,             \
		.max = UINT64_C(1) << 28, .power_of_two = true, .default_note = (otherwise),       \
		.help = (text),                                                                    \
	}
#define BENCH_ROW_PACKETS(least, otherwise, text)                                                  \
	{                                                                                          \
		.name = "packets", .placeholder = "N", .group = OPTION_GROUP_TRY,                  \
		.type = OPTION_COUNT, OPTION_FIELD(bench_options, packets), .min = (least),        \
		.max = UINT64_C(1) << 30, .default_note = (otherwise), .help = (text),             \
	}
#define BENCH_ROW_DURATION(otherwise, text)                                                        \
	{                                                                                          \
		.name = "duration", .placeholder = "TIME", .group = OPTION_GROUP_TRY,              \
		.type = OPTION_TIME, OPTION_FIELD(bench_options, duration),                        \
		.min = 10 * UINT64_C(1000000), .max = 60 * UINT64_C(1000000000),                   \
		.default_note = (otherwise), .help = (text),                                       \
	}
