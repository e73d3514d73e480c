/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fewer.h"
#include "sketch/sampling_bound.h"
#include "zipf_stream.h"

#define FLOWS      500
#define PACKETS    5000
#define BURST      64
#define WEIGHT_MAX 64
#define RISK       0.1
#define SEEN_MIN   4
/* Ten times as many with SKETCHTAP_FULL. Fewer with sanitizers, which do not affect rates. */
#define SEEDS      FEWER(400, 60)

/* Packets so far; the weight of the next burst may depend on them. */
struct past {
	uint64_t looked_at;           /* sampled packets of the last burst */
	uint64_t weight;              /* weight of the last burst */
	const uint64_t *truth, *sums; /* packets of each flow */
	uint64_t random;              /* random number for the callback only */
};

struct result {
	uint32_t epochs, broken, broken_by_two_thirds;
	double width; /* width of the heaviest flow's interval divided by its true count */
};

static uint64_t always_8(const struct past *past)
{
	(void)past;
	return 8;
}

static uint64_t always_64(const struct past *past)
{
	(void)past;
	return 64;
}

/*
 * Doubles the weight if more than a quarter of the last burst was sampled, as a filling queue
 * would.
 */
static uint64_t by_load(const struct past *past)
{
	if (past->looked_at > BURST / 4)
		return past->weight < WEIGHT_MAX ? 2 * past->weight : WEIGHT_MAX;
	return past->weight > 1 ? past->weight / 2 : 1;
}

static uint64_t at_random(const struct past *past)
{
	return UINT64_C(1) << past->random % 7;
}

/* Samples as coarsely as possible until a heavy flow is far off, and then stops. */
static uint64_t hostile(const struct past *past)
{
	for (uint32_t f = 0; f < 3; f++) {
		double off = (double)past->sums[f] - (double)past->truth[f];

		if (fabs(off) > 3.2 * sqrt((WEIGHT_MAX - 1) * ((double)past->truth[f] + 1)))
			return 1;
	}
	return WEIGHT_MAX;
}

/* Coarse while the flow is counted too high, fine while it is too low. */
static uint64_t hostile_to_one(const struct past *past)
{
	return past->sums[0] >= past->truth[0] ? WEIGHT_MAX : 2;
}

struct epoch {
	uint64_t sum_packets[FLOWS], sum_bytes[FLOWS], truth_packets[FLOWS];
	uint64_t weight;               /* largest weight */
	uint64_t unseen, unseen_bytes; /* packets of bursts that were counted but not sampled */
	uint64_t packets, bytes;       /* all packets */
	struct zipf_stream *stream;
};

static void draw(struct epoch *epoch, uint64_t seed, uint64_t (*choose)(const struct past *past),
	uint32_t unseen_one_in)
{
	struct zipf_stream *stream = epoch->stream;
	uint64_t choices = seed ^ UINT64_C(0x5bd1e995), looks = seed * 31 + 7;
	struct past past = {.weight = 1, .truth = epoch->truth_packets, .sums = epoch->sum_packets};
	uint64_t weight = 1;
	bool unseen = false;

	*epoch = (struct epoch){.stream = stream, .weight = 1};
	zipf_restart(stream, seed);
	for (uint32_t i = 0; i < PACKETS; i++) {
		uint32_t flow = zipf_draw(stream);
		uint64_t len = FRAME_MIN + zipf_random(&stream->state) % 1455;

		if (i % BURST == 0) {
			past.random = zipf_random(&choices);
			past.weight = weight;
			weight = choose(&past);
			unseen =
				unseen_one_in > 0 && past.random >> 32 < UINT32_MAX / unseen_one_in;
			past.looked_at = 0;
			if (weight > epoch->weight)
				epoch->weight = weight;
		}
		epoch->packets++;
		epoch->bytes += len;
		epoch->truth_packets[flow]++;
		stream->bytes[flow] += len;
		if (unseen) {
			epoch->unseen++;
			epoch->unseen_bytes += len;
		} else if ((zipf_random(&looks) & (weight - 1)) == 0) {
			past.looked_at++;
			epoch->sum_packets[flow] += weight;
			epoch->sum_bytes[flow] += weight * len;
		}
	}
}

/*
 * Checks whether the true count is outside the interval around a sum, and outside two thirds of it.
 */
static void check_flow(const struct sampling_bound *sampling, uint64_t truth, uint64_t sum,
	uint64_t unseen, bool *broken, bool *broken_by_two_thirds)
{
	uint64_t low = sampling_low(sampling, sum), high = sampling_high(sampling, sum + unseen);
	double below = (double)(sum - low) * 2 / 3, above = (double)(high - sum) * 2 / 3;

	assert_true(low <= sum && sum <= high);
	*broken |= truth < low || truth > high;
	/* With few samples the bounds are too coarse for this check. */
	if (sum < SEEN_MIN * sampling->weight * sampling->unit)
		return;
	*broken_by_two_thirds |=
		(double)truth < (double)sum - below || (double)truth > (double)sum + above;
}

static void check_epoch(const struct epoch *epoch, uint32_t nb_weights, struct result *result)
{
	double log_inverse = log(4 * nb_weights / RISK);
	struct sampling_bound packets = {epoch->weight, 1, (double)epoch->packets, log_inverse};
	struct sampling_bound bytes = {epoch->weight, FRAME_MAX, (double)epoch->bytes, log_inverse};
	bool broken = false, broken_by_two_thirds = false;

	for (uint32_t f = 0; f < FLOWS; f++) {
		check_flow(&packets, epoch->truth_packets[f], epoch->sum_packets[f], epoch->unseen,
			&broken, &broken_by_two_thirds);
		check_flow(&bytes, epoch->stream->bytes[f], epoch->sum_bytes[f],
			epoch->unseen_bytes, &broken, &broken_by_two_thirds);
	}
	result->epochs++;
	result->broken += broken;
	result->broken_by_two_thirds += broken_by_two_thirds;
	result->width += (double)(sampling_high(&packets, epoch->sum_packets[0]) -
				  sampling_low(&packets, epoch->sum_packets[0])) /
			 (double)epoch->truth_packets[0];
}

