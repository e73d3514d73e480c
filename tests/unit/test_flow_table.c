/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The flow table, compared with exact counts: what it holds, what it sheds when full, and that
 * burst sizes and the number of buckets make no difference.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "flow_truth.h"
#include "make_sketch.h"

static struct sketch *make(struct sketch_params params)
{
	params.seed = SEED;
	return make_sketch(&flow_table_ops, params);
}

static void check_exact(struct sketch_params params, enum sketch_sharing sharing)
{
	struct sketch *sketch = make(params);

	feed(&flow_table_ops, sketch, BURST_MAX, sharing);
	list(sketch, &listed);
	assert_int_equal(listed.n, true_flows());
	assert_exact(&listed, sketch->params.ip_bytes);
	assert_finds(sketch);
	assert_true(flow_table_ops.lists_all_keys(sketch));
	assert_int_equal(flow_table_ops.shed(sketch).packets, 0);
	assert_int_equal(flow_table_ops.missed(sketch, NULL), 0);

	/* Once more after a reset. */
	flow_table_ops.reset(sketch);
	list(sketch, &listed);
	assert_int_equal(listed.n, 0);
	feed(&flow_table_ops, sketch, 5, sharing);
	list(sketch, &listed);
	assert_int_equal(listed.n, true_flows());
	assert_exact(&listed, sketch->params.ip_bytes);
	flow_table_ops.destroy(sketch);
}

/* Few and many buckets, both sharing modes. */
static void test_exact(void **state)
{
	static const uint64_t widths[] = {FLOWS, 4096, 3001, 1 << 16};

	(void)state;
	for (uint32_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
		struct sketch_params params = {.width = widths[w], .ip_bytes = w % 2 == 1};

		check_exact(params, SHARING_SEPARATE);
		for (params.atomic = ATOMIC_CAS; params.atomic <= ATOMIC_ADD; params.atomic++)
			check_exact(params, SHARING_SHARED);
	}
}

/* The same table in the same order for any burst sizes; full or not. */
static void test_burst_borders(void **state)
{
	static struct listing other;

	(void)state;
	for (uint64_t width = 512; width <= 4096; width *= 8) {
		struct sketch_params params = {.width = width};
		struct sketch *a = make(params), *b = make(params);

		feed(&flow_table_ops, a, 1, SHARING_SEPARATE);
		feed(&flow_table_ops, b, BURST_MAX, SHARING_SEPARATE);
		list(a, &listed);
		list(b, &other);
		assert_int_equal(listed.n, other.n);
		for (uint32_t i = 0; i < listed.n; i++) {
			assert_true(key_equal(&listed.list[i].key, &other.list[i].key));
			assert_int_equal(listed.list[i].packets, other.list[i].packets);
		}
		assert_int_equal(flow_table_ops.shed(a).packets, flow_table_ops.shed(b).packets);
		flow_table_ops.destroy(a);
		flow_table_ops.destroy(b);
	}
}

/* Stored flows stay exact; all other packets are counted as shed. */
static void test_full(void **state)
{
	(void)state;
	for (enum sketch_sharing sharing = 0; sharing < SHARING_COUNT; sharing++)
		for (enum sketch_metric metric = 0; metric <= SKETCH_BYTES; metric++) {
			struct sketch_params params = {
				.width = 256, .metric = metric, .ip_bytes = metric == SKETCH_BYTES};
			uint64_t packets = 0, bytes = 0;
			struct sketch_shed shed;
			struct sketch *sketch;

			sketch = make(params);
			feed(&flow_table_ops, sketch, BURST_MAX, sharing);
			list(sketch, &listed);
			assert_in_range(listed.n, 256, 512);
			assert_exact(&listed, sketch->params.ip_bytes);
			for (uint32_t f = 0; f < FLOWS; f++) {
				packets += listed.seen[f] ? 0 : truth.packets[f];
				bytes += listed.seen[f] ? 0 : truth.bytes[f];
			}
			shed = flow_table_ops.shed(sketch);
			assert_int_equal(shed.packets, packets);
			assert_int_equal(shed.bytes, bytes);
			assert_false(flow_table_ops.lists_all_keys(sketch));
			assert_int_equal(flow_table_ops.missed(sketch, NULL),
				metric == SKETCH_PACKETS ? packets : bytes);
			flow_table_ops.destroy(sketch);
		}
}

