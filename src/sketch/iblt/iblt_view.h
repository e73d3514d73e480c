/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * An iblt of three rows that others filled (sketch/iblt/iblt_layout.h), in memory and with a hash
 * of theirs, for who decodes it.
 */

#include "sketch/sketch.h"

#define IBLT_VIEW_DEPTH 3

struct iblt_view;

/* Fills burst->hash from the keys. */
typedef void (*iblt_hash_fn)(const void *arg, struct key_burst *burst);

/* Of rows of 2^bits IPv4 cells. NULL: there is no memory. */
struct iblt_view *iblt_view_create(uint32_t bits, iblt_hash_fn hash, const void *arg);
void iblt_view_destroy(struct iblt_view *view); /* NULL: nothing */

/* log2 of the blocks of the filter beside such rows. */
uint32_t iblt_view_filter_bits(uint32_t bits);

struct iblt_memory {
	void *cells4, *cells6, *filter;
	bool seen_ipv6; /* else the cells of IPv6 are empty, and not looked at */
};

/*
 * Emits the flows; those of which nothing is sure have 0 packets. Returns what is in none of their
 * counts. The memory is used for it, and as before when this returns.
 */
struct sketch_undecoded iblt_view_decode(
	struct iblt_view *view, const struct iblt_memory *memory, sketch_emit_fn emit, void *arg);
