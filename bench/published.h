/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Published sketches for the same purpose, implemented from their papers. */

#include "tune/measure/bench_subject.h"

/* Ends with a row without a name. */
extern const struct published {
	const char *name;
	const struct bench_subject_ops *ops;
} published[];

/* The fastest ones. */
extern const struct bench_subject_ops bench_subject_octosketch, bench_subject_elastic;
