/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reads the flow tables (layout.h) and sketches (sketch/kernel_layout.h) that the eBPF program
 * fills. Each CPU has one for each of two generations. The program must not use the generation that
 * is read.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/kernel/layout.h"
#include "sketch/kernel_layout.h"

struct kernel_tables {
	struct kernel_flow *flows; /* [2 generations][cpus][2 * buckets] */
	struct kernel_tally *tallies;
	uint32_t cpus, buckets;
	bool all_share; /* CPUs share the kernel maps shared[] */
	int shared[2];
};

/* Passes all flows of a generation to `take`, and clears the tables. */
struct kernel_tally kernel_tables_take(const struct kernel_tables *tables, uint32_t generation,
	void (*take)(void *arg, const struct kernel_flow *flow), void *arg);

/* Empties the map, which no program may use meanwhile. Returns false on failure. */
bool shared_map_take(int map, void (*take)(void *arg, const struct kernel_flow *flow), void *arg);

uint64_t kernel_tables_bytes(uint32_t cpus, uint32_t buckets, bool all_share);

struct kernel_sketch {
	const struct kernel_layout *layout;
	struct kernel_parts parts;
	uint8_t *memory
		[KERNEL_PARTS_MAX]; /* [2 generations][cpus] copies of each part of the sketch */
	struct kernel_tally *tallies;
	uint32_t cpus;
	void *reader;
};

/* A flow is passed once for each CPU that counted it. *undecoded gets the other packets. */
struct kernel_tally kernel_sketch_take(const struct kernel_sketch *sketch, uint32_t generation,
	sketch_emit_fn take, void *arg, struct sketch_undecoded *undecoded);

/* A kernel_hash_fn. `arg` is hash_keys of struct kernel_constants. */
void kernel_sketch_hash(const void *arg, struct key_burst *burst);

uint64_t kernel_sketch_bytes(const struct kernel_layout *layout, uint32_t cpus, uint32_t width);
