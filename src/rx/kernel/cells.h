/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The reader's side of the program's cells (layout.h), an iblt of each CPU and generation: of the
 * generation that it does not use.
 */

#include <stdint.h>

#include "rx/kernel/layout.h"
#include "sketch/iblt/iblt_view.h"

struct kernel_cells {
	uint8_t *cells4, *cells6, *filters; /* [2][cpus] of each */
	struct kernel_tally *tallies;       /* [2][cpus] */
	uint32_t cpus;
	uint32_t bits, filter_bits; /* log2 of the IPv4 cells of a row, and of a filter's blocks */
	const __u64 *hash_keys;     /* [2][KERNEL_HASH_KEYS] */
	struct iblt_view *view;
};

/*
 * Gives every flow of a generation to `take`, those of several CPUs several times, and leaves the
 * cells empty. Adds to *undecoded what is of no flow. Returns what the tallies said.
 */
struct kernel_tally kernel_cells_take(const struct kernel_cells *cells, uint32_t generation,
	sketch_emit_fn take, void *arg, struct sketch_undecoded *undecoded);

/* As iblt_hash_fn; arg: [2][KERNEL_HASH_KEYS]. */
void kernel_cells_hash(const void *arg, struct key_burst *burst);

/* Bytes of both generations. */
uint64_t kernel_cells_bytes(uint32_t cpus, uint32_t bits);
