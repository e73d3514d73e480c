/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/reversible/heavy_prefixes.h"

#include <string.h>

#include "sketch/reversible/chunk_rows.h"
#include "sketch/row_index.h"

static uint64_t words_per_row(uint32_t map_bits)
{
	return ((UINT64_C(2) << map_bits) + 63) / 64;
}

static uint32_t longest_map(const struct counter_rows *counters)
{
	return counters->bits < PREFIX_BITS_MAX ? counters->bits : PREFIX_BITS_MAX;
}

size_t heavy_prefixes_size(const struct counter_rows *counters)
{
	return counters->depth * words_per_row(longest_map(counters)) * sizeof(uint64_t);
}

void heavy_prefixes_init(
	struct heavy_prefixes *prefixes, const struct counter_rows *counters, void *memory)
{
	prefixes->counters = counters;
	prefixes->map_bits = longest_map(counters);
	prefixes->maps = memory;
}

/* Returns how many bits of the row's index are among the lowest `known` bits of the hash. */
static uint32_t prefix_bits(const struct counter_rows *counters, uint32_t row, uint32_t known)
{
	uint32_t first = row * counters->stride;

	if (known <= first)
		return 0;
	return known - first < counters->bits ? known - first : counters->bits;
}

static void add_prefixes(struct heavy_prefixes *prefixes, uint32_t row, uint64_t index)
{
	uint64_t *map = prefixes->maps + row * words_per_row(prefixes->map_bits);
	uint32_t first = row * prefixes->counters->stride;
	uint32_t known = first - first % CHUNK_BITS + CHUNK_BITS, bits;

	do {
		bits = prefix_bits(prefixes->counters, row, known);
		if (bits <= prefixes->map_bits) {
			uint64_t at = UINT64_C(1) << bits | (index & ((UINT64_C(1) << bits) - 1));

			map[at / 64] |= UINT64_C(1) << at % 64;
		}
		known += CHUNK_BITS;
	} while (bits < prefixes->counters->bits);
}

void heavy_prefixes_fill(struct heavy_prefixes *prefixes, uint64_t threshold)
{
	const struct counter_rows *counters = prefixes->counters;
	uint64_t width = UINT64_C(1) << counters->bits;

	prefixes->threshold = threshold;
	memset(prefixes->maps, 0, heavy_prefixes_size(counters));
	for (uint32_t row = 0; row < counters->depth; row++)
		for (uint64_t c = 0; c < width; c++)
			if (counter_rows_at(counters, row * width + c) >= threshold)
				add_prefixes(prefixes, row, c);
}

static bool row_allows(const struct heavy_prefixes *prefixes, const struct key_hash *hash,
	uint32_t row, uint32_t bits)
{
	const struct counter_rows *counters = prefixes->counters;
	const uint64_t *map = prefixes->maps + row * words_per_row(prefixes->map_bits);
	uint64_t index = row_index(hash, row, counters->stride, bits), at;

	if (bits <= prefixes->map_bits) {
		at = UINT64_C(1) << bits | index;
		return map[at / 64] >> at % 64 & 1;
	}
	return bits < counters->bits ||
	       counter_rows_at(counters, ((uint64_t)row << counters->bits) + index) >=
		       prefixes->threshold;
}

bool heavy_prefixes_allow(const struct heavy_prefixes *prefixes, const struct key_hash *hash,
	uint32_t from, uint32_t known)
{
	const struct counter_rows *counters = prefixes->counters;

	for (uint32_t row = from / counters->stride;
		row < counters->depth && row * counters->stride < known; row++) {
		uint32_t bits = prefix_bits(counters, row, known);

		if (bits > prefix_bits(counters, row, from) &&
			!row_allows(prefixes, hash, row, bits))
			return false;
	}
	return true;
}
