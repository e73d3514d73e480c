/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Draws rank i < n with a probability proportional to (i + 1)^-s by the alias method (Walker 1977;
 * Vose 1991). Each of n cells has 2^32 units of probability: those below a threshold belong to the
 * rank of the cell, the others to one other rank, its alias. The units of a rank are correct to
 * within two, besides the error of its weight: at most 2^-39 of the weight, plus 2^-61 of that of
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

/* n <= ZIPF_RANKS_MAX; the table takes 8 bytes per rank. Returns 0, or -1 if out of memory. */
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
 * Interpolates between two exponents: s = (1 - x) s0 + x s1. p and q are the probabilities of a
 * rank for s0 and s1. A draw uses the table of s1 with probability x, else that of s0. The rank is
 * kept with probability p^(1-x) q^x / ((1 - x) p + x q). The frequencies of kept ranks are then
 * proportional to (i + 1)^-s, each to within 10^-5.
 */
#define ZIPF_STEPS 256

struct zipf_drift {
	struct zipf ends[2];
	int64_t slope;                   /* s0 - s1, Q20 */
	uint64_t logs[ZIPF_STEPS + 1];   /* log2(1 + i / ZIPF_STEPS), Q32 */
	uint64_t powers[ZIPF_STEPS + 1]; /* 2^(-i / ZIPF_STEPS), Q32 */
};

#define ZIPF_DRIFT_END (UINT64_C(1) << 32) /* x = 1 in Q32: the exponent is s1 */

/* After a failure, zipf_drift_fini() must also be called. */
int zipf_drift_init(struct zipf_drift *drift, uint64_t n, uint32_t from_e6, uint32_t to_e6);
void zipf_drift_fini(struct zipf_drift *drift);

bool zipf_drift_keeps(const struct zipf_drift *drift, uint64_t x, uint32_t rank, uint32_t coin);
