/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Draws ranks from 0 to n - 1. The probability of rank i is proportional to (i + 1)^-s, where s is
 * the exponent. Integer arithmetic only: the same random number gives the same rank on every
 * machine and in every build.
 *
 * A draw needs one table lookup, by the alias method (Walker 1977; Vose 1991). Each of n cells has
 * 2^32 units of probability. The units below a threshold belong to the rank of the cell. The other
 * units belong to one other rank, its alias. The units of all cells sum to exactly n x 2^32. The
 * units of each rank are correct to within two.
 *
 * Before that rounding, the error of a weight is at most the sum of 2^-39 of the weight and 2^-61
 * of the weight of rank 0.
 */

#include <stdbool.h>
#include <stdint.h>

#define ZIPF_RANKS_MAX (UINT64_C(1) << 28)

struct zipf {
	uint64_t n;
	uint64_t *cells; /* high 32 bits: threshold; low 32 bits: alias */
	int64_t log_sum; /* log2 of the sum of all (i + 1)^-s, Q32 */
};

/*
 * Creates the table of n ranks, 1 to ZIPF_RANKS_MAX. The exponent is exponent_e6 / 10^6. The table
 * takes 8 bytes per rank. Returns 0, or -1 if out of memory.
 */
int zipf_init(struct zipf *zipf, uint64_t n, uint32_t exponent_e6);
void zipf_fini(struct zipf *zipf);

/* A draw has two steps, so that the cells of a burst can be prefetched between them. */
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

/*
 * Interpolates between two exponents: s = (1 - x) s0 + x s1, for any x from 0 to 1. p and q are the
 * probabilities of a rank for s0 and s1. A draw uses the table of s1 with probability x, else that
 * of s0. So it gives the rank with probability (1 - x) p + x q. The rank is kept with probability
 * p^(1-x) q^x / ((1 - x) p + x q), which is at most 1. The frequencies of kept ranks are then
 * proportional to (i + 1)^-s, each to within 10^-5.
 */
#define ZIPF_STEPS 256 /* steps of the tables; between them, linear interpolation */

struct zipf_drift {
	struct zipf ends[2];
	int64_t slope;                   /* s0 - s1, Q20 */
	uint64_t logs[ZIPF_STEPS + 1];   /* log2(1 + i / ZIPF_STEPS), Q32 */
	uint64_t powers[ZIPF_STEPS + 1]; /* 2^(-i / ZIPF_STEPS), Q32 */
};

#define ZIPF_DRIFT_END (UINT64_C(1) << 32) /* x = 1 in Q32: the exponent is s1 */

/*
 * Like zipf_init(), with 16 bytes per rank. After a failure, zipf_drift_fini() must also be called.
 */
int zipf_drift_init(struct zipf_drift *drift, uint64_t n, uint32_t from_e6, uint32_t to_e6);
void zipf_drift_fini(struct zipf_drift *drift);

bool zipf_drift_keeps(const struct zipf_drift *drift, uint64_t x, uint32_t rank, uint32_t coin);
