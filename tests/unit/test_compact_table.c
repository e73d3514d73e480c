/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The compact table, compared with exact counts: stored keys, shed keys, weights, memory, and the
 * width for the next interval.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sketch/compact_table.h"
#include "sketch/slot_group.h"

#include "flow_truth.h"
#include "make_sketch.h"

#define WIDTH_SMALL 256

static const struct sketch_ops *const ops = &compact_table_ops;

static struct sketch *make(struct sketch_params params)
{
	params.seed = SEED;
	return make_sketch(ops, params);
}

/* An IPv6 key takes two records. */
static uint32_t true_cells(void)
{
	uint32_t cells = 0;

	for (uint32_t f = 0; f < FLOWS; f++)
		cells += truth.packets[f] == 0 ? 0 : f % 3 == 2 ? 2 : 1;
	return cells;
}

static void check_exact(uint64_t width, bool ip_bytes)
{
	struct sketch *sketch = make((struct sketch_params){.width = width, .ip_bytes = ip_bytes});

	/* Again after a reset. */
	for (uint32_t longest = BURST_MAX; longest > 0; longest /= 8) {
		feed(ops, sketch, longest, SHARING_SEPARATE);
		list(sketch, &listed);
		assert_int_equal(listed.n, true_flows());
		assert_exact(&listed, ip_bytes);
		assert_finds(sketch);
		assert_true(ops->lists_all_keys(sketch));
		assert_int_equal(ops->missed(sketch, NULL), 0);
		ops->reset(sketch);
		list(sketch, &listed);
		assert_int_equal(listed.n, 0);
	}
	ops->destroy(sketch);
}

/* From a table without a free record to a nearly empty one. */
static void test_exact(void **state)
{
	struct sketch *sketch = make((struct sketch_params){.width = 2 * FLOWS});

	(void)state;
	feed(ops, sketch, 1, SHARING_SEPARATE);
	ops->destroy(sketch);
	check_exact(true_cells(), false);
	check_exact(true_cells(), true);
	check_exact(true_cells() + 1, false);
	check_exact(1 << 16, true);
}

/* The same records in the same order for any burst sizes; full or not. */
static void test_burst_borders(void **state)
{
	static struct listing other;

	(void)state;
	for (uint64_t width = 500; width <= 8000; width *= 16) {
		struct sketch *a = make((struct sketch_params){.width = width});
		struct sketch *b = make((struct sketch_params){.width = width});

		feed(ops, a, 1, SHARING_SEPARATE);
		feed(ops, b, BURST_MAX, SHARING_SEPARATE);
		list(a, &listed);
		list(b, &other);
		assert_int_equal(listed.n, other.n);
		for (uint32_t i = 0; i < listed.n; i++) {
			assert_true(key_equal(&listed.list[i].key, &other.list[i].key));
			assert_int_equal(listed.list[i].packets, other.list[i].packets);
		}
		assert_int_equal(ops->shed(a).packets, ops->shed(b).packets);
		ops->destroy(a);
		ops->destroy(b);
	}
}

/* Stored keys are exact, all other packets are shed, and few records are left free. */
static void check_full(uint64_t width, enum sketch_metric metric)
{
	struct sketch *sketch = make((struct sketch_params){
		.width = width, .metric = metric, .ip_bytes = metric == SKETCH_BYTES});
	uint64_t packets = 0, bytes = 0, cells = 0, most;
	struct sketch_shed shed;

	feed(ops, sketch, BURST_MAX, SHARING_SEPARATE);
	list(sketch, &listed);
	assert_exact(&listed, metric == SKETCH_BYTES);
	for (uint32_t f = 0; f < FLOWS; f++) {
		packets += listed.seen[f] ? 0 : truth.packets[f];
		bytes += listed.seen[f] ? 0 : truth.bytes[f];
		cells += !listed.seen[f] ? 0 : f % 3 == 2 ? 2 : 1;
	}
	assert_int_equal(cells, width);
	shed = ops->shed(sketch);
	assert_int_equal(shed.packets, packets);
	assert_int_equal(shed.bytes, bytes);
	assert_false(ops->lists_all_keys(sketch));
	most = metric == SKETCH_PACKETS ? packets : bytes;
	assert_int_equal(ops->missed(sketch, NULL), most);
	assert_int_equal(ops->unlisted((struct sketch *[]){sketch, sketch}, 2), 2 * most);
	ops->destroy(sketch);
}

static void test_full(void **state)
{
	(void)state;
	for (enum sketch_metric metric = 0; metric <= SKETCH_BYTES; metric++)
		for (uint64_t width = WIDTH_SMALL; width < WIDTH_SMALL + 8; width++)
			check_full(width, metric);
}

/* Keys with one hash share a tag, and a search continues at the first slot after the last. */
static void test_one_chain(void **state)
{
	static const uint64_t hashes[] = {0, 5, UINT32_MAX, UINT64_MAX};

	(void)state;
	for (size_t h = 0; h < sizeof(hashes) / sizeof(hashes[0]); h++) {
		static struct key_burst burst;
		struct sketch *sketch = make((struct sketch_params){.width = 1000});

		for (uint32_t flow = 0; flow < 2 * 750; flow++) {
			struct key key = zipf_key(flow % 750);
			struct key_hash hash = {.lo = hashes[h]};

			burst.n = 0;
			burst_append(&burst, &key, &hash, 60);
			ops->update[SHARING_SEPARATE](sketch, &burst);
		}
		assert_int_equal(ops->shed(sketch).packets, 0);
		list(sketch, &listed);
		assert_int_equal(listed.n, 750);
		for (uint32_t i = 0; i < listed.n; i++)
			assert_int_equal(listed.list[i].packets, 2);
		ops->destroy(sketch);
	}
}

