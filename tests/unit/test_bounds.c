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
#include "merged.h"
#include "sketch/count_min.h"
#include "sketch/error_bound.h"
#include "zipf_stream.h"

#define CELLS  512
#define DEPTH  3
#define EPOCHS FEWER(300, 60)

static double share_above(const uint64_t *row, uint64_t value)
{
	uint32_t above = 0;

	for (uint32_t i = 0; i < CELLS; i++)
		above += row[i] > value;
	return (double)above / CELLS;
}

static bool holds(uint64_t rows[DEPTH][CELLS], uint64_t value, uint64_t keys, double confidence)
{
	double expected = (double)keys;

	for (uint32_t r = 0; r < DEPTH; r++)
		expected *= share_above(rows[r], value);
	return expected <= 1 - confidence;
}

/* Finds the least bound by trying all counters. It is 0 or one of the counters. */
static uint64_t least_bound(uint64_t rows[DEPTH][CELLS], uint64_t keys, double confidence)
{
	uint64_t least = UINT64_MAX;

	if (holds(rows, 0, keys, confidence))
		return 0;
	for (uint32_t i = 0; i < DEPTH * CELLS; i++) {
		uint64_t value = rows[i / CELLS][i % CELLS];

		if (value < least && holds(rows, value, keys, confidence))
			least = value;
	}
	return least;
}

/* The bound is never below the least bound, and above it by at most the width of a step. */
static void check_against_least(
	uint64_t rows[DEPTH][CELLS], uint32_t bits, uint64_t keys, double confidence)
{
	struct row_histogram *histograms = calloc(DEPTH, sizeof(*histograms));
	uint64_t least = least_bound(rows, keys, confidence), bound;

	for (uint32_t r = 0; r < DEPTH; r++)
		row_histogram_add(
			&histograms[r], rows[r], CELLS, bits <= 32 ? UINT32_MAX : UINT64_MAX);
	bound = error_bound(histograms, DEPTH, CELLS, keys, confidence);
	assert_true(bound >= least);
	assert_true(bound - least <= least / ROW_HISTOGRAM_STEPS);
	if (least < ROW_HISTOGRAM_EXACT)
		assert_int_equal(bound, least);
	free(histograms);
}

static void test_least_bound(void **state)
{
	static const double confidences[] = {0.5, 0.99, 0.999999, 1};
	static uint64_t rows[DEPTH][CELLS];
	uint64_t random = 6;

	(void)state;
	for (uint32_t bits = 1; bits <= 64; bits++) {
		for (uint32_t i = 0; i < DEPTH * CELLS; i++)
			rows[i / CELLS][i % CELLS] =
				zipf_random(&random) >> (63 - (zipf_random(&random) % bits)) >> 1;
		for (uint64_t keys = 1; keys < 10000000; keys *= 100)
			for (uint32_t c = 0; c < 4; c++)
				check_against_least(rows, bits, keys, confidences[c]);
	}
	memset(rows, 0, sizeof(rows));
	check_against_least(rows, 32, 0, 0.999);
	check_against_least(rows, 64, 1000, 0.999);
}

static uint64_t bound_of(struct sketch *sketch, uint64_t keys, double confidence)
{
	return count_min_ops.error_bound(sketch, keys, confidence);
}

static void check_saturated(enum sketch_metric metric)
{
	struct sketch_params params = {
		.width = 1024, .metric = metric, .allocator = sketch_allocator_malloc};
	struct sketch *sketch;
	struct count_min *cm;

	assert_null(count_min_ops.check(&params));
	sketch = count_min_ops.create(&params);
	assert_non_null(sketch);
	cm = (struct count_min *)sketch;
	for (uint32_t i = 0; i < 4 * 1024; i++) {
		/*
		 * One saturated counter in each row leaves a bound for few keys, but not for many.
		 */
		bool saturated = i % 1024 == 7;

		counter_rows_set(
			&cm->counters, i, saturated ? counter_rows_max(&cm->counters) : 50);
	}
	assert_int_equal(bound_of(sketch, 1000, 0.999), 50);
	assert_int_equal(bound_of(sketch, UINT64_C(1) << 40, 0.999), UINT64_MAX);
	assert_int_equal(bound_of(sketch, 1, 1), UINT64_MAX);
	for (uint32_t i = 0; i < 4 * 1024; i++)
		counter_rows_set(&cm->counters, i, counter_rows_max(&cm->counters));
	assert_int_equal(bound_of(sketch, 1, 0.5), UINT64_MAX);
	count_min_ops.destroy(sketch);
}

