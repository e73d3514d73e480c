/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sampled figures: bias and variance of the estimator and coverage of its bounds, over seeds, with
 * 1 to 6 observation points of equal and of mixed intervals; and the bounds, compared with exact
 * tails of a Poisson variable.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/random.h"
#include "collect/dedup/estimate.h"
#include "fewer.h"

#define SEEDS     FEWER(1000, 200)
#define OBSERVERS 6
#define FLOWS     20

static double uniform(struct random *random)
{
	return (double)(random_next(random) >> 11) * 0x1p-53;
}

/* Draws the number of sampled packets with geometric gaps. */
static uint64_t sample(struct random *random, uint64_t packets, uint32_t interval)
{
	double log_miss = log1p(-1.0 / interval), at = 0;
	uint64_t taken = 0;

	for (;;) {
		at += 1 + floor(log(1 - uniform(random)) / log_miss);
		if (at > (double)packets)
			return taken;
		taken++;
	}
}

/*
 * Returns the weights w_k that minimize the variance of the sum of w_k N_k n_k over observation
 * points (docs/ESTIMATES.md), and the sampling interval of one observation point as good as all of
 * them.
 */
static double best_weights(const uint32_t *intervals, uint32_t n, double *weights)
{
	double sum = 0;

	for (uint32_t k = 0; k < n; k++) {
		weights[k] = 1.0 / ((double)intervals[k] - 1);
		sum += weights[k];
	}
	for (uint32_t k = 0; k < n; k++)
		weights[k] /= sum;
	return 1 + 1 / sum;
}

/* Returns the logarithm of P(Poisson(mean) <= k). */
static double poisson_at_most(double mean, uint64_t k)
{
	double sum = 0;

	for (uint64_t i = 0; i <= k; i++)
		sum += exp((double)i * log(mean) - mean - lgamma((double)i + 1));
	return sum;
}

/* Chernoff's bound is above the exact tail, and close enough to be useful. */
static void test_exact_tails(void **state)
{
	const uint64_t samples[] = {0, 1, 2, 5, 20, 100, 400};
	const double limits[] = {1, 3, 7, 12};

	(void)state;
	for (uint32_t s = 0; s < 7; s++) {
		for (uint32_t l = 0; l < 4; l++) {
			struct estimate_bounds bounds =
				estimate_bound(samples[s] * 1000, 1000, 1, limits[l]);
			double high = (double)bounds.high / 1000, low = (double)bounds.low / 1000;
			double tail = exp(-limits[l]);

			assert_true(bounds.low <= samples[s] * 1000);
			assert_true(bounds.high >= samples[s] * 1000);
			assert_true(poisson_at_most(high, samples[s]) <= tail * (1 + 1e-6));
			assert_true(poisson_at_most(high, samples[s]) > tail / 50);
			if (bounds.low == 0) /* certain */
				continue;
			assert_true(1 - poisson_at_most(low, samples[s] - 1) <=
				    tail * (1 + 1e-6) + 1e-12);
		}
	}
}

static void test_corners(void **state)
{
	struct estimate_bounds bounds;

	(void)state;
	bounds = estimate_bound(12345, 1, 1500, 7);
	assert_int_equal(bounds.low, 12345);
	assert_int_equal(bounds.high, 12345);
	bounds = estimate_bound(0, 10, 1, 5);
	assert_int_equal(bounds.low, 0);
	assert_in_range(bounds.high, 50, 51);
	bounds = estimate_bound(UINT64_MAX, 1e6, 1500, 7);
	assert_true(bounds.high == UINT64_MAX);
	assert_true(bounds.low > UINT64_MAX / 2);
	/* Bytes: the same in units of the frame size. */
	assert_in_range(estimate_bound(15000000, 100, 1500, 7).high,
		estimate_bound(10000, 100, 1, 7).high * 1500 - 3000,
		estimate_bound(10000, 100, 1, 7).high * 1500 + 3000);
}

/*
 * The number of packets without a sample is as rare as requested; one percent fewer packets are
 * not.
 */
static void test_unsampled(void **state)
{
	const double intervals[] = {2, 3, 10, 1000, 1e6, 4294967294.0}, limits[] = {1, 7, 12};

	(void)state;
	assert_int_equal(estimate_unsampled(1, 7), 0);
	assert_int_equal(estimate_unsampled(0, 7), 0);
	for (uint32_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
		for (uint32_t l = 0; l < 3; l++) {
			double n = (double)estimate_unsampled(intervals[i], limits[l]);
			double miss = log1p(-1 / intervals[i]);

			assert_true((n + 1) * miss <= -limits[l]);
			assert_true((n - 1 - n / 100) * miss > -limits[l]);
		}
	}
}

struct setting {
	uint32_t n, intervals[OBSERVERS];
	uint64_t packets;
};

