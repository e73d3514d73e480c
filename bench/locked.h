/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A reference for shared sketches: a thread locks the sketch, counts one burst as in a separate
 * sketch, and unlocks it.
 */

#include "tune/measure/bench_options.h"

/* Returns a version of the sketch whose shared update takes a lock. All sketches share one lock. */
const struct sketch_ops *locked_sketch(const struct sketch_ops *sketch);

/* Like choices_subjects(), for `--atomic lock`. */
uint32_t locked_subjects(const struct bench_options *bench, const struct option_values *threads,
	struct bench_subject *subjects, uint32_t max);

/* Returns word i of --atomic: the words of a run, then `lock`. NULL after the last. */
const char *locked_atomic_word(uint32_t i);
