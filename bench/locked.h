/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What threads that share a sketch are measured against: a lock around every burst, under which
 * each counts as if it were alone.
 */

#include "tune/measure/choices.h"

/* The same sketch, whose threads take turns. One lock does for all there are. */
const struct sketch_ops *locked_sketch(const struct sketch_ops *sketch);

/* As choices_subjects(), those that --atomic lock asks for. */
uint32_t locked_subjects(const struct bench_options *bench, const struct option_values *threads,
	struct bench_subject *subjects, uint32_t max);

/* Words of --atomic, of a run and then ours; NULL behind the last. */
const char *locked_atomic_word(uint32_t i);
