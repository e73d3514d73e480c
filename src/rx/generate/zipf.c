/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/generate/zipf.h"

#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"

typedef unsigned __int128 uint128;

/*
 * Each of the 48 fractional bits of a logarithm adds an error of at most 2^-48. For exponents up to
 * 10, the relative error of a weight is below 2^-39, with truncation in exp2_minus() and in
 * products of up to 28 factors.
 */
#define LOG_BITS 48
#define ONE_Q62  (UINT64_C(1) << 62) /* weight of rank 0 */

#define CELL (UINT64_C(1) << 32) /* units of probability per cell */

static uint64_t square_root(uint128 x)
{
	uint64_t root = 0;

	for (int bit = 63; bit >= 0; bit--) {
		uint64_t trial = root | UINT64_C(1) << bit;

		if ((uint128)trial * trial <= x)
			root = trial;
	}
	return root;
}

/* Sets halves[k] = 2^(-2^-k) in Q0.64. Each is the square root of the previous one. */
static void halves_init(uint64_t halves[LOG_BITS + 1])
{
	uint128 x = (uint128)1 << 127; /* one half in Q0.128 */

	for (int k = 1; k <= LOG_BITS; k++) {
		halves[k] = square_root(x);
		x = (uint128)halves[k] << 64;
	}
}

/* Returns log2 of x >= 1 in Q16.48. If the squared mantissa is at least two, the next bit is 1. */
static uint64_t log2_q48(uint64_t x)
{
	uint64_t whole = 63 - (uint64_t)__builtin_clzll(x);
	uint64_t mantissa = x << (63 - whole); /* Q1.63, in [1, 2) */
	uint64_t log = whole;

	for (int digit = 0; digit < LOG_BITS; digit++) {
		uint128 square = (uint128)mantissa * mantissa; /* Q2.126 */
		uint64_t two = (uint64_t)(square >> 127);

		mantissa = (uint64_t)(square >> (63 + two));
		log = log << 1 | two;
	}
	return log;
}

/* Returns 2^-x in Q2.62, for x in Q16.48. */
static uint64_t exp2_minus(const uint64_t halves[LOG_BITS + 1], uint64_t x)
{
	uint64_t whole = x >> LOG_BITS;
	uint64_t result = UINT64_MAX; /* 1 - 2^-64 */

	if (whole > 62)
		return 0;
	for (int k = 1; k <= LOG_BITS; k++) {
		if (x >> (LOG_BITS - k) & 1)
			result = (uint64_t)((uint128)result * halves[k] >> 64);
	}
	return (result >> 2) >> whole;
}

/* Returns the smallest prime factor of x if it is below 17 and below x; else 0. */
static uint64_t small_factor(uint64_t x)
{
	static const uint64_t primes[] = {2, 3, 5, 7, 11, 13};

	for (size_t i = 0; i < sizeof(primes) / sizeof(primes[0]); i++) {
		if (x % primes[i] == 0)
			return primes[i] < x ? primes[i] : 0;
	}
	return 0;
}

/* Uses (ab)^-s = a^-s b^-s, where s is the exponent. That saves four of five logarithms. */
static uint128 fill_weights(uint64_t *cells, uint64_t n, uint32_t exponent_e6)
{
	uint64_t halves[LOG_BITS + 1];
	uint128 sum = ONE_Q62;

	halves_init(halves);
	cells[0] = ONE_Q62;
	for (uint64_t i = 1; i < n; i++) {
		uint64_t factor = small_factor(i + 1);

		if (exponent_e6 == 0)
			cells[i] = ONE_Q62;
		else if (factor > 0)
			cells[i] = (uint64_t)((uint128)cells[(i + 1) / factor - 1] *
						      cells[factor - 1] >>
					      62);
		else
			cells[i] = exp2_minus(halves,
				(uint64_t)((uint128)log2_q48(i + 1) * exponent_e6 / 1000000));
		if (cells[i] > cells[i - 1]) /* rounding error */
			cells[i] = cells[i - 1];
		sum += cells[i];
	}
	return sum;
}

/* The remainder, less than two units per rank, is distributed evenly. */
static void weights_to_units(uint64_t *cells, uint64_t n, uint128 sum)
{
	uint64_t rest = n * CELL;
	unsigned int shift = 0;
	uint64_t units_per_weight; /* Q0.64 */

	while (sum >> shift >= (uint128)1 << 63)
		shift++;
	/* The divisor is rounded up, so that the sum of the shares cannot exceed n x CELL. */
	units_per_weight = (uint64_t)(((uint128)rest << 64) / ((sum >> shift) + 1));
	for (uint64_t i = 0; i < n; i++) {
		cells[i] = (uint64_t)((uint128)(cells[i] >> shift) * units_per_weight >> 64);
		rest -= cells[i];
	}
	for (uint64_t i = 0; i < n; i++)
		cells[i] += rest / n + (i < rest % n);
}

static uint64_t make_cell(uint64_t units, uint64_t self, uint64_t alias)
{
	return units == CELL ? self : units << 32 | alias;
}

