/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The reader's side of the program's tables (layout.h), of the generation that it does not use. */

#include <stdbool.h>
#include <stdint.h>

#include "rx/kernel/layout.h"

struct kernel_tables {
	struct kernel_flow *flows;    /* [2][cpus][2 * buckets] */
	struct kernel_tally *tallies; /* [2][cpus] */
	uint32_t cpus, buckets;
	bool all_share; /* the maps of all CPUs, and there are no flows above */
	int shared[2];
};

/*
 * Gives every flow of a generation to `take`, and leaves its tables empty. Returns what they said of
 * sizes.
 */
struct kernel_tally kernel_tables_take(const struct kernel_tables *tables, uint32_t generation,
	void (*take)(void *arg, const struct kernel_flow *flow), void *arg);

/* *sum := that of both. */
void kernel_tally_add(struct kernel_tally *sum, const struct kernel_tally *tally);

/* Bytes, of both generations. */
uint64_t kernel_tables_bytes(uint32_t cpus, uint32_t buckets, bool all_share);
