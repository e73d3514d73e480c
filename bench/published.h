/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Published sketches for comparison, implemented from their papers. */

#include "tune/measure/bench_subject.h"

/* The last row has no name. */
extern const struct published {
	const char *name;
	const struct bench_subject_ops *ops;
} published[];

/* The fastest ones. */
extern const struct bench_subject_ops bench_subject_octosketch, bench_subject_elastic;
