/* SPDX-License-Identifier: BSD-3-Clause */

/* Samples drawn from a distribution are recognized as this distribution, with its parameters. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "adapt/distribution.h"
#include "base/random.h"

#define SAMPLES 20000

static double samples[SAMPLES];

/* Returns a number above 0 and below 1. */
static double uniform(struct random *random)
{
	return ((double)(random_next(random) >> 12) + 0.5) / (double)(UINT64_C(1) << 52);
}

static double draw(enum distribution_kind kind, double a, double b, struct random *random)
{
	double u = uniform(random);

	switch (kind) {
	case DISTRIBUTION_NORMAL: /* Box-Muller transform */
		return a + b * sqrt(-2 * log(u)) * cos(2 * M_PI * uniform(random));
	case DISTRIBUTION_WEIBULL: return a * pow(-log(u), 1 / b);
	default: return a - b * log(-log(u));
	}
}

static void assert_near(double value, double expected, double tolerance)
{
	if (fabs(value - expected) > tolerance * fabs(expected))
		fail_msg("%g is not near %g", value, expected);
}

/* Parameters are within 3 %; a tenth of the samples suffices to recognize the distribution. */
static void check(enum distribution_kind kind, double a, double b)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct random random;
		struct distribution fit;

		random_init(&random, seed);
		for (uint32_t i = 0; i < SAMPLES; i++)
			samples[i] = draw(kind, a, b, &random);
		fit = distribution_of(samples, SAMPLES);
		assert_int_equal(fit.best, kind);
		assert_near(fit.a[kind], a, 0.03);
		assert_near(fit.b[kind], b, 0.03);
		for (uint32_t i = 0; i < SAMPLES / 10; i++)
			samples[i] = draw(kind, a, b, &random);
		assert_int_equal(distribution_of(samples, SAMPLES / 10).best, kind);
	}
}

static void finds_what_samples_were_drawn_from(void **state)
{
	(void)state;
	check(DISTRIBUTION_NORMAL, 100, 8.87);
	check(DISTRIBUTION_NORMAL, 5, 0.1);
	check(DISTRIBUTION_WEIBULL, 100, 1.5);
	check(DISTRIBUTION_WEIBULL, 20, 8);
	check(DISTRIBUTION_GUMBEL, 100, 8.87);
	check(DISTRIBUTION_GUMBEL, 200, 39.2);
	check(DISTRIBUTION_GUMBEL, 5, 0.02);
}

/* Direct evaluation of the density. */
static double density(enum distribution_kind kind, double a, double b, double x)
{
	double z = (x - a) / b;

	switch (kind) {
	case DISTRIBUTION_NORMAL: return exp(-z * z / 2) / (b * sqrt(2 * M_PI));
	case DISTRIBUTION_WEIBULL: return b / a * pow(x / a, b - 1) * exp(-pow(x / a, b));
	default: return exp(-z - exp(-z)) / b;
	}
}

static double bic_of(enum distribution_kind kind, double a, double b, uint32_t n)
{
	double likelihood = 0;

	for (uint32_t i = 0; i < n; i++)
		likelihood += log(density(kind, a, b, samples[i]));
	return 2 * log(n) - 2 * likelihood;
}

/*
 * All three fits are the most likely ones for any samples; a step in any direction is less likely.
 */
static void fits_are_the_likeliest(void **state)
{
	struct distribution fit;
	struct random random;

	(void)state;
	random_init(&random, 7);
	for (uint32_t i = 0; i < 2000; i++)
		samples[i] = draw(DISTRIBUTION_GUMBEL, 30, 4, &random);
	fit = distribution_of(samples, 2000);
	for (uint32_t kind = 0; kind < DISTRIBUTION_KINDS; kind++) {
		double a = fit.a[kind], b = fit.b[kind];

		assert_near(fit.bic[kind], bic_of(kind, a, b, 2000), 1e-6);
		for (int side = -1; side <= 1; side += 2) {
			assert_true(bic_of(kind, a * (1 + side * 1e-3), b, 2000) > fit.bic[kind]);
			assert_true(bic_of(kind, a, b * (1 + side * 1e-2), 2000) > fit.bic[kind]);
		}
	}
}

static void quantiles_are_between_samples(void **state)
{
	struct distribution fit;

	(void)state;
	for (uint32_t i = 0; i <= 1000; i++)
		samples[i] = (i * 37) % 1001;
	fit = distribution_of(samples, 1001);
	assert_near(fit.p5, 50, 1e-12);
	assert_near(fit.p50, 500, 1e-12);
	assert_near(fit.p95, 950, 1e-12);
	assert_near(fit.p99, 990, 1e-12);
	assert_near(fit.mean, 500, 1e-12);
}

/* Results are finite unless they must be infinite. */
static void odd_samples(void **state)
{
	struct distribution fit;

	(void)state;
	for (uint32_t n = 1; n < 200; n += 99) {
		for (uint32_t i = 0; i < n; i++)
			samples[i] = 12.5;
		fit = distribution_of(samples, n);
		assert_near(fit.mean, 12.5, 1e-12);
		assert_near(fit.p99, 12.5, 1e-12);
		for (uint32_t kind = 0; kind < DISTRIBUTION_KINDS; kind++)
			assert_true(isfinite(fit.bic[kind]) && isfinite(fit.a[kind]) &&
				    isfinite(fit.b[kind]));
	}
	for (uint32_t i = 0; i < 100; i++)
		samples[i] = i;
	fit = distribution_of(samples, 100);
	assert_true(isinf(fit.bic[DISTRIBUTION_WEIBULL]));
	assert_int_not_equal(fit.best, DISTRIBUTION_WEIBULL);
	for (uint32_t i = 0; i < 100; i++)
		samples[i] = i == 99 ? 1e9 : 1;
	fit = distribution_of(samples, 100);
	for (uint32_t kind = 0; kind < DISTRIBUTION_KINDS; kind++)
		assert_true(isfinite(fit.bic[kind]));
	for (uint32_t i = 0; i < 100; i++)
		samples[i] = 0;
	fit = distribution_of(samples, 100);
	assert_true(isfinite(fit.bic[DISTRIBUTION_NORMAL]));
}

/* By tables. */
static void share_below(void **state)
{
	static const struct distribution normal_fit = {.a = {10}, .b = {2}};
	static const struct distribution weibull = {
		.best = DISTRIBUTION_WEIBULL, .a = {0, 10}, .b = {0, 3}};
	static const struct distribution gumbel = {
		.best = DISTRIBUTION_GUMBEL, .a = {0, 0, 100}, .b = {0, 0, 10}};

	(void)state;
	assert_true(fabs(distribution_below(&normal_fit, 12) - 0.8413447) < 1e-6);
	assert_true(fabs(distribution_below(&weibull, 10) - 0.6321206) < 1e-6);
	assert_true(distribution_below(&weibull, -1) <= 0);
	assert_true(fabs(distribution_below(&gumbel, 100) - 0.3678794) < 1e-6);
	assert_true(fabs(distribution_below(&gumbel, 120) - 0.8734230) < 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_samples_were_drawn_from),
		cmocka_unit_test(fits_are_the_likeliest),
		cmocka_unit_test(quantiles_are_between_samples),
		cmocka_unit_test(odd_samples),
		cmocka_unit_test(share_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
