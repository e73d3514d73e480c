/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Split and single counters, compared with plain 64-bit sums: the same values, the same deferred
 * packets and the same estimates, where a low part fills, where its rest fills, and at the maximum.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sketch/counter_rows.h"
#include "sketch/error_bound.h"
#include "sketch/row_index.h"
#include "zipf_stream.h"

#define STEPS       6000
#define BUCKET_BITS 3

struct trial {
	struct sketch_params params;
	struct counter_rows rows;
	void *memory;
	size_t size;
	uint64_t *plain; /* [cells] */
	uint64_t cells, most;
	uint64_t random;
	uint64_t admission[1 << BUCKET_BITS];
	struct key_burst burst;
	struct key_weights weights;
	uint8_t packets[BURST_MAX];
};

static uint64_t draw(struct trial *trial, uint64_t n)
{
	return zipf_random(&trial->random) % n;
}

/*
 * Returns a small value, or one near a boundary: where a low part of 16 or 32 bits, its rest, or
 * the whole counter is half full or full.
 */
static uint64_t draw_value(struct trial *trial)
{
	static const uint8_t turns[] = {15, 16, 17, 31, 32, 33, 47, 48, 63, 64};
	uint64_t turn = turns[draw(trial, sizeof(turns))], value = draw(trial, 300);

	if (draw(trial, 4) != 0)
		value = (turn < 64 ? UINT64_C(1) << turn : 0) - 150 + value;
	return value < trial->most ? value : trial->most;
}

static uint64_t sum(const struct trial *trial, uint64_t a, uint64_t b)
{
	return b < trial->most - a ? a + b : trial->most;
}

static uint64_t cell(const struct trial *trial, const struct key_hash *hash, uint32_t row)
{
	return ((uint64_t)row << trial->rows.bits) +
	       row_index(hash, row, trial->rows.stride, trial->rows.bits);
}

static uint64_t least(const struct trial *trial, const struct key_hash *hash)
{
	uint64_t value = UINT64_MAX;

	for (uint32_t row = 0; row < trial->rows.depth; row++) {
		uint64_t other = trial->plain[cell(trial, hash, row)];

		value = other < value ? other : value;
	}
	return value;
}

static void add(struct trial *trial, const struct key_hash *hash, uint64_t amount)
{
	for (uint32_t row = 0; row < trial->rows.depth; row++) {
		uint64_t *value = &trial->plain[cell(trial, hash, row)];

		*value = sum(trial, *value, amount);
	}
}

static void check_values(const struct trial *trial)
{
	for (uint64_t i = 0; i < trial->cells; i++) {
		assert_true(counter_rows_value(&trial->rows, i) == trial->plain[i]);
		assert_true(counter_rows_at(&trial->rows, i) == trial->plain[i]);
	}
}

static void open_trial(struct trial *trial, struct sketch_params params, uint64_t seed)
{
	memset(trial, 0, sizeof(*trial));
	assert_null(counter_rows_check(&params));
	trial->params = params;
	trial->size = counter_rows_size(&params);
	trial->memory = sketch_allocator_malloc.alloc(trial->size, NULL);
	assert_non_null(trial->memory);
	counter_rows_init(&trial->rows, &params, trial->memory);
	trial->cells = params.depth * params.width;
	trial->most = counter_rows_max(&trial->rows);
	trial->plain = calloc(trial->cells, sizeof(*trial->plain));
	assert_non_null(trial->plain);
	trial->random = seed;
	check_values(trial);
}

static void close_trial(struct trial *trial)
{
	sketch_allocator_malloc.free(trial->memory, trial->size, NULL);
	free(trial->plain);
}

static void set_some(struct trial *trial)
{
	for (uint64_t i = 0; i < trial->cells; i++)
		if (draw(trial, 4) == 0) {
			trial->plain[i] = draw_value(trial);
			counter_rows_set(&trial->rows, i, trial->plain[i]);
		}
}

