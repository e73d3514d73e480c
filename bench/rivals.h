/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Structures of DPDK for the same purpose. */

#include "tune/measure/bench_subject.h"

extern const struct bench_subject_ops bench_subject_member;       /* sketch of rte_member */
extern const struct bench_subject_ops bench_subject_member_bytes; /* rte_member, byte mode */
extern const struct bench_subject_ops bench_subject_rte_hash;     /* exact table */

/* Allows vectors of up to 512 bits. Call it after the start of EAL. */
void rivals_init(void);

/* Returns the megabytes of DPDK's heap that the rivals need. */
size_t rivals_heap_megabytes(uint64_t width, uint64_t packets);
