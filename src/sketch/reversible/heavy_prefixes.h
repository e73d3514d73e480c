/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Which beginnings of a row's index lead to a heavy counter, for a search that chooses the index
 * from its lowest bit upwards, a chunk at a time. One look answers, however many are heavy.
 *
 * The lowest m bits of each heavy counter's index are bit 2^m + (those m bits) of a map, for every
 * m at which a chunk of the key ends. Beyond PREFIX_BITS_MAX no map is kept: what begins well is
 * only asked again when its index is complete.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/key_burst.h"
#include "sketch/counter_rows.h"

#define PREFIX_BITS_MAX 20

struct heavy_prefixes {
	const struct counter_rows *counters;
	uint64_t threshold;
	uint32_t map_bits; /* the longest prefix with a map */
	uint64_t *maps;    /* row after row */
};

/* Bytes of the maps. */
size_t heavy_prefixes_size(const struct counter_rows *counters);

void heavy_prefixes_init(
	struct heavy_prefixes *prefixes, const struct counter_rows *counters, void *memory);

/* Forgets what it had, and takes in the counters that reach the threshold. */
void heavy_prefixes_fill(struct heavy_prefixes *prefixes, uint64_t threshold);

/*
 * Whether a hash of which the lowest `known` bits are given can still have a heavy counter in every
 * row, as far as the bits from `from` on say that: those before were asked about already.
 */
bool heavy_prefixes_allow(const struct heavy_prefixes *prefixes, const struct key_hash *hash,
	uint32_t from, uint32_t known);
