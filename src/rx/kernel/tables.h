/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reader of the flow tables that the eBPF program fills (layout.h). Reads the generation that the
 * program does not use.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/kernel/layout.h"

struct kernel_tables {
	struct kernel_flow *flows;    /* [2][cpus][2 * buckets] */
	struct kernel_tally *tallies; /* [2][cpus] */
	uint32_t cpus, buckets;
	bool all_share; /* true: shared[] is used, not `flows` */
	int shared[2];
};

/*
 * Passes every flow of a generation to `take` and clears its tables. Returns the sum of their
 * tallies.
 */
struct kernel_tally kernel_tables_take(const struct kernel_tables *tables, uint32_t generation,
	void (*take)(void *arg, const struct kernel_flow *flow), void *arg);

/* Adds *tally to *sum. */
void kernel_tally_add(struct kernel_tally *sum, const struct kernel_tally *tally);

/* Returns the bytes of both generations. */
uint64_t kernel_tables_bytes(uint32_t cpus, uint32_t buckets, bool all_share);
