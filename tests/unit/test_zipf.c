/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Exact probabilities of the table, summed from its cells, compared with Zipf's law in long double.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#include "rx/generate/zipf.h"

#define CELL_UNITS (UINT64_C(1) << 32)

/* units[i] := 2^32 n x the probability of rank i. */
static uint64_t *units_of(const struct zipf *zipf)
{
	uint64_t *units = calloc(zipf->n, sizeof(units[0]));

	assert_non_null(units);
	for (uint64_t cell = 0; cell < zipf->n; cell++) {
		uint64_t threshold = zipf->cells[cell] >> 32;
		uint64_t alias = zipf->cells[cell] & UINT32_MAX;

		assert_true(alias < zipf->n);
		units[cell] += threshold;
		units[alias] += CELL_UNITS - threshold;
	}
	return units;
}

static void check(uint64_t n, uint32_t exponent_e6)
{
	long double exponent = exponent_e6 / 1e6L, sum = 0;
	struct zipf zipf;
	uint64_t *units;

	assert_int_equal(zipf_init(&zipf, n, exponent_e6), 0);
	units = units_of(&zipf);
	for (uint64_t i = n; i-- > 0;)
		sum += powl((long double)i + 1, -exponent);
	for (uint64_t i = 0; i < n; i++) {
		long double want =
			powl((long double)i + 1, -exponent) / sum * (long double)(n * CELL_UNITS);
		long double error = fabsl((long double)units[i] - want);

		if (error > 2 + want * 0x1p-39L)
			fail_msg("n %llu, exponent %u: rank %llu has %llu units, not %.3Lf",
				(unsigned long long)n, exponent_e6, (unsigned long long)i,
				(unsigned long long)units[i], want);
	}
	free(units);
	zipf_fini(&zipf);
}

static void test_probabilities(void **state)
{
	static const uint64_t ns[] = {1, 2, 3, 7, 64, 1000, 65537, 200000};
	static const uint32_t exponents[] = {0, 1, 500000, 1000000, 1050000, 2000000, 10000000};

	(void)state;
	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
		for (size_t e = 0; e < sizeof(exponents) / sizeof(exponents[0]); e++)
			check(ns[i], exponents[e]);
	}
}

/* Returns the share of coins with which a rank is kept: it is kept below some coin. */
static long double kept_share(const struct zipf_drift *drift, uint64_t x, uint32_t rank)
{
	uint64_t below = 0, from = UINT64_C(1) << 32;

	while (below < from) {
		uint64_t middle = (below + from) / 2;

		if (zipf_drift_keeps(drift, x, rank, (uint32_t)middle))
			below = middle + 1;
		else
			from = middle;
	}
	return below / 0x1p32L;
}

static void check_drift(uint64_t n, uint32_t from_e6, uint32_t to_e6, uint64_t x)
{
	long double share = x / 0x1p32L, kept = 0, all = 0;
	long double exponent = (from_e6 * (1 - share) + to_e6 * share) / 1e6L;
	long double *chances = calloc(n, sizeof(chances[0]));
	struct zipf_drift drift;
	uint64_t *units[2];

	assert_non_null(chances);
	assert_int_equal(zipf_drift_init(&drift, n, from_e6, to_e6), 0);
	for (int e = 0; e < 2; e++)
		units[e] = units_of(&drift.ends[e]);
	for (uint64_t i = n; i-- > 0;) {
		long double drawn = units[0][i] * (1 - share) + units[1][i] * share;

		chances[i] = drawn * kept_share(&drift, x, (uint32_t)i);
		kept += chances[i];
		all += powl((long double)i + 1, -exponent);
	}
	for (uint64_t i = 0; i < n; i++) {
		long double want = powl((long double)i + 1, -exponent) / all;

		if (fabsl(chances[i] / kept - want) > want * 1e-5L + 4 / (0x1p32L * n))
			fail_msg("n %llu, %u to %u at %.3Lf: rank %llu has %Lg, not %Lg",
				(unsigned long long)n, from_e6, to_e6, share, (unsigned long long)i,
				chances[i] / kept, want);
	}
	for (int e = 0; e < 2; e++)
		free(units[e]);
	free(chances);
	zipf_drift_fini(&drift);
}

static void test_drift(void **state)
{
	static const uint64_t ns[] = {1, 2, 1000, 20011};
	static const uint32_t ends[][2] = {
		{1500000, 1000000}, {0, 2000000}, {1000000, 1000001}, {500000, 1500000}};

	(void)state;
	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
		for (size_t e = 0; e < sizeof(ends) / sizeof(ends[0]); e++) {
			for (uint64_t x = 0; x <= ZIPF_DRIFT_END; x += ZIPF_DRIFT_END / 3 + 1)
				check_drift(ns[i], ends[e][0], ends[e][1], x);
			check_drift(ns[i], ends[e][0], ends[e][1], ZIPF_DRIFT_END);
		}
	}
}

/* Both ends of a cell, and of the range of random numbers. */
static void test_draw(void **state)
{
	struct zipf zipf;

	(void)state;
	assert_int_equal(zipf_init(&zipf, 1000, 1000000), 0);
	assert_int_equal(zipf_draw(&zipf, 0).cell, 0);
	assert_int_equal(zipf_draw(&zipf, UINT64_MAX).cell, 999);
	for (uint32_t cell = 0; cell < 1000; cell++) {
		uint32_t threshold = (uint32_t)(zipf.cells[cell] >> 32);
		uint32_t alias = (uint32_t)zipf.cells[cell];
		struct zipf_draw draw = {.cell = cell, .coin = threshold};

		assert_int_equal(zipf_rank(&zipf, draw), alias);
		if (threshold > 0) {
			draw.coin = threshold - 1;
			assert_int_equal(zipf_rank(&zipf, draw), cell);
		}
	}
	zipf_fini(&zipf);
}

/* Tables are the same on every machine and build: FNV-1a over their cells, word by word. */
static void test_golden(void **state)
{
	static const struct {
		uint64_t n;
		uint32_t exponent_e6;
		uint64_t digest;
	} golden[] = {
		{1000000, 1050000, UINT64_C(0x8a017f53748eb9d2)},
		{77777, 0, UINT64_C(0x0a9b7633d6dd821f)},
		{100000, 333333, UINT64_C(0xda2dc97a5bd8134e)},
		{1000, 10000000, UINT64_C(0xc5072c1d8b17a745)},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		uint64_t digest = UINT64_C(0xcbf29ce484222325);
		struct zipf zipf;

		assert_int_equal(zipf_init(&zipf, golden[i].n, golden[i].exponent_e6), 0);
		for (uint64_t cell = 0; cell < zipf.n; cell++)
			digest = (digest ^ zipf.cells[cell]) * UINT64_C(0x100000001b3);
		zipf_fini(&zipf);
		if (digest != golden[i].digest)
			fail_msg("n %llu, exponent %u: 0x%016llx", (unsigned long long)golden[i].n,
				golden[i].exponent_e6, (unsigned long long)digest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probabilities),
		cmocka_unit_test(test_drift),
		cmocka_unit_test(test_draw),
		cmocka_unit_test(test_golden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
