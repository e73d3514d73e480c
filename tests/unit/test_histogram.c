/* SPDX-License-Identifier: BSD-3-Clause */

/* The log-linear histogram, compared with sorted values. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/histogram.h"
#include "base/random.h"

/* Step numbers increase by one without gaps, and each value lies in its step. */
static void test_steps(void **state)
{
	(void)state;
	assert_int_equal(histogram_step(HISTOGRAM_MAX), HISTOGRAM_SIZE - 1);
	assert_int_equal(histogram_step(UINT64_MAX), HISTOGRAM_SIZE - 1);
	for (uint32_t step = 0; step < HISTOGRAM_SIZE; step++) {
		uint64_t last = histogram_value(step);

		assert_int_equal(histogram_step(last), step);
		if (step + 1 < HISTOGRAM_SIZE)
			assert_int_equal(histogram_step(last + 1), step + 1);
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void check_quantiles(const struct histogram *histogram, uint64_t *values, size_t n)
{
	static const double shares[] = {0, 0.1, 0.5, 0.9, 0.99, 0.999, 1};

	qsort(values, n, sizeof(values[0]), compare);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		size_t at = (size_t)(shares[i] * (double)n);
		uint64_t exact = values[at > 0 ? at - 1 : 0];
		uint64_t read = histogram_quantile(histogram, shares[i]);

		if ((double)at < shares[i] * (double)n)
			exact = values[at];
		if (shares[i] > 0)
			assert_in_range(read, exact, exact + exact / HISTOGRAM_STEPS);
	}
	assert_int_equal(histogram->max, values[n - 1]);
	assert_int_equal(histogram_quantile(histogram, 1), values[n - 1]);
}

static void test_quantiles(void **state)
{
	static uint64_t values[20000];
	static struct histogram parts[3], sum;
	struct random random;
	size_t n = sizeof(values) / sizeof(values[0]);

	(void)state;
	random_init(&random, 3);
	for (size_t i = 0; i < n; i++) {
		values[i] = random_below(&random, UINT64_C(1) << (1 + i % 43));
		histogram_add(&parts[i % 3], values[i], 1);
	}
	for (uint32_t p = 0; p < 3; p++)
		histogram_merge(&sum, &parts[p]);
	assert_int_equal(sum.n, n);
	check_quantiles(&sum, values, n);
}

static void test_weights_and_nothing(void **state)
{
	static struct histogram histogram;

	(void)state;
	assert_int_equal(histogram_quantile(&histogram, 0.5), 0);
	histogram_add(&histogram, 5, 98);
	histogram_add(&histogram, 1000, 2);
	assert_int_equal(histogram_quantile(&histogram, 0.5), 5);
	assert_int_equal(histogram_quantile(&histogram, 0.98), 5);
	assert_int_equal(histogram_quantile(&histogram, 0.99), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_weights_and_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
