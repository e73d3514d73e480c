/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Draws ranks 0 to n - 1. The probability of rank i is proportional to (i + 1)^-s. Integer
 * arithmetic only: the same random number gives the same rank on every machine and in every build.
 *
 * One table lookup per draw, by the alias method (Walker 1977; Vose 1991). Each of n cells has 2^32
 * units of probability. Those below a threshold belong to the rank of the cell, the others to one
 * other rank, its alias. The units of all cells sum to n x 2^32 exactly. The units of each rank are
 * correct to within two.
 *
 * Before that rounding, the error of a weight is below 2^-39 of itself plus 2^-61 of the weight of
 * rank 0.
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
 * n: 1 to ZIPF_RANKS_MAX, exponent x 10^6. Takes 8 bytes per rank. Returns 0, or -1 if out of
 * memory.
 */
int zipf_init(struct zipf *zipf, uint64_t n, uint32_t exponent_e6);
void zipf_fini(struct zipf *zipf);

/* A draw in two steps, so that the cells of a burst can be prefetched */
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
 * Interpolates between two exponents, s = (1 - x) s0 + x s1, for any x. p and q are the
 * probabilities of a rank under s0 and s1. A rank is drawn from either table, with (1 - x) p + x q,
 * and kept with p^(1-x) q^x divided by that, which is at most 1. The frequencies of kept ranks are
 * proportional to (i + 1)^-s, each to within 10^-5.
 */
#define ZIPF_STEPS 256 /* points of the tables, with linear interpolation */

struct zipf_drift {
	struct zipf ends[2];
	int64_t slope;                   /* s0 - s1, Q20 */
	uint64_t logs[ZIPF_STEPS + 1];   /* log2(1 + i / ZIPF_STEPS), Q32 */
	uint64_t powers[ZIPF_STEPS + 1]; /* 2^(-i / ZIPF_STEPS), Q32 */
};

#define ZIPF_DRIFT_END (UINT64_C(1) << 32) /* x = 1 in Q32: the exponent is s1 */

/* As zipf_init(), with 16 bytes per rank. Call zipf_drift_fini() also on failure. */
int zipf_drift_init(struct zipf_drift *drift, uint64_t n, uint32_t from_e6, uint32_t to_e6);
void zipf_drift_fini(struct zipf_drift *drift);

bool zipf_drift_keeps(const struct zipf_drift *drift, uint64_t x, uint32_t rank, uint32_t coin);
