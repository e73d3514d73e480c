/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Decodes an iblt of three rows (sketch/iblt/iblt_layout.h) that another program filled, in its
 * memory and with its hash function.
 */

#include "sketch/sketch.h"

#define IBLT_VIEW_DEPTH 3

struct iblt_view;

/* Fills burst->hash from the keys. */
typedef void (*iblt_hash_fn)(const void *arg, struct key_burst *burst);

/* Creates a view of rows of 2^bits IPv4 cells. Returns NULL if out of memory. */
struct iblt_view *iblt_view_create(uint32_t bits, iblt_hash_fn hash, const void *arg);
void iblt_view_destroy(struct iblt_view *view); /* ignores NULL */

/* Returns log2 of the filter blocks for such rows. */
uint32_t iblt_view_filter_bits(uint32_t bits);

struct iblt_memory {
	void *cells4, *cells6, *filter;
	bool has_ipv6; /* false: IPv6 cells are empty and not read */
};

/*
 * Emits the flows; flows with uncertain counts have 0 packets. Returns the counts that belong to
 * none of them. Modifies the memory meanwhile, and restores it.
 */
struct sketch_undecoded iblt_view_decode(
	struct iblt_view *view, const struct iblt_memory *memory, sketch_emit_fn emit, void *arg);
