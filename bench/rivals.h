/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "tune/measure/bench_subject.h"

extern const struct bench_subject_ops bench_subject_member;
extern const struct bench_subject_ops bench_subject_member_bytes;
extern const struct bench_subject_ops bench_subject_rte_hash;

/* Allows vectors of up to 512 bits. Call it after the start of EAL. */
void rivals_init(void);

/* Returns the megabytes of DPDK heap that the rivals need. */
size_t rivals_heap_megabytes(uint64_t width, uint64_t packets);
