/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "tune/measure/bench_subject.h"

extern const struct published {
	const char *name;
	const struct bench_subject_ops *ops;
} published[];

extern const struct bench_subject_ops bench_subject_octosketch, bench_subject_elastic;
