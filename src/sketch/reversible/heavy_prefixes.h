/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Excludes keys whose counters cannot all be heavy, while only the lowest bits of their hash are
 * known. The recovery chooses the hash from its lowest bit upwards, chunk by chunk. The known bits
 * of a row's index are called its prefix.
 *
 * Each row has a map of the prefixes of its heavy counters. The prefix of length m with the value
 * v is bit 2^m + v. The map contains all m at which a chunk ends, up to PREFIX_BITS_MAX. A longer
 * prefix is checked only when the index is complete.
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
	uint32_t map_bits; /* length of the longest prefix in a map */
	uint64_t *maps;    /* one map per row, one after the other */
};

/* Returns the bytes of the maps. */
size_t heavy_prefixes_size(const struct counter_rows *counters);

void heavy_prefixes_init(
	struct heavy_prefixes *prefixes, const struct counter_rows *counters, void *memory);

/* Fills the maps from all counters that reach the threshold. */
void heavy_prefixes_fill(struct heavy_prefixes *prefixes, uint64_t threshold);

/*
 * Returns false if, in some row, no heavy counter is possible for a hash with these lowest `known`
 * bits. Checks only rows that use bits from `from` on. The other rows were checked before.
 */
bool heavy_prefixes_allow(const struct heavy_prefixes *prefixes, const struct key_hash *hash,
	uint32_t from, uint32_t known);
