/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Memory of a sketch that the eBPF program updates: one instance per CPU for each of two epochs. */

#include "sketch/kernel_addition.h"
#include "sketch/sketch.h"

#define KERNEL_PARTS_MAX 4

struct kernel_part {
	const char *map; /* name of the BPF array */
	uint32_t bytes;  /* bytes per element */
	uint64_t n;      /* elements per instance */
	bool ipv6;       /* true: only IPv6 packets change it */
};

struct kernel_parts {
	struct kernel_part parts[KERNEL_PARTS_MAX]; /* ends with map == NULL */
	uint32_t shape[KERNEL_SHAPE_MAX];           /* passed to NAME_kernel_add() */
};

/* Fills burst->hash like the eBPF program. */
typedef void (*kernel_hash_fn)(const void *arg, struct key_burst *burst);

struct kernel_layout {
	uint32_t rows;
	uint32_t default_width;
	struct kernel_parts (*parts)(uint32_t width);
	/* Returns NULL if out of memory. */
	void *(*create)(uint32_t width, kernel_hash_fn hash, const void *arg);
	void (*destroy)(void *reader); /* ignores NULL */
	/*
	 * Flows with uncertain counts are emitted with 0 packets. Returns the counts that belong
	 * to no flow. May modify the memory. If has_ipv6 is false, all parts for IPv6 are zero.
	 */
	struct sketch_undecoded (*decode)(void *reader, void *const memory[KERNEL_PARTS_MAX],
		bool has_ipv6, sketch_emit_fn emit, void *arg);
};
