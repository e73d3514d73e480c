/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "tune/measure/bench_subject.h"

extern const struct bench_subject_ops bench_subject_keys;
extern const struct bench_subject_ops bench_subject_hashes;
extern const struct bench_subject_ops bench_subject_floor;
