/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A reference for shared sketches: a lock around each burst. */

#include "tune/measure/bench_options.h"

const struct sketch_ops *locked_sketch(const struct sketch_ops *sketch);

uint32_t locked_subjects(const struct bench_options *bench, const struct option_values *threads,
	struct bench_subject *subjects, uint32_t max);

const char *locked_atomic_word(uint32_t i);
