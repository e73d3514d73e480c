/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Sketches that others have published for the same purpose, written from their papers. */

#include "tune/measure/bench_subject.h"

/* A row without a name ends them. */
extern const struct published {
	const char *name;
	const struct bench_subject_ops *ops;
} published[];

/* The quickest of them. */
extern const struct bench_subject_ops bench_subject_octosketch, bench_subject_elastic;
