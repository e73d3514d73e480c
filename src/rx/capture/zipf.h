/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Draws ranks 0..n-1 where rank i has probability proportional to (i + 1)^-s, with integers only:
 * the same random number gives the same rank on every machine and build.
 *
 * One table look-up per draw, by the alias method (Walker 1977; Vose 1991). Each of n cells holds
 * 2^32 units of probability, which belong to its own rank below a threshold and to one other rank,
 * its alias, from there on. The units of all cells sum to n x 2^32 exactly; each rank has its due
 * to within two units.
 *
 * Before that rounding, a weight has a relative error below 2^-39, plus 2^-61 of the weight of
 * rank 0.
 */

#include <stdint.h>

#define ZIPF_RANKS_MAX (UINT64_C(1) << 28)

struct zipf {
	uint64_t n;
	uint64_t *cells; /* threshold in the high 32 bits, alias in the low ones */
};

/* n in 1..ZIPF_RANKS_MAX, exponent x 10^6. 8 bytes a rank. Returns 0, or -1 without memory. */
int zipf_init(struct zipf *zipf, uint64_t n, uint32_t exponent_e6);
void zipf_fini(struct zipf *zipf);

/* A draw in two steps, so that the cells of a burst can be fetched before they are needed. */
struct zipf_draw {
	uint32_t cell;
	uint32_t coin;
};

static inline struct zipf_draw zipf_draw(const struct zipf *zipf, uint64_t random)
{
	unsigned __int128 product = (unsigned __int128)random * zipf->n;
	struct zipf_draw draw = {
		.cell = (uint32_t)(product >> 64),
		.coin = (uint32_t)((uint64_t)product >> 32),
	};

	__builtin_prefetch(&zipf->cells[draw.cell]);
	return draw;
}

static inline uint32_t zipf_rank(const struct zipf *zipf, struct zipf_draw draw)
{
	uint64_t cell = zipf->cells[draw.cell];

	return draw.coin < cell >> 32 ? draw.cell : (uint32_t)cell;
}
