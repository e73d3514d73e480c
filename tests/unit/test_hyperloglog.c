/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sketch/hyperloglog.h"
#include "zipf_stream.h"

/* Adds n keys with uniform hashes. */
static void add_keys(struct hyperloglog *hll, uint64_t *random, uint32_t n)
{
	struct key_burst burst = {0};

	while (n > 0) {
		burst.n = n < BURST_MAX ? n : BURST_MAX;
		for (uint32_t i = 0; i < burst.n; i++)
			burst.hash[i].hi = zipf_random(random);
		hyperloglog_update(hll, &burst);
		n -= burst.n;
	}
}

/*
 * Mean and standard deviation of the relative error are as stated, within four of their own
 * standard deviations.
 */
static void test_error(void **state)
{
	static const struct {
		uint32_t keys, rounds;
	} cases[] = {
		{10, 2000},
		{100, 2000},
		{1000, 1000},
		{10000, 400},
		{30000, 400},
		{50000, 400},
		{100000, 200},
		{1000000, 40},
		{10000000, 10},
	};
	struct hyperloglog hll;

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		double rounds = cases[c].rounds, sum = 0, squares = 0;
		uint64_t random = c;

		for (uint32_t round = 0; round < cases[c].rounds; round++) {
			double error;

			hyperloglog_reset(&hll);
			add_keys(&hll, &random, cases[c].keys);
			error = (double)hyperloglog_estimate(&hll) / cases[c].keys - 1;
			sum += error;
			squares += error * error;
		}
		/* Plus half a key for rounding to integers. */
		assert_true(fabs(sum / rounds) <
			    4 * HYPERLOGLOG_ERROR / sqrt(rounds) + 0.5 / cases[c].keys);
		assert_true(
			sqrt(squares / rounds) < HYPERLOGLOG_ERROR * (1 + 4 / sqrt(2 * rounds)));
	}
}

/* Keys that differ in few bits, with the real hash. */
static void test_real_keys(void **state)
{
	const uint32_t nb_keys = 200000;
	struct zipf_stream stream;
	struct hyperloglog hll;

	(void)state;
	zipf_open(&stream, nb_keys, 1.0, 11);
	hyperloglog_reset(&hll);
	for (uint32_t f = 0; f < nb_keys;) {
		struct key_burst burst = {0};

		while (burst.n < BURST_MAX && f < nb_keys)
			zipf_append(&stream, &burst, f++);
		hyperloglog_update(&hll, &burst);
	}
	assert_true(fabs((double)hyperloglog_estimate(&hll) / nb_keys - 1) < 3 * HYPERLOGLOG_ERROR);
	zipf_close(&stream);
}

static void test_few_keys(void **state)
{
	struct hyperloglog hll;
	uint32_t wrong = 0;
	uint64_t random = 4;

	(void)state;
	hyperloglog_reset(&hll);
	assert_int_equal(hyperloglog_estimate(&hll), 0);
	for (uint32_t n = 1; n <= 40; n++) {
		add_keys(&hll, &random, 1);
		wrong += hyperloglog_estimate(&hll) != n;
		assert_true(labs((long)hyperloglog_estimate(&hll) - (long)n) <= 1);
	}
	assert_true(wrong <= 20);
}

static void test_repetition_changes_nothing(void **state)
{
	struct hyperloglog once, twice;
	uint64_t random = 8;

	(void)state;
	hyperloglog_reset(&once);
	hyperloglog_reset(&twice);
	add_keys(&once, &random, 5000);
	for (uint32_t round = 0; round < 2; round++) {
		random = 8;
		add_keys(&twice, &random, 5000);
	}
	assert_memory_equal(&once, &twice, sizeof(once));
}

static void test_merge_is_union(void **state)
{
	struct hyperloglog whole, part[3];
	uint64_t random = 15;

	(void)state;
	hyperloglog_reset(&whole);
	for (uint32_t p = 0; p < 3; p++) {
		uint64_t same = 42, again = random;

		hyperloglog_reset(&part[p]);
		add_keys(&part[p], &same, 1000); /* keys that all parts have in common */
		add_keys(&part[p], &random, 20000);
		same = 42;
		add_keys(&whole, &same, 1000);
		add_keys(&whole, &again, 20000);
	}
	hyperloglog_merge(&part[0], &part[1]);
	hyperloglog_merge(&part[0], &part[2]);
	assert_memory_equal(&part[0], &whole, sizeof(whole));
}

/* Hashes with all zeros or all ones after the register number. */
static void test_extreme_hashes(void **state)
{
	struct hyperloglog hll;
	struct key_burst burst = {.n = 2};

	(void)state;
	hyperloglog_reset(&hll);
	burst.hash[0].hi = UINT64_C(5) << (64 - HYPERLOGLOG_BITS);
	burst.hash[1].hi = UINT64_MAX;
	hyperloglog_update(&hll, &burst);
	assert_int_equal(hll.registers[5], 64 - HYPERLOGLOG_BITS + 1);
	assert_int_equal(hll.registers[(1 << HYPERLOGLOG_BITS) - 1], 1);

	memset(hll.registers, 64 - HYPERLOGLOG_BITS + 1, sizeof(hll.registers));
	(void)hyperloglog_estimate(&hll); /* must terminate */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_real_keys),
		cmocka_unit_test(test_few_keys),
		cmocka_unit_test(test_repetition_changes_nothing),
		cmocka_unit_test(test_merge_is_union),
		cmocka_unit_test(test_extreme_hashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