static struct result measure(
	uint64_t (*choose)(const struct past *past), uint32_t nb_weights, uint32_t unseen_one_in)
{
	uint32_t seeds = getenv("SKETCHTAP_FULL") != NULL ? 10 * SEEDS : SEEDS;
	static struct epoch epoch;
	struct zipf_stream stream;
	struct result result = {0};

	zipf_open(&stream, FLOWS, 1.1, 1);
	epoch.stream = &stream;
	for (uint32_t seed = 1; seed <= seeds; seed++) {
		draw(&epoch, seed, choose, unseen_one_in);
		check_epoch(&epoch, nb_weights, &result);
	}
	zipf_close(&stream);
	return result;
}

/*
 * Intervals miss at most at the stated rate, for any choice of weights; two thirds of the width
 * would miss more often.
 */
static void test_rate(void **state)
{
	static const struct {
		const char *name;
		uint64_t (*choose)(const struct past *past);
		uint32_t nb_weights; /* possible values of the largest weight */
		bool largest; /* nearly all packets have the largest weight; the bound uses this */
	} modes[] = {
		{"always 8", always_8, 1, true},
		{"always 64", always_64, 1, true},
		{"by load", by_load, 6, false},
		{"at random", at_random, 6, false},
		{"hostile", hostile, 6, true},
		{"hostile to one", hostile_to_one, 6, false},
	};

	(void)state;
	for (uint32_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		struct result result = measure(modes[m].choose, modes[m].nb_weights, 0);

		print_message(
			"%s: %u epochs, %u outside the bounds, %u outside two thirds of them; "
			"interval of the heaviest flow: %.2f of its packets\n",
			modes[m].name, result.epochs, result.broken, result.broken_by_two_thirds,
			result.width / result.epochs);
		assert_true(result.broken <= RISK * result.epochs);
		if (modes[m].largest)
			assert_true(result.broken_by_two_thirds > RISK * result.epochs);
	}
}

/* Some bursts have no sampled packet. */
static void test_unseen(void **state)
{
	struct result result = measure(by_load, 6, 10);

	(void)state;
	assert_true(result.broken <= RISK * result.epochs);
}

/* Finds the smallest and largest true count in the interval by trying every one. */
static void check_against_all(const struct sampling_bound *sampling, uint64_t sum)
{
	double weight = (double)sampling->weight, seen = (double)sum / weight;
	uint64_t low = UINT64_MAX, high = 0;

	for (uint64_t truth = 1; truth <= (uint64_t)sampling->whole; truth++) {
		double f = (double)truth, unseen = f - seen, exponent = 0;

		if (unseen < 0)
			continue;
		exponent += seen > 0 ? seen * log(seen * weight / f) : 0;
		exponent += unseen > 0 ? unseen * log(unseen / (f * (1 - 1 / weight))) : 0;
		if (exponent > sampling->log_inverse + log(sampling->whole / f))
			continue;
		low = truth < low ? truth : low;
		high = truth;
	}
	assert_true(sampling_high(sampling, sum) >= high);
	assert_true(sampling_high(sampling, sum) <= high + 2);
	assert_true(sampling_low(sampling, sum) <= low);
	/* Within one weight of the sum, no count is excluded. */
	assert_true(sampling_low(sampling, sum) + 2 >= low ||
		    sampling_low(sampling, sum) + 1 >= sum - (sampling->weight - 1));
}

static void test_all_counts(void **state)
{
	static const uint64_t sums[] = {8, 64, 192, 1024, 9984, 60032};

	(void)state;
	for (uint64_t weight = 2; weight <= 64; weight *= 2)
		for (uint32_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
			for (double risk = 0.1; risk > 1e-9; risk /= 100) {
				struct sampling_bound sampling = {weight, 1, 1e5, log(1 / risk)};

				check_against_all(&sampling, sums[i]);
			}
}

static void test_edges(void **state)
{
	struct sampling_bound sampling = {1, 1, 1e6, log(1000)};

	(void)state;
	assert_int_equal(sampling_low(&sampling, 7), 7); /* all packets were sampled */
	assert_int_equal(sampling_high(&sampling, 7), 7);
	sampling.weight = 4;
	assert_int_equal(sampling_low(&sampling, 0), 0);
	assert_true(sampling_high(&sampling, 0) > 4 * 6);
	assert_true(sampling_high(&sampling, 0) < 200);
	assert_int_equal(sampling_high(&sampling, 1000000), 1000001); /* all packets, rounded up */
	sampling.log_inverse = INFINITY;                              /* certainty */
	assert_true(sampling_low(&sampling, 400) <= 100);
	assert_true(sampling_low(&sampling, 400) >= 99);
	assert_true(sampling_high(&sampling, 400) >= 1000000);
	/* Beyond the precision of a double. */
	sampling = (struct sampling_bound){2, 1514, 0x1p63, log(1000)};
	assert_true(sampling_high(&sampling, UINT64_C(1) << 62) > UINT64_C(1) << 62);
	assert_true(sampling_low(&sampling, UINT64_C(1) << 62) < UINT64_C(1) << 62);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_unseen),
		cmocka_unit_test(test_all_counts),
		cmocka_unit_test(test_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
