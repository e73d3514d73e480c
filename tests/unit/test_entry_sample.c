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
#include "report/ledger/collector_report.h"
#include "report/rows/report.h"
#include "sketch/sampling_bound.h"

#define SEEDS  600
#define BURSTS 60
#define KEYS   4
#define FRAME  1500
#define RISK   0.1 /* chance that a bound fails */

static struct key_burst burst;
static struct key_weights weights;
static uint32_t key_of[BURST_MAX];

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
	shed_worker_choose_entries(shed, burst.n, SHED_SHIFT_MAX, chosen);
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

/*
 * Exporters sample, and then the collector under --overload. RISK_OF_BOTH is that of all bounds of an
 * interval together; the sketch has none. Each kind of sampling has half of it, as in
 * measurement_report.c.
 */
#define RISK_OF_BOTH   0.2
#define SAMPLING_RISKS 24 /* two ends, two metrics and six weights; as in merge.c */
#define RECORDS        1500

struct exported {
	struct sums truth[KEYS], counted[KEYS], sums[KEYS], all;
	struct ledger ledger;
};

/* Records of 1 to 64 packets. For half of them, the exporter samples. */
static void export_burst(struct exported *exported, struct random *random)
{
	const uint64_t coarsest = (uint64_t)exported->ledger.sampling;

	burst.n = 0;
	burst.weights = &weights;
	while (burst.n < BURST_MAX) {
		uint32_t k = (uint32_t)random_below(random, KEYS), i = burst.n++;
		uint64_t n = 1 + random_below(random, UINT64_C(1) << 2 * k);
		uint64_t interval = random_below(random, 2) == 0 ? coarsest : 1;

		weights.packets[i] = weights.bytes[i] = 0;
		for (; n > 0; n--) {
			uint64_t bytes = 60 + random_below(random, FRAME - 60 + 1);

			exported->truth[k].packets++;
			exported->truth[k].bytes += bytes;
			if (random_below(random, interval) != 0)
				continue;
			weights.packets[i] += interval;
			weights.bytes[i] += interval * bytes;
		}
		key_of[i] = k;
		exported->counted[k].packets += weights.packets[i];
		exported->counted[k].bytes += weights.bytes[i];
		exported->all.packets += weights.packets[i];
		exported->all.bytes += weights.bytes[i];
	}
}

static void sample_burst(
	struct exported *exported, struct shed_worker *shed, uint32_t shift, uint64_t *measured)
{
	struct entry_sample samples[SHED_SHIFT_MAX + 1];
	const struct entry_sample *sample = &samples[shift];

	make_samples(shed, samples);
	*measured += sample->measured;
	for (uint32_t s = 0; s <= SHED_SHIFT_MAX; s++)
		for (uint64_t left = sample->entries[s]; left != 0; left &= left - 1) {
			uint32_t i = (uint32_t)__builtin_ctzll(left);

			exported->sums[key_of[i]].packets += weights.packets[i] << s;
			exported->sums[key_of[i]].bytes += weights.bytes[i] << s;
		}
}

static struct report_figure bounded(
	uint64_t sum, uint32_t shift, uint64_t unit, uint64_t whole, double risk)
{
	const struct sampling_bound bound = {.weight = UINT64_C(1) << shift,
		.unit = unit,
		.whole = (double)whole,
		.log_inverse = -log(risk / SAMPLING_RISKS)};

	return (struct report_figure){.value = sum,
		.low = sampling_low(&bound, sum),
		.high = sampling_high(&bound, sum),
		.known = true,
		.high_known = true};
}

static bool misses(const struct report_figure *figure, uint64_t truth)
{
	return truth < figure->low || truth > figure->high;
}

struct both {
	uint32_t intervals;      /* those with a bound that misses the truth */
	uint32_t only_overload;  /* the same without the widening for exporters */
	uint32_t only_exporters; /* the same without the widening for --overload */
};

static bool widened_misses(struct report_row rows[KEYS], const struct exported *exported)
{
	struct report_measurement measurement = {.rows = rows, .nb_rows = KEYS};
	bool missed = false;

	collector_report_widen(&measurement, &exported->ledger, RISK_OF_BOTH / 2);
	for (uint32_t k = 0; k < KEYS; k++)
		missed |= misses(&rows[k].packets, exported->truth[k].packets) ||
			  misses(&rows[k].bytes, exported->truth[k].bytes);
	return missed;
}

static void run_both(uint64_t seed, uint32_t interval, uint32_t shift, struct both *both)
{
	struct exported exported = {
		.ledger = {.sampling = interval, .largest_frame = FRAME, .unsampled_frame = FRAME}};
	struct report_row rows[KEYS] = {0}, narrow[KEYS] = {0};
	struct shed_worker shed;
	struct random random;
	uint64_t measured = 0;
	bool missed = false;

	shed_worker_init(&shed, seed, 0);
	random_init(&random, seed + SEEDS);
	for (uint32_t done = 0; done < RECORDS; done += burst.n) {
		export_burst(&exported, &random);
		sample_burst(&exported, &shed, shift, &measured);
	}
	exported.ledger.measured = measured;
	exported.ledger.skipped = exported.all.packets - measured;
	for (uint32_t k = 0; k < KEYS; k++) {
		const struct sums *sums = &exported.sums[k];

		rows[k].packets =
			bounded(sums->packets, shift, 1, exported.all.packets, RISK_OF_BOTH / 2);
		rows[k].bytes =
			bounded(sums->bytes, shift, FRAME, exported.all.bytes, RISK_OF_BOTH / 2);
		assert_false(misses(&rows[k].packets, sums->packets));
		missed |= misses(&rows[k].packets, exported.truth[k].packets) ||
			  misses(&rows[k].bytes, exported.truth[k].bytes);
		narrow[k].packets = bounded(sums->packets, 0, 1, exported.all.packets, 1);
		narrow[k].bytes = bounded(sums->bytes, 0, FRAME, exported.all.bytes, 1);
	}
	both->only_overload += missed;
	both->intervals += widened_misses(rows, &exported);
	both->only_exporters += widened_misses(narrow, &exported);
}

static void bounds_hold_if_exporters_sample(void **state)
{
	/* Either most of the error is that of exporters, or of --overload, or of both. */
	static const struct {
		uint32_t interval, shift;
	} cases[] = {{64, 3}, {16, SHED_SHIFT_MAX}, {4, SHED_SHIFT_MAX}};
	struct both both[3] = {{0}};

	(void)state;
	for (uint32_t c = 0; c < 3; c++) {
		for (uint64_t seed = 1; seed <= SEEDS; seed++)
			run_both(seed, cases[c].interval, cases[c].shift, &both[c]);
		print_message("1:%u and 1/%u: %u of %u intervals missed, %u without the part of "
			      "exporters, %u without that of --overload\n",
			cases[c].interval, 1U << cases[c].shift, both[c].intervals, SEEDS,
			both[c].only_overload, both[c].only_exporters);
		assert_true(both[c].intervals <= RISK_OF_BOTH * SEEDS);
	}
	/* The test could fail: neither part is enough. */
	assert_true(both[0].only_overload > RISK_OF_BOTH * SEEDS);
	assert_true(both[2].only_exporters > RISK_OF_BOTH * SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_hold),
		cmocka_unit_test(bounds_hold_if_exporters_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
