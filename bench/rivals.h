/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What DPDK has of its own for the same purpose. */

#include "tune/measure/bench_subject.h"

extern const struct bench_subject_ops bench_subject_member;       /* rte_member's sketch */
extern const struct bench_subject_ops bench_subject_member_bytes; /* and in byte mode */
extern const struct bench_subject_ops bench_subject_rte_hash;     /* an exact table */

/* After EAL's start: lets the rivals use the widest vectors that the CPU has. */
void rivals_init(void);

/* Megabytes of DPDK's heap that the rivals take in a contest of these sizes. */
size_t rivals_heap_megabytes(uint64_t width, uint64_t packets);