/*
 * Alias method (Vose 1991) in place: cells[i] changes from the units of rank i to its threshold and
 * alias. Vose keeps lists of large ranks (more units than a cell) and of small ranks. Here ranks
 * are sorted by units, so two indexes replace the lists. A large rank fills up the cells of small
 * ranks until its remaining units fit in its own cell. The next large rank fills up that cell.
 */
static void units_to_cells(uint64_t *cells, uint64_t n)
{
	uint64_t nb_large = 0, small, left;

	while (nb_large < n && cells[nb_large] > CELL)
		nb_large++;
	small = nb_large;
	left = cells[0];
	for (uint64_t large = 0; large < nb_large;) {
		if (left > CELL) {
			left -= CELL - cells[small];
			cells[small] = make_cell(cells[small], small, large);
			small++;
		} else if (large + 1 < nb_large) {
			uint64_t next = cells[large + 1];

			next -= CELL - left;
			cells[large] = make_cell(left, large, large + 1);
			left = next;
			large++;
		} else {
			cells[large] = make_cell(left, large, large); /* `left` is CELL */
			large++;
		}
	}
	for (; small < n; small++)
		cells[small] = make_cell(cells[small], small, small);
}

int zipf_init(struct zipf *zipf, uint64_t n, uint32_t exponent_e6)
{
	uint128 sum;

	VERIFY(n, >, 0);
	VERIFY(n, <=, ZIPF_RANKS_MAX);
	zipf->n = n;
	zipf->cells = malloc(n * sizeof(zipf->cells[0]));
	if (zipf->cells == NULL)
		return -1;
	sum = fill_weights(zipf->cells, n, exponent_e6);
	zipf->log_sum = (int64_t)(log2_q48((uint64_t)(sum >> 28)) >> (LOG_BITS - 32)) -
			((INT64_C(62) - 28) << 32);
	weights_to_units(zipf->cells, n, sum);
	units_to_cells(zipf->cells, n);
	return 0;
}

void zipf_fini(struct zipf *zipf)
{
	free(zipf->cells);
	zipf->cells = NULL;
}

/* Interpolates linearly between the ZIPF_STEPS + 1 elements of the table. x is Q32, in [0, 1). */
static uint64_t interpolate(const uint64_t *table, uint64_t x)
{
	uint64_t i = x * ZIPF_STEPS >> 32, part = x * ZIPF_STEPS & UINT32_MAX;

	return table[i] + (uint64_t)((int64_t)(table[i + 1] - table[i]) * (int64_t)part >> 32);
}

static int64_t log2_q32(const struct zipf_drift *drift, uint64_t x)
{
	unsigned int whole = 63 - (unsigned int)__builtin_clzll(x);
	uint64_t mantissa = x << (63 - whole) << 1 >> 32; /* fractional bits */

	return (int64_t)((uint64_t)whole << 32) + (int64_t)interpolate(drift->logs, mantissa);
}

/* Returns 2^-x. Both are Q32. */
static uint64_t power_of_half(const struct zipf_drift *drift, uint64_t x)
{
	return x >> 32 > 32 ? 0 : interpolate(drift->powers, x & UINT32_MAX) >> (x >> 32);
}

int zipf_drift_init(struct zipf_drift *drift, uint64_t n, uint32_t from_e6, uint32_t to_e6)
{
	uint64_t halves[LOG_BITS + 1];

	memset(drift, 0, sizeof(*drift));
	halves_init(halves);
	for (uint64_t i = 0; i <= ZIPF_STEPS; i++) {
		drift->logs[i] =
			(log2_q48(ZIPF_STEPS + i) - log2_q48(ZIPF_STEPS)) >> (LOG_BITS - 32);
		drift->powers[i] = exp2_minus(halves, (i << LOG_BITS) / ZIPF_STEPS) >> 30;
	}
	drift->slope = ((int64_t)from_e6 - (int64_t)to_e6) * (1 << 20) / 1000000;
	return zipf_init(&drift->ends[0], n, from_e6) == 0 &&
			       zipf_init(&drift->ends[1], n, to_e6) == 0
		       ? 0
		       : -1;
}

void zipf_drift_fini(struct zipf_drift *drift)
{
	zipf_fini(&drift->ends[0]);
	zipf_fini(&drift->ends[1]);
}

/*
 * Returns true with probability 2^(xy) / (1 - x + x 2^y), where y = log2(q / p), and p and q are
 * the probabilities of the rank (zipf.h). For y > 0, 1 - x and -y give the same result.
 */
bool zipf_drift_keeps(const struct zipf_drift *drift, uint64_t x, uint32_t rank, uint32_t coin)
{
	int64_t y = (drift->slope * log2_q32(drift, (uint64_t)rank + 1) >> 20) +
		    drift->ends[0].log_sum - drift->ends[1].log_sum;
	uint64_t side = y < 0 ? x : ZIPF_DRIFT_END - x, distance = (uint64_t)(y < 0 ? -y : y);
	uint64_t kept = power_of_half(drift, (uint64_t)((uint128)side * distance >> 32));
	uint64_t drawn = ZIPF_DRIFT_END - side +
			 (uint64_t)((uint128)side * power_of_half(drift, distance) >> 32);

	return (uint64_t)((uint128)coin * drawn >> 32) < kept;
}