/* Few keys, so that a burst has equal ones. */
static void draw_burst(struct trial *trial)
{
	struct key_burst *burst = &trial->burst;
	uint64_t nb_keys = 1 + draw(trial, 200);

	burst->weights = &trial->weights;
	burst->n = 1 + (uint32_t)draw(trial, BURST_MAX);
	for (uint32_t i = 0; i < burst->n; i++) {
		uint64_t key = 1 + draw(trial, nb_keys);

		burst->hash[i].lo = zipf_random(&key);
		burst->hash[i].hi = zipf_random(&key);
		burst->wire_len[i] = (uint32_t)draw(trial, draw(trial, 2) == 0 ? 1500 : UINT32_MAX);
		trial->weights.packets[i] = 1 + draw_value(trial) / (1 + draw(trial, 9));
		trial->weights.bytes[i] = draw_value(trial);
		trial->packets[i] = (uint8_t)i;
	}
	for (uint32_t b = 0; b < 1 << BUCKET_BITS; b++)
		trial->admission[b] =
			draw(trial, 3) == 0 ? UINT64_MAX : draw_value(trial) + draw(trial, 2);
}

static uint64_t amount_of(const struct trial *trial, uint32_t i, bool weighted)
{
	bool packets = trial->params.metric == SKETCH_PACKETS;

	if (weighted)
		return packets ? trial->weights.packets[i] : trial->weights.bytes[i];
	return packets ? 1 : trial->burst.wire_len[i];
}

static void offer(struct trial *trial, enum counter_policy policy, bool weighted)
{
	struct counter_offer offer = {
		.burst = &trial->burst,
		.packets = trial->packets,
		.n = trial->burst.n,
		.admission_shift = 64 - BUCKET_BITS,
		.admission = trial->admission,
	};
	uint64_t before = 0, estimate = 0;
	uint32_t k, held;

	for (k = 0; k < offer.n; k++) {
		const struct key_hash *hash = &trial->burst.hash[k];
		uint64_t amount = amount_of(trial, k, weighted);

		estimate = least(trial, hash);
		/* With 64 bits: also a full 32-bit counter. */
		if (amount >= UINT64_MAX - estimate ||
			estimate + amount >= trial->admission[hash->hi >> (64 - BUCKET_BITS)])
			break;
		add(trial, hash, amount);
	}
	held = weighted ? counter_rows_offer_weighted(&trial->rows, &offer, policy)
			: counter_rows_offer(&trial->rows, &offer, policy, &before);
	assert_int_equal(held, k);
	if (k < offer.n && !weighted)
		assert_true(before == (estimate < trial->most ? estimate : UINT64_MAX));
}

static void add_keys(struct trial *trial, enum counter_policy policy)
{
	for (uint32_t i = 0; i < trial->burst.n; i++) {
		add(trial, &trial->burst.hash[i], trial->weights.bytes[i]);
		counter_rows_add_key(
			&trial->rows, &trial->burst.hash[i], trial->weights.bytes[i], policy);
	}
}

static void add_all(struct trial *trial, bool weighted)
{
	for (uint32_t i = 0; i < trial->burst.n; i++)
		add(trial, &trial->burst.hash[i], amount_of(trial, i, weighted));
	if (weighted)
		counter_rows_add_weighted(&trial->rows, &trial->burst);
	else
		counter_rows_add(&trial->rows, &trial->burst);
}

/* Also merges rows of the other layout. */
static void merge(struct trial *trial)
{
	struct sketch_params params = trial->params;
	struct trial *other = aligned_alloc(64, sizeof(*other));

	assert_non_null(other);
	params.writers = 1 + (uint32_t)draw(trial, 2);
	open_trial(other, params, trial->random);
	set_some(other);
	counter_rows_merge(&trial->rows, &other->rows);
	for (uint64_t i = 0; i < trial->cells; i++)
		trial->plain[i] = sum(trial, trial->plain[i], other->plain[i]);
	check_values(other);
	close_trial(other);
	free(other);
}