/* All keys in one bucket: as many as all buckets hold, and one more. */
static void fill_one_bucket(uint32_t step)
{
	enum { WIDTH = 1024 };
	struct sketch *sketch = make((struct sketch_params){.width = WIDTH});

	feed_one_bucket(&flow_table_ops, sketch, WIDTH + 1, step);
	assert_int_equal(((struct flow_table *)sketch)->used, 2 * WIDTH);
	flow_table_ops.destroy(sketch);
}

static void test_one_bucket(void **state)
{
	(void)state;
	fill_one_bucket(1);
	fill_one_bucket(FLOWS - 1);
	fill_one_bucket(1009);
}

static void test_modulo(void **state)
{
	static const uint32_t moduli[] = {
		2, 3, 16, 17, 1000, 65536, 1 << 30, 999999937, UINT32_MAX};
	uint64_t random = 9;

	(void)state;
	for (size_t m = 0; m < sizeof(moduli) / sizeof(moduli[0]); m++) {
		uint32_t n = moduli[m];
		uint64_t inverse = flow_modulus_inverse(n);
		const uint32_t corners[] = {0, 1, n - 1, n, n + 1, UINT32_MAX - 1, UINT32_MAX,
			UINT32_MAX / n * n, UINT32_MAX / n * n - 1};

		for (size_t c = 0; c < sizeof(corners) / sizeof(corners[0]); c++)
			assert_int_equal(flow_modulo(corners[c], n, inverse), corners[c] % n);
		for (int i = 0; i < 100000; i++) {
			uint32_t hash = (uint32_t)zipf_random(&random);

			assert_int_equal(flow_modulo(hash, n, inverse), hash % n);
		}
	}
}

/* Two IPv6 keys with one hash, and an IPv4 key with the bytes of an IPv6 key's hash. */
static void test_keys_are_compared(void **state)
{
	struct sketch *sketch = make((struct sketch_params){.width = 16});
	struct key keys[3] = {zipf_key(2), zipf_key(5), zipf_key(3)};
	struct key_hash hash = {0};
	static struct key_burst burst;

	(void)state;
	memcpy(&hash, &keys[2].v4, sizeof(hash));
	for (int round = 0; round < 3; round++) {
		burst.n = 0;
		for (int k = 0; k < 3; k++) {
			burst_append(&burst, &keys[k], &hash, 100);
			burst.time[k] = 0;
		}
		flow_table_ops.update[SHARING_SEPARATE](sketch, &burst);
	}
	/* Listing assigns different hashes. */
	list(sketch, &listed);
	assert_int_equal(listed.n, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(listed.list[i].packets, 3);
	flow_table_ops.destroy(sketch);
}

static void test_check(void **state)
{
	static const struct {
		uint32_t depth;
		uint64_t width;
		bool good;
	} shapes[] = {{0, 0, true}, {1, 16, true}, {1, 1000, true}, {1, 15, false}, {2, 16, false},
		{1, UINT64_C(1) << 30, true}, {1, (UINT64_C(1) << 30) + 1, false}};

	(void)state;
	assert_ptr_equal(sketch_find("flow-table"), &flow_table_ops);
	assert_ptr_equal(sketch_find("ft"), &flow_table_ops);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct sketch_params params = {.depth = shapes[i].depth, .width = shapes[i].width};

		assert_int_equal(flow_table_ops.check(&params) == NULL, shapes[i].good);
		if (i == 0)
			assert_int_equal(params.width, flow_table_ops.default_width);
	}
	assert_int_equal(
		sketch_width_for(&flow_table_ops, &(struct sketch_params){0}, 1 << 20), 4096);
	assert_int_equal(sketch_width_for(&flow_table_ops, &(struct sketch_params){0}, 1000), 0);
}

static void test_no_memory(void **state)
{
	(void)state;
	assert_none_without_memory(&flow_table_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_burst_borders),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_one_bucket),
		cmocka_unit_test(test_keys_are_compared),
		cmocka_unit_test(test_modulo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