static const struct setting settings[] = {
	{1, {2}, 300},
	{1, {100}, 5000},
	{1, {10000}, 300000},
	{2, {100, 100}, 3000},
	{2, {100, 4000}, 20000},
	{4, {2, 2, 2, 2}, 200},
	{6, {100, 100, 100, 100, 100, 100}, 2000},
	{6, {2, 10, 50, 500, 1000, 10000}, 1000},
	{3, {10000, 5000, 10000}, 100000},
};

static double estimate(struct random *random, const struct setting *setting, const double *weights)
{
	double sum = 0;

	for (uint32_t k = 0; k < setting->n; k++)
		sum += weights[k] * setting->intervals[k] *
		       (double)sample(random, setting->packets, setting->intervals[k]);
	return sum;
}

static void test_bias_and_variance(void **state)
{
	(void)state;
	for (uint32_t s = 0; s < sizeof(settings) / sizeof(settings[0]); s++) {
		const struct setting *setting = &settings[s];
		double weights[OBSERVERS], sum = 0, squares = 0, x = (double)setting->packets;
		double interval = best_weights(setting->intervals, setting->n, weights);
		double variance = x * (interval - 1);
		struct random random;

		random_init(&random, 77 + s);
		for (uint32_t seed = 0; seed < SEEDS; seed++) {
			double error = estimate(&random, setting, weights) - x;

			sum += error;
			squares += error * error;
		}
		/* Within four standard errors, for the mean and the variance. */
		assert_true(fabs(sum / SEEDS) <= 4 * sqrt(variance / SEEDS));
		assert_true(fabs(squares / SEEDS / variance - 1) <=
			    4 * sqrt(2.0 / SEEDS) + 1 / (x / interval));
	}
}

/*
 * The intervals of all flows hold the true counts jointly, in at least `confidence` of the epochs.
 */
static void test_joint_coverage(void **state)
{
	const double confidence = 0.9;
	const double log_inverse = log(2 * FLOWS / (1 - confidence));
	uint32_t useful = 0;

	(void)state;
	for (uint32_t s = 0; s < sizeof(settings) / sizeof(settings[0]); s++) {
		double weights[OBSERVERS];
		double interval = best_weights(settings[s].intervals, settings[s].n, weights);
		uint32_t missed = 0;
		struct random random;

		random_init(&random, 1000 + s);
		for (uint32_t seed = 0; seed < SEEDS; seed++) {
			bool outside = false;

			for (uint32_t flow = 0; flow < FLOWS; flow++) {
				struct setting of = settings[s];
				struct estimate_bounds bounds;
				double counted;

				of.packets = 1 + of.packets * flow / FLOWS;
				counted = floor(estimate(&random, &of, weights) + uniform(&random));
				bounds =
					estimate_bound((uint64_t)counted, interval, 1, log_inverse);
				outside |= of.packets < bounds.low || of.packets > bounds.high;
				useful += bounds.low > 0;
			}
			missed += outside;
		}
		assert_true(missed <= SEEDS * (1 - confidence));
	}
	assert_true(useful > 0);
}

/*
 * Flows through a fine sampler, and as many packets of each through a coarse one, which has no
 * sample in most epochs. The interval of the counted packets, plus the packets that the coarse
 * sampler may have missed, holds the true count of all flows together.
 */
static void test_silent_sampler(void **state)
{
	const uint32_t fine = 10, coarse = 10000;
	const double risk = 0.1;
	uint32_t missed = 0, silent = 0, without = 0;
	struct random random;

	(void)state;
	random_init(&random, 31);
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		uint64_t of_fine[FLOWS], of_coarse[FLOWS], truth[FLOWS], seen = 0;
		bool outside = false, outside_without = false;

		for (uint32_t flow = 0; flow < FLOWS; flow++) {
			uint64_t packets = flow == 0 ? 10000 : 100;

			truth[flow] = 3000 + packets;
			of_fine[flow] = sample(&random, 3000, fine) * fine;
			of_coarse[flow] = sample(&random, packets, coarse) * coarse;
			seen += of_coarse[flow];
		}
		for (uint32_t flow = 0; flow < FLOWS; flow++) {
			uint32_t interval = seen > 0 ? coarse : fine;
			double log_inverse = log(4 * FLOWS / risk);
			struct estimate_bounds bounds = estimate_bound(
				of_fine[flow] + of_coarse[flow], interval, 1, log_inverse);

			outside_without |= truth[flow] > bounds.high;
			if (seen == 0)
				bounds.high += estimate_unsampled(coarse, log(2 / risk));
			outside |= truth[flow] < bounds.low || truth[flow] > bounds.high;
		}
		silent += seen == 0;
		missed += outside;
		without += outside_without;
	}
	assert_true(silent > SEEDS / 10);
	assert_true(missed <= SEEDS * risk);
	assert_int_equal(without, silent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_tails),
		cmocka_unit_test(test_corners),
		cmocka_unit_test(test_unsampled),
		cmocka_unit_test(test_silent_sampler),
		cmocka_unit_test(test_bias_and_variance),
		cmocka_unit_test(test_joint_coverage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
