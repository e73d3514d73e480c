/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Finds the prefixes of a row's index that lead to a heavy counter. The search selects the index
 * from its lowest bit upwards, chunk by chunk. One lookup answers, for any number of heavy
 * counters.
 *
 * The lowest m bits of each heavy counter's index are bit 2^m + (those m bits) of a map, for every
 * m at which a chunk of the key ends. There is no map for more than PREFIX_BITS_MAX bits: a longer
 * prefix is checked only when its index is complete.
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
	uint32_t map_bits; /* longest prefix with a map */
	uint64_t *maps;    /* rows follow each other */
};

/* Returns the bytes of the maps. */
size_t heavy_prefixes_size(const struct counter_rows *counters);

void heavy_prefixes_init(
	struct heavy_prefixes *prefixes, const struct counter_rows *counters, void *memory);

/* Replaces the maps by those of the counters that reach the threshold. */
void heavy_prefixes_fill(struct heavy_prefixes *prefixes, uint64_t threshold);

/*
 * Returns false if a hash with the given lowest `known` bits has no heavy counter in some row.
 * Checks only rows with bits from `from` on; earlier bits were checked before.
 */
bool heavy_prefixes_allow(const struct heavy_prefixes *prefixes, const struct key_hash *hash,
	uint32_t from, uint32_t known);
