/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sampled entries of bursts of keys under --overload, such as flow records: sums add up, estimates are
 * unbiased, and bounds contain the truth as often as claimed.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "parallel/workers/shed_worker.h"
#include "sketch/sampling_bound.h"

#define SEEDS  600
#define BURSTS 60
#define KEYS   4
#define FRAME  1500
#define RISK   0.1 /* chance that a bound fails */

static struct key_burst burst;
static struct key_weights weights;

struct sums {
	uint64_t packets, bytes;
};

/* Entry i is of key i % KEYS. Key 0 has only single packets, the others also larger records. */
static void fill(struct random *random)
{
	burst.n = 1 + (uint32_t)random_below(random, BURST_MAX);
	burst.weights = &weights;
	for (uint32_t i = 0; i < burst.n; i++) {
		uint64_t most =
			i % KEYS == 0 ? 1 : UINT64_C(1) << random_below(random, 2 * (i % KEYS) + 3);
		uint64_t packets = 1 + random_below(random, most);

		weights.packets[i] = packets;
		weights.bytes[i] = packets * (60 + random_below(random, FRAME - 60 + 1));
	}
}

static void add_truth(struct sums *truth)
{
	for (uint32_t i = 0; i < burst.n; i++) {
		truth[i % KEYS].packets += weights.packets[i];
		truth[i % KEYS].bytes += weights.bytes[i];
	}
}

static void add_sample(const struct entry_sample *sample, struct sums *sums, uint32_t shift)
{
	uint64_t measured = 0, added = 0, bytes = 0, added_bytes = 0, seen = 0;

	for (uint32_t s = 0; s <= SHED_SHIFT_MAX; s++)
		for (uint64_t left = sample->entries[s]; left != 0; left &= left - 1) {
			uint32_t i = (uint32_t)__builtin_ctzll(left);

			assert_true(s <= shift && (seen >> i & 1) == 0);
			assert_true(s == 0 || weights.packets[i] << s <= UINT64_C(1) << shift);
			assert_true(
				s == shift || weights.packets[i] << (s + 1) > UINT64_C(1) << shift);
			seen |= UINT64_C(1) << i;
			sums[i % KEYS].packets += weights.packets[i] << s;
			sums[i % KEYS].bytes += weights.bytes[i] << s;
			measured += weights.packets[i];
			bytes += weights.bytes[i];
			added += (weights.packets[i] << s) - weights.packets[i];
			added_bytes += (weights.bytes[i] << s) - weights.bytes[i];
		}
	assert_int_equal(sample->measured, measured);
	assert_int_equal(sample->bytes, bytes);
	assert_int_equal(sample->added, added);
	assert_int_equal(sample->added_bytes, added_bytes);
}

static uint64_t all_of(const struct entry_sample *sample)
{
	uint64_t all = 0;

	for (uint32_t s = 0; s <= SHED_SHIFT_MAX; s++)
		all |= sample->entries[s];
	return all;
}

/* A rarer sample is part of each more frequent one, and shift 0 takes all. */
static void make_samples(struct shed_worker *shed, struct entry_sample samples[SHED_SHIFT_MAX + 1])
{
	uint64_t chosen[SHED_SHIFT_MAX + 1];
	uint64_t range = burst.n < 64 ? (UINT64_C(1) << burst.n) - 1 : UINT64_MAX;

	shed->packet += burst.n;
	shed_worker_choose_entries(shed, burst.n, chosen);
	for (uint32_t shift = 0; shift <= SHED_SHIFT_MAX; shift++) {
		entry_sample_make(&samples[shift], &burst, range, true, chosen, shift);
		if (shift > 0)
			assert_true((all_of(&samples[shift]) & ~all_of(&samples[shift - 1])) == 0);
	}
	assert_true(all_of(&samples[0]) == range);
}

struct misses {
	uint32_t bounds, narrow; /* narrow: with a quarter of the width */
};

static void look(
	struct misses *misses, const struct sampling_bound *bound, uint64_t sum, uint64_t truth)
{
	uint64_t low = sampling_low(bound, sum), high = sampling_high(bound, sum);

	misses->bounds += truth < low || truth > high;
	misses->narrow += truth + (sum - low) * 3 / 4 < sum || truth > sum + (high - sum) / 4;
}

static void run_seed(uint64_t seed, uint32_t shift, struct misses *misses, double *bias)
{
	struct sums truth[KEYS] = {{0}}, sums[KEYS] = {{0}}, whole = {0};
	struct shed_worker shed;
	struct random random;

	shed_worker_init(&shed, seed, 0);
	random_init(&random, seed);
	for (uint32_t b = 0; b < BURSTS; b++) {
		struct entry_sample samples[SHED_SHIFT_MAX + 1];

		fill(&random);
		add_truth(truth);
		make_samples(&shed, samples);
		add_sample(&samples[shift], sums, shift);
	}
	for (uint32_t k = 0; k < KEYS; k++) {
		whole.packets += truth[k].packets;
		whole.bytes += truth[k].bytes;
	}
	for (uint32_t k = 0; k < KEYS; k++) {
		struct sampling_bound bound = {.weight = UINT64_C(1) << shift,
			.unit = 1,
			.whole = (double)whole.packets,
			.log_inverse = -log(RISK)};
		double sigma = sqrt((double)truth[k].packets * ((1 << shift) - 1));

		look(misses, &bound, sums[k].packets, truth[k].packets);
		*bias += ((double)sums[k].packets - (double)truth[k].packets) / sigma;
		bound.unit = FRAME;
		bound.whole = (double)whole.bytes;
		look(misses, &bound, sums[k].bytes, truth[k].bytes);
	}
}

static void bounds_hold(void **state)
{
	(void)state;
	for (uint32_t shift = 1; shift <= SHED_SHIFT_MAX; shift++) {
		uint32_t n = SEEDS * KEYS;
		struct misses misses = {0};
		double bias = 0;

		for (uint64_t seed = 1; seed <= SEEDS; seed++)
			run_seed(seed, shift, &misses, &bias);
		print_message("1/%u: %u of %u bounds missed, %u if narrower; bias %.2f sigma\n",
			1U << shift, misses.bounds, 2 * n, misses.narrow, bias / sqrt(n));
		/* Each pair of bounds may fail with 2 RISK. */
		assert_true(misses.bounds <= 2 * RISK * 2 * n);
		/* The deviation of an estimate is at most sigma. */
		assert_true(fabs(bias) < 5 * sqrt(n));
		/* The test could fail. */
		assert_true(misses.narrow > misses.bounds);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
