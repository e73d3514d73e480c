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

#include <stdbool.h>
#include <stdint.h>

#define ZIPF_RANKS_MAX (UINT64_C(1) << 28)

struct zipf {
	uint64_t n;
	uint64_t *cells; /* threshold in the high 32 bits, alias in the low ones */
	int64_t log_sum; /* log2 of the sum of (i + 1)^-s, Q32 */
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

/*
 * An exponent between two, s = (1 - x) s0 + x s1, for any x: where p and q are the probabilities of
 * a rank under s0 and s1, it is drawn with (1 - x) p + x q, from either table, and kept with
 * p^(1-x) q^x of that, which is never more. Ranks that are kept are so many as (i + 1)^-s says, to
 * within 10^-5 of each.
 */
#define ZIPF_STEPS 256 /* points of the tables, joined by lines */

struct zipf_drift {
	struct zipf ends[2];
	int64_t slope;                   /* s0 - s1, Q20 */
	uint64_t logs[ZIPF_STEPS + 1];   /* log2(1 + i / ZIPF_STEPS), Q32 */
	uint64_t powers[ZIPF_STEPS + 1]; /* 2^(-i / ZIPF_STEPS), Q32 */
};

#define ZIPF_DRIFT_END (UINT64_C(1) << 32) /* x, Q32, at the second exponent */

/* As zipf_init(); 16 bytes a rank. zipf_drift_fini() is needed either way. */
int zipf_drift_init(struct zipf_drift *drift, uint64_t n, uint32_t from_e6, uint32_t to_e6);
void zipf_drift_fini(struct zipf_drift *drift);

bool zipf_drift_keeps(const struct zipf_drift *drift, uint64_t x, uint32_t rank, uint32_t coin);