static void test_saturated_counters(void **state)
{
	(void)state;
	check_saturated(SKETCH_PACKETS);
	check_saturated(SKETCH_BYTES);
}

struct rate {
	uint32_t epochs, broken, broken_by_half;
	double bound;  /* sum over epochs */
	double markov; /* sum of the bound by Markov's inequality, jointly for all keys */
};

/*
 * Returns the rate of epochs in which the estimate of at least one key is off by more than the
 * bound.
 */
static struct rate measure_rate(const struct sketch_params *shape, double confidence)
{
	struct sketch_params params = *shape;
	struct zipf_stream stream;
	struct rate rate = {.epochs = EPOCHS};
	struct sketch *sketch;

	params.allocator = sketch_allocator_malloc;
	assert_null(count_min_ops.check(&params));
	sketch = count_min_ops.create(&params);
	assert_non_null(sketch);
	zipf_open(&stream, 8000, 1.0, 0);
	for (uint32_t epoch = 0; epoch < rate.epochs; epoch++) {
		uint64_t keys = 0, whole = 0, worst = 0, bound;
		struct sketch *merged;

		zipf_restart(&stream, 1000 + epoch);
		count_min_ops.reset(sketch);
		for (uint32_t b = 0; b < 300; b++) {
			struct key_burst burst = {0};

			while (burst.n < BURST_MAX)
				zipf_append(&stream, &burst, zipf_draw(&stream));
			count_min_ops.update[SHARING_SEPARATE](sketch, &burst);
		}
		assert_int_equal(bound_of(sketch, 1, 0.5), UINT64_MAX); /* it lists keys */
		merged = merged_of(sketch);
		for (uint32_t f = 0; f < stream.nb_flows; f++) {
			uint64_t truth = params.metric == SKETCH_PACKETS ? stream.packets[f]
									 : stream.bytes[f];
			uint64_t estimate = count_min_ops.query(merged, &stream.hash[f]).value;

			assert_true(estimate >= truth);
			if (truth == 0)
				continue;
			keys++;
			whole += truth;
			worst = estimate - truth > worst ? estimate - truth : worst;
		}
		bound = bound_of(merged, keys, confidence);
		count_min_ops.destroy(merged);
		rate.broken += worst > bound;
		rate.broken_by_half += worst > bound / 2;
		rate.bound += (double)bound;
		rate.markov += (double)whole / (double)params.width *
			       pow((double)keys / (1 - confidence), 1.0 / params.depth);
	}
	zipf_close(&stream);
	count_min_ops.destroy(sketch);
	return rate;
}

/* The rate is at most the stated one plus four standard deviations, and no bound is vacuous. */
static void check_rate(const struct sketch_params *params, double confidence)
{
	struct rate rate = measure_rate(params, confidence);
	double mean = rate.epochs * (1 - confidence);
	double allowed = mean + 4 * sqrt(mean * confidence);

	print_message("# %s, %u x %u, confidence %.2f: broken %u of %u (half of it: %u), "
		      "mean bound %.0f, Markov's %.0f\n",
		params->metric == SKETCH_PACKETS ? "packets" : "bytes", params->depth,
		(unsigned int)params->width, confidence, rate.broken, rate.epochs,
		rate.broken_by_half, rate.bound / rate.epochs, rate.markov / rate.epochs);
	assert_true(rate.broken <= allowed);
	assert_true(rate.broken_by_half > allowed);
	assert_true(rate.bound < rate.markov / 4);
}

static void test_rate(void **state)
{
	(void)state;
	check_rate(&(struct sketch_params){.depth = 4, .width = 2048}, 0.9);
	check_rate(&(struct sketch_params){.depth = 4, .width = 2048}, 0.99);
	check_rate(&(struct sketch_params){.depth = 3, .width = 1024}, 0.9);
	check_rate(&(struct sketch_params){.depth = 6, .width = 512}, 0.9);
	check_rate(&(struct sketch_params){.depth = 4, .width = 2048, .metric = SKETCH_BYTES}, 0.9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_least_bound),
		cmocka_unit_test(test_saturated_counters),
		cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
