/* SPDX-License-Identifier: BSD-3-Clause */

/* The sampling of a simulated exporter follows its budget and the target of the bounds. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "collect/exporters/sampling_choice.h"
#include "fewer.h"

#define SEEDS FEWER(1000, 400)

/* Sends packets / N samples per second, with the scatter of a Poisson variable. */
struct exporter {
	struct random random;
	struct sampling_chooser chooser;
	double packets;   /* per second */
	double tolerable; /* interval that the bounds tolerate; 0: unknown */
	uint32_t interval, changes;
	double records;
};

static double normal(struct random *random)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += (double)(random_next(random) >> 11) * 0x1p-53;
	return sum;
}

static struct sampling_choice step(struct exporter *exporter, const struct sampling_limits *limits)
{
	double mean = exporter->packets / exporter->interval;
	struct sampling_choice choice;

	exporter->records = fmax(0, mean + sqrt(mean) * normal(&exporter->random));
	choice = sampling_choose(&exporter->chooser, limits,
		&(struct sampling_seen){exporter->interval, exporter->records,
			exporter->tolerable * (1 + 0.05 * normal(&exporter->random))});
	exporter->changes += choice.interval != exporter->interval;
	assert_int_equal(choice.reason != SAMPLING_STAYS, choice.interval != exporter->interval);
	exporter->interval = choice.interval;
	return choice;
}

static struct exporter begin(uint32_t seed, double packets, double tolerable, uint32_t interval)
{
	struct exporter exporter = {
		.packets = packets, .tolerable = tolerable, .interval = interval};

	random_init(&exporter.random, seed);
	return exporter;
}

/* Steady traffic: the budget holds after one interval, and changes end. */
static void test_budget(void **state)
{
	const struct sampling_limits limits = {.budget = 1000};

	(void)state;
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		struct exporter exporter = begin(seed, 1e6, 0, 1 + seed % 5000);

		for (int i = 0; i < 8; i++)
			step(&exporter, &limits);
		exporter.changes = 0;
		for (int i = 0; i < 50; i++) {
			step(&exporter, &limits);
			assert_true(exporter.records <= limits.budget);
		}
		assert_int_equal(exporter.changes, 0);
		/* The budget is used: 1000 is the finest. */
		assert_in_range(exporter.interval, 1001, 2000);
	}
}

/* Traffic that grows tenfold exceeds the budget for one interval only. */
static void test_growth(void **state)
{
	const struct sampling_limits limits = {.budget = 1000};
	struct exporter exporter = begin(1, 1e5, 0, 125);

	(void)state;
	exporter.packets *= 10;
	assert_int_equal(step(&exporter, &limits).reason, SAMPLING_BUDGET);
	step(&exporter, &limits);
	assert_true(exporter.records <= limits.budget);
	/* When it ends, finer sampling returns later, in steps. */
	exporter.packets /= 10;
	for (int i = 0; i < SAMPLING_MEMORY; i++)
		assert_int_equal(step(&exporter, &limits).reason, SAMPLING_STAYS);
	for (int i = 0; i < SAMPLING_MEMORY + 2 * SAMPLING_PATIENCE; i++)
		step(&exporter, &limits);
	assert_in_range(exporter.interval, 110, 160);
}

/* A quiet time: each change is at most fourfold, so the traffic that returns has a limit. */
static void test_quiet(void **state)
{
	const struct sampling_limits both[] = {{.budget = 1000}, {.budget = 1000, .error = true}};

	(void)state;
	for (int l = 0; l < 2; l++) {
		struct exporter exporter = begin(1, 400, 1, 1000);

		for (int i = 0; i < 60; i++) {
			uint32_t before = exporter.interval;

			step(&exporter, &both[l]);
			assert_in_range(exporter.interval, (before + 3) / 4, before);
		}
		assert_int_equal(exporter.interval, 1);
	}
}

/* Bursts that repeat keep the budget after the first one. */
static void test_bursts(void **state)
{
	const struct sampling_limits limits = {.budget = 1000};
	struct exporter exporter = begin(1, 1e4, 0, 100);

	(void)state;
	for (int i = 0; i < 60; i++) {
		exporter.packets = i % SAMPLING_MEMORY == 0 ? 1e6 : 1e4;
		step(&exporter, &limits);
		assert_true(i == 0 || exporter.records <= limits.budget);
	}
}

static void test_error(void **state)
{
	const struct sampling_limits limits = {.error = true};

	(void)state;
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		struct exporter exporter = begin(seed, 1e6, 100, 1 + seed * 7 % 3000);

		for (int i = 0; i < 12; i++)
			step(&exporter, &limits);
		exporter.changes = 0;
		for (int i = 0; i < 50; i++)
			step(&exporter, &limits);
		/* An interval at the edge of the permitted range may change once. */
		assert_in_range(exporter.changes, 0, 1);
		assert_in_range(exporter.interval, 60, 105);
	}
}

/* The budget precedes the target, and the conflict is reported. */
static void test_both(void **state)
{
	const struct sampling_limits limits = {.budget = 1000, .error = true};
	struct exporter exporter = begin(1, 1e6, 100, 10);
	struct sampling_choice choice = {0};

	(void)state;
	for (int i = 0; i < 12; i++)
		choice = step(&exporter, &limits);
	assert_in_range(exporter.interval, 1001, 1600);
	assert_true(choice.over_error);
	assert_false(choice.over_budget);
	exporter = begin(1, 1e4, 100, 10);
	for (int i = 0; i < 12; i++)
		choice = step(&exporter, &limits);
	assert_in_range(exporter.interval, 60, 105);
	assert_false(choice.over_error);
}

/* Records that do not depend on the sampling: the search ends at the coarsest interval. */
static void test_unreachable(void **state)
{
	const struct sampling_limits limits = {.budget = 10};
	struct sampling_chooser chooser = {0};
	struct sampling_seen seen = {1, 1000, 0};
	struct sampling_choice choice = {0};

	(void)state;
	for (int i = 0; i < 10; i++) {
		choice = sampling_choose(&chooser, &limits, &seen);
		seen.interval = choice.interval;
	}
	assert_int_equal(seen.interval, SAMPLING_COARSEST);
	assert_true(choice.over_budget);
	assert_int_equal(choice.reason, SAMPLING_STAYS);
}

/* Nothing is known: nothing changes. */
static void test_silence(void **state)
{
	const struct sampling_limits both = {.budget = 10, .error = true}, budget = {.budget = 10};
	struct sampling_chooser chooser = {0};
	const struct sampling_seen seen = {100, 0, 0};

	(void)state;
	for (int i = 0; i < 10; i++) {
		assert_int_equal(sampling_choose(&chooser, &both, &seen).interval, 100);
		assert_int_equal(sampling_choose(&chooser, &budget, &seen).interval, 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_quiet),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_unreachable),
		cmocka_unit_test(test_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
