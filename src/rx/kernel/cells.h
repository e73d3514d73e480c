/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reader of the IBLTs that the eBPF program fills (layout.h), one for each CPU and generation.
 * Reads the generation that the program does not use.
 */

#include <stdint.h>

#include "rx/kernel/layout.h"
#include "sketch/iblt/iblt_view.h"

struct kernel_cells {
	uint8_t *cells4, *cells6, *filters; /* each [2][cpus] */
	struct kernel_tally *tallies;       /* [2][cpus] */
	uint32_t cpus;
	uint32_t bits,
		filter_bits;    /* log2 of the IPv4 cells per row, and of the blocks per filter */
	const __u64 *hash_keys; /* [2][KERNEL_HASH_KEYS] */
	struct iblt_view *view;
};

/*
 * Passes every flow of a generation to `take`, once for each CPU that counted it, and clears the
 * cells. Adds packets that belong to no decoded flow to *undecoded. Returns the sum of the tallies.
 */
struct kernel_tally kernel_cells_take(const struct kernel_cells *cells, uint32_t generation,
	sketch_emit_fn take, void *arg, struct sketch_undecoded *undecoded);

/* iblt_hash_fn; arg: [2][KERNEL_HASH_KEYS] */
void kernel_cells_hash(const void *arg, struct key_burst *burst);

/* Returns the bytes of both generations. */
uint64_t kernel_cells_bytes(uint32_t cpus, uint32_t bits);
