/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Choices made by the options of tune and the benches: the product of their lists. */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "tune/measure/bench_subject.h"
#include "tune/measure/bench_options.h"

/* Returns `given`, or `otherwise` if that is empty. */
const struct option_values *choices_of(
	const struct option_values *given, const struct option_values *otherwise);

uint64_t choices_largest(const struct option_values *values);

/* Returns true if choice i is in a set; an empty set means all. */
bool choices_has(uint32_t set, uint32_t i);

/*
 * Stores a subject for each chosen sketch, sharing, atomic operation (if shared) and number of
 * threads in subjects[max]. Returns their number.
 */
uint32_t choices_subjects(const struct bench_options *bench, const struct option_values *threads,
	struct bench_subject *subjects, uint32_t max);
