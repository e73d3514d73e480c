/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Excludes keys whose counters cannot all be heavy, while only the lowest bits of their hash are
 * known. The known bits of a row's index are its prefix. Each row has a map of the prefixes of its
 * heavy counters: bit 2^m + v is the prefix of length m with the value v.
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
	uint64_t *maps;    /* one map per row */
};

size_t heavy_prefixes_size(const struct counter_rows *counters);

void heavy_prefixes_init(
	struct heavy_prefixes *prefixes, const struct counter_rows *counters, void *memory);

/* Counters that reach the threshold are heavy. */
void heavy_prefixes_fill(struct heavy_prefixes *prefixes, uint64_t threshold);

/*
 * Returns false if no heavy counter is possible in a row. Skips rows that use only bits below
 * `from`.
 */
bool heavy_prefixes_allow(const struct heavy_prefixes *prefixes, const struct key_hash *hash,
	uint32_t from, uint32_t known);
