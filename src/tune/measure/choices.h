/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What the options of tune and of the benches choose: the product of their lists. */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "tune/measure/bench_subject.h"
#include "tune/measure/bench_options.h"

/* The list that was given, else the other one. */
const struct option_values *choices_of(
	const struct option_values *given, const struct option_values *otherwise);

uint64_t choices_largest(const struct option_values *values);

/* Whether choice i is in a set; an empty one is all. */
bool choices_has(uint32_t set, uint32_t i);

/*
 * One contestant of each chosen sketch, sharing, atomic (of shared ones) and number of threads into
 * subjects[max]. Returns their number.
 */
uint32_t choices_subjects(const struct bench_options *bench, const struct option_values *threads,
	struct bench_subject *subjects, uint32_t max);

/*
 * Calls visit(arg, zipf, flows) for each exponent and number of flows; once for random headers,
 * which have no flows, with 0. Ends when visit() returns false, which is returned then, or when a
 * signal asks for it.
 */
bool choices_each_traffic(const struct option_values *zipf, const struct option_values *flows,
	bool (*visit)(void *arg, uint64_t zipf, uint64_t flows), void *arg);

#define CHOICES_TEXT_MAX 64

/* "uniform", "zipf=1.05" or "random": a field of a generator's SPEC. */
void choices_traffic(char text[CHOICES_TEXT_MAX], uint64_t zipf);