static void check_sums(struct trial *trial)
{
	uint32_t n = trial->params.width < 1024 ? (uint32_t)trial->params.width : 1024;
	uint64_t first = draw(trial, trial->cells / n) * n;
	uint64_t sums[1024], largest = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t value = trial->plain[first + i];

		sums[i] = i;
		largest = value > largest ? value : largest;
	}
	assert_int_equal(
		counter_rows_sum(&trial->rows, first, n, sums), largest < trial->rows.full);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t value = trial->plain[first + i];

		assert_true(sums[i] == (value < UINT64_MAX - i ? value + i : UINT64_MAX));
	}
}

static void check_total(const struct trial *trial)
{
	uint64_t total = 0;

	for (uint32_t row = 0; row < trial->params.depth; row++) {
		uint64_t of_row = 0;

		for (uint64_t i = 0; i < trial->params.width; i++)
			of_row += trial->plain[row * trial->params.width + i];
		if (row > 0 && of_row != total) {
			assert_true(counter_rows_total(&trial->rows) == UINT64_MAX);
			return;
		}
		total = of_row;
	}
	assert_true(counter_rows_total(&trial->rows) == total);
}

static void check_bound(const struct trial *trial)
{
	uint64_t width = trial->params.width;
	struct row_histogram *rows = calloc(trial->params.depth, sizeof(*rows));

	assert_non_null(rows);
	for (uint32_t r = 0; r < trial->params.depth; r++)
		row_histogram_add(&rows[r], &trial->plain[r * width], (uint32_t)width, trial->most);
	assert_true(counter_rows_bound(&trial->rows, 1000, 0.99, &sketch_allocator_malloc) ==
		    error_bound(rows, trial->params.depth, width, 1000, 0.99));
	free(rows);
}

static void reset(struct trial *trial)
{
	counter_rows_reset(&trial->rows);
	memset(trial->plain, 0, trial->cells * sizeof(*trial->plain));
	for (size_t i = 0; i < trial->size; i++)
		assert_int_equal(((uint8_t *)trial->memory)[i], 0);
}

static void check_trial(struct sketch_params params, enum counter_policy policy, uint64_t seed)
{
	struct trial *trial = aligned_alloc(64, sizeof(*trial));

	assert_non_null(trial);
	open_trial(trial, params, seed);
	for (uint32_t step = 0; step < STEPS; step++) {
		uint64_t what = draw(trial, 100);

		draw_burst(trial);
		if (what < 60)
			offer(trial, policy, what < 20);
		else if (what < 70)
			add_all(trial, what < 65);
		else if (what < 80)
			add_keys(trial, policy);
		else if (what < 90)
			set_some(trial);
		else if (what < 98)
			merge(trial);
		else
			reset(trial);
		check_values(trial);
		check_sums(trial);
		if (step % 16 == 0) {
			check_total(trial);
			check_bound(trial);
		}
	}
	close_trial(trial);
	free(trial);
}

static void check_shapes(uint32_t writers, enum counter_policy policy)
{
	static const struct sketch_params shapes[] = {
		{.depth = 4, .width = 16},
		{.depth = 4, .width = 128},
		{.depth = 3, .width = 64},
		{.depth = 5, .width = 256},
	};

	for (uint32_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		struct sketch_params params = shapes[s];

		params.writers = writers;
		for (params.metric = SKETCH_PACKETS; params.metric <= SKETCH_BYTES; params.metric++)
			check_trial(params, policy, s + 1);
	}
}

static void test_in_parts(void **state)
{
	(void)state;
	check_shapes(1, COUNTER_OWNED);
}

static void test_in_one(void **state)
{
	(void)state;
	check_shapes(2, COUNTER_CAS);
}

/* Sizes that plan reports. */
static void test_size(void **state)
{
	struct sketch_params params = {.depth = 4, .width = 1 << 16, .writers = 1};

	(void)state;
	assert_int_equal(counter_rows_size(&params), (4 << 16) * 4 + (4 << 16) / 8);
	params.metric = SKETCH_BYTES;
	assert_int_equal(counter_rows_size(&params), (4 << 16) * 8 + (4 << 16) / 8);
	params.writers = 2;
	assert_int_equal(counter_rows_size(&params), (4 << 16) * 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_parts),
		cmocka_unit_test(test_in_one),
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