static void add_weight(struct sketch *sketch, uint64_t packets, uint64_t bytes, uint32_t shift)
{
	static struct key_burst burst;
	struct key_weights weights = {.packets = {packets}, .bytes = {bytes}, .shift = shift};
	struct key key = zipf_key(0);
	struct key_hash hash = {.lo = 1};

	burst.n = 0;
	burst_append(&burst, &key, &hash, 60);
	burst.weights = &weights;
	ops->update_weighted[SHARING_SEPARATE](sketch, &burst);
}

/* A saturated count is a lower bound, and its upper bound is unknown. */
static void test_weights(void **state)
{
	const uint64_t most = UINT64_MAX >> 8;

	(void)state;
	for (enum sketch_metric metric = 0; metric <= SKETCH_BYTES; metric++) {
		struct sketch *sketch = make((struct sketch_params){.width = 16, .metric = metric});

		add_weight(sketch, most - 5, 600, 0);
		add_weight(sketch, 4, 400, 0);
		list(sketch, &listed);
		assert_int_equal(listed.list[0].packets, most - 1);
		assert_int_equal(listed.list[0].bytes, 1000);
		assert_int_equal(listed.list[0].before, 0);
		add_weight(sketch, 9, UINT64_MAX, 0);
		list(sketch, &listed);
		assert_int_equal(listed.n, 1);
		assert_int_equal(listed.list[0].packets, most);
		assert_true(listed.list[0].bytes >= UINT64_C(1) << 63);
		assert_true(listed.list[0].before == UINT64_MAX);
		ops->destroy(sketch);
	}
}

/* Zha et al. 2022, Table 1: FCAP takes 149.58 KB of 1024 bytes for 2550 flows, 60 bytes each. */
static void test_memory(void **state)
{
	static const struct {
		uint64_t flows;
		double most;
	} rows[] = {
		{2550, 149.58 * 1024}, {10000, 60 * 1e4}, {123457, 60 * 123457.}, {1000000, 60e6}};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct sketch *sketch = make((struct sketch_params){
			.width = 2 * rows[r].flows, .width_max = UINT64_C(1) << 30, .load = 0.92});
		struct sketch_params fitted = sketch->params;
		uint64_t flows;

		for (flows = 0; flows < rows[r].flows; flows++) {
			static struct key_burst burst;
			struct key key = {.family = KEY_IPV4};
			struct key_hash hash;

			memcpy(key.v4.src_ip, &(uint32_t){(uint32_t)flows}, sizeof(uint32_t));
			hash = (struct key_hash){.lo = flows * UINT64_C(0x9e3779b97f4a7c15)};
			burst.n = 0;
			burst_append(&burst, &key, &hash, 60);
			ops->update[SHARING_SEPARATE](sketch, &burst);
		}
		fitted.width = ops->fit(sketch).width;
		assert_true(fitted.width > flows);
		assert_true((double)ops->memory(&fitted) <= rows[r].most);
		ops->destroy(sketch);
	}
}

/* A table that shed keys is followed by one of 4 times its width, within the limit. */
static void test_fit(void **state)
{
	struct sketch_params params = {.width = 256, .width_max = 5000, .load = 0.5};
	struct sketch *sketch = make(params);

	(void)state;
	assert_int_equal(ops->fit(sketch).width, 256);
	feed(ops, sketch, BURST_MAX, SHARING_SEPARATE);
	assert_int_equal(ops->fit(sketch).width, 1024);
	ops->destroy(sketch);

	params.width = 4096;
	sketch = make(params);
	feed(ops, sketch, BURST_MAX, SHARING_SEPARATE);
	assert_int_equal(ops->fit(sketch).width, 5000);
	ops->destroy(sketch);

	params.width_max = 1 << 20;
	sketch = make(params);
	feed(ops, sketch, BURST_MAX, SHARING_SEPARATE);
	assert_in_range(ops->fit(sketch).width, 2 * true_cells(), 2 * true_cells() * 33 / 32 + 1);
	ops->destroy(sketch);

	params.load = 0;
	sketch = make(params);
	assert_int_equal(ops->fit(sketch).width, 4096);
	ops->destroy(sketch);
}

/* Random slots, of which many have the tag. */
static void test_slot_group(void **state)
{
	_Alignas(64) uint32_t slots[SLOT_GROUP];
	uint64_t random = 5;

	(void)state;
	for (uint32_t t = 0; t < 10000; t++) {
		uint32_t mask = UINT32_MAX << zipf_random(&random) % 31;
		uint32_t tag = (uint32_t)zipf_random(&random) & mask, expected = 0;

		for (uint32_t i = 0; i < SLOT_GROUP; i++) {
			bool same = zipf_random(&random) % 3 == 0;
			uint32_t other = (uint32_t)zipf_random(&random);

			slots[i] = same ? tag | (other & ~mask) : other;
			expected |= (uint32_t)((slots[i] & mask) == tag) << i;
		}
		assert_int_equal(slot_group_match(slots, mask, tag), expected);
		assert_int_equal(slot_group_match_portable(slots, mask, tag), expected);
	}
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
	assert_ptr_equal(sketch_find("compact-table"), ops);
	assert_ptr_equal(sketch_find("ct"), ops);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct sketch_params params = {.depth = shapes[i].depth, .width = shapes[i].width};

		assert_int_equal(ops->check(&params) == NULL, shapes[i].good);
	}
	assert_non_null(
		sketch_inapplicable(ops, &(struct sketch_params){0}, SHARING_SHARED, false));
	assert_none_without_memory(ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_slot_group),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_burst_borders),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_one_chain),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
