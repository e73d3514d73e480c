/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Lower bounds for any sketch. */

#include "tune/measure/bench_subject.h"

extern const struct bench_subject_ops bench_subject_keys;   /* reads keys */
extern const struct bench_subject_ops bench_subject_hashes; /* reads and hashes keys */
extern const struct bench_subject_ops bench_subject_floor;  /* also increments counters */
