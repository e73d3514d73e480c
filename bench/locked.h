/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reference for shared sketches: a lock around every burst, in which the holder counts as in a
 * separate sketch.
 */

#include "tune/measure/bench_options.h"

/* Returns a sketch whose shared update takes a lock. One lock serves all sketches. */
const struct sketch_ops *locked_sketch(const struct sketch_ops *sketch);

/* Like choices_subjects(), for --atomic lock. */
uint32_t locked_subjects(const struct bench_options *bench, const struct option_values *threads,
	struct bench_subject *subjects, uint32_t max);

/* Returns word i of --atomic: those of a run, then lock. NULL after the last. */
const char *locked_atomic_word(uint32_t i);
