/* SPDX-License-Identifier: BSD-3-Clause */

/* Guarantees of the published sketches that sketchtap-bench compares with. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/common.h"
#include "bench/published.h"
#include "sketch/row_index.h"
#include "bench/bench_rounds.h"

#define SEED 1

static const struct bench_subject_ops *find(const char *name)
{
	const struct published *sketch = published;

	while (sketch->name != NULL && strcmp(sketch->name, name) != 0)
		sketch++;
	assert_non_null(sketch->name);
	return sketch->ops;
}

static struct workload *create(uint64_t flows, uint64_t packets)
{
	struct workload_spec spec = {
		.flows = flows, .zipf_e6 = 1050000, .packets = packets, .seed = 7};
	struct workload *workload = workload_create(&spec, SEED);

	assert_non_null(workload);
	return workload;
}

/* Returns a sketch that has counted the workload. */
static void *count(const struct bench_subject_ops *ops, const struct workload *workload,
	uint64_t width, uint64_t seed)
{
	const struct bench_subject subject = {.ops = ops, .threads = 1};
	const struct bench_rounds setup = {.workload = workload, .width = width, .seed = seed};
	struct key_burst burst;
	void *state = ops->open(&subject, &setup);

	assert_non_null(state);
	workload_burst_init(&burst);
	for (uint64_t b = 0; b < workload_bursts(workload); b++) {
		workload_load(workload, b, &burst);
		hash_burst(&workload->hash_key, &burst);
		ops->feed(state, 0, &burst);
	}
	return state;
}

static uint32_t top_of(const struct bench_subject_ops *ops, void *state,
	const struct workload *workload, struct bench_subject_flow *flows)
{
	uint32_t n = ops->top(state, workload, flows, WORKLOAD_TOP_MOST);

	assert_in_range(n, 1, WORKLOAD_TOP_MOST);
	for (uint32_t i = 1; i < n; i++)
		assert_true(flows[i - 1].packets >= flows[i].packets);
	return n;
}

/* With few flows, each has its own entry. */
static void few_flows_are_counted_exactly(void **state)
{
	enum { PACKETS = 640000 };
	static struct bench_subject_flow flows[WORKLOAD_TOP_MOST];
	struct workload *workload = create(300, PACKETS);

	(void)state;
	for (const struct published *sketch = published; sketch->name != NULL; sketch++) {
		void *counted = count(sketch->ops, workload, 1 << 16, SEED);
		uint64_t total;
		uint32_t n = top_of(sketch->ops, counted, workload, flows);

		assert_int_equal(n, workload->distinct);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(flows[i].packets, workload_truth(workload, &flows[i].key));
		assert_true(sketch->ops->total(counted, &total));
		assert_int_equal(total, PACKETS);
		sketch->ops->close(counted);
	}
	workload_destroy(workload);
}

/* None takes more memory than Count-Min, or less than a third of it. */
static void none_takes_more_memory_than_count_min(void **state)
{
	const struct sketch_ops *ops = sketch_find("count-min");
	struct workload *workload = create(100, 640);

	(void)state;
	for (uint64_t width = 1 << 10; width <= 1 << 18; width *= 4) {
		struct sketch_params params = {.width = width};

		assert_null(ops->check(&params));
		for (const struct published *sketch = published; sketch->name != NULL; sketch++) {
			void *counted = count(sketch->ops, workload, width, SEED);

			assert_in_range(sketch->ops->memory(counted), ops->memory(&params) / 3,
				ops->memory(&params));
			sketch->ops->close(counted);
		}
	}
	workload_destroy(workload);
}

/* Both variants, compared with rows of plain counters: the same estimate for each reported key. */
static void octosketch_is_count_min(void **state)
{
	enum { ROWS = 3, BITS = 10, PACKETS = 640000 };
	static const char *const names[] = {"octosketch", "octosketch 63"};
	static uint32_t rows[ROWS][1 << BITS];
	static struct bench_subject_flow flows[WORKLOAD_TOP_MOST];
	struct workload *workload = create(20000, PACKETS);
	struct key key = {.family = KEY_IPV4};

	(void)state;
	memset(rows, 0, sizeof(rows));
	for (uint64_t i = 0; i < PACKETS; i++) {
		struct key_hash hash;

		key.v4 = workload->keys[i];
		hash = hash_one(&workload->hash_key, &key);
		for (uint32_t row = 0; row < ROWS; row++)
			rows[row][row_index(&hash, row, ROW_LANE_BITS, BITS)]++;
	}
	for (uint32_t s = 0; s < 2; s++) {
		const struct bench_subject_ops *ops = find(names[s]);
		void *counted = count(ops, workload, 1 << BITS, SEED);
		uint64_t total;
		uint32_t n;

		assert_true(ops->total(counted, &total));
		assert_int_equal(total, PACKETS);
		n = top_of(ops, counted, workload, flows);
		assert_int_equal(n, WORKLOAD_TOP_MOST);
		for (uint32_t i = 0; i < n; i++) {
			struct key_hash hash;
			uint32_t least = UINT32_MAX;

			key.v4 = flows[i].key;
			hash = hash_one(&workload->hash_key, &key);
			for (uint32_t row = 0; row < ROWS; row++) {
				uint32_t one =
					rows[row][row_index(&hash, row, ROW_LANE_BITS, BITS)];

				least = one < least ? one : least;
			}
			assert_int_equal(flows[i].packets, least);
		}
		ops->close(counted);
	}
	workload_destroy(workload);
}

/* While no counter of the light part is full, no packet is lost, and votes equal packets. */
static void elastic_never_undercounts(void **state)
{
	static struct bench_subject_flow flows[WORKLOAD_TOP_MOST];
	const struct bench_subject_ops *ops = find("elastic");
	struct workload *workload = create(200000, 256000);
	void *counted = count(ops, workload, 1 << 10, SEED);
	struct bench_accuracy accuracy;
	uint64_t total, truth = 0, over = 0;
	uint32_t n;

	(void)state;
	assert_true(ops->total(counted, &total));
	assert_int_equal(total, 256000);
	n = top_of(ops, counted, workload, flows);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t packets = workload_truth(workload, &flows[i].key);

		assert_true(flows[i].packets >= packets);
		over += flows[i].packets > packets;
		truth += packets;
	}
	assert_true(truth > 0 && over > 0); /* some were evicted and came back */
	accuracy = bench_accuracy(workload, WORKLOAD_TOP, flows, WORKLOAD_TOP);
	assert_true(accuracy.recall > 0.97 && accuracy.relative_error < 0.01);
	ops->close(counted);
	workload_destroy(workload);
}

/* The estimate of a key, or 0 without an entry, is right on average. */
static void cocosketch_is_unbiased(void **state)
{
	enum { RUNS = 300, PACKETS = 128000, RANK = 900 };
	static struct bench_subject_flow flows[WORKLOAD_TOP_MOST];
	const struct bench_subject_ops *ops = find("cocosketch");
	struct workload *workload = create(200000, PACKETS);
	const struct workload_flow *asked = &workload->top[RANK];
	const struct key4 *key = &workload->keys[asked->first - 1];
	uint64_t sum = 0, different = 0, last = 0;

	(void)state;
	for (uint64_t run = 0; run < RUNS; run++) {
		void *counted = count(ops, workload, 16, run);
		uint64_t total, estimate = 0;
		uint32_t n = top_of(ops, counted, workload, flows);

		assert_true(ops->total(counted, &total));
		assert_int_equal(total, PACKETS);
		for (uint32_t i = 0; i < n; i++)
			if (memcmp(&flows[i].key, key, sizeof(*key)) == 0)
				estimate = flows[i].packets;
		sum += estimate;
		different += estimate != last;
		last = estimate;
		ops->close(counted);
	}
	assert_true(different > RUNS / 10);
	assert_in_range(sum, asked->packets * RUNS * 9 / 10, asked->packets * RUNS * 11 / 10);
	workload_destroy(workload);
}

/*
 * With n packets and m entries: no estimate is below the true count or more than n / m above it,
 * and every key with more than n / m packets has an entry.
 */
static void space_saving_keeps_its_bounds(void **state)
{
	enum { PACKETS = 1024000, BYTES = 48 }; /* an entry takes less */
	static struct bench_subject_flow flows[WORKLOAD_TOP_MOST];
	const struct bench_subject_ops *ops = find("space-saving");
	struct workload *workload = create(500000, PACKETS);
	void *counted = count(ops, workload, 16, SEED);
	uint64_t most = PACKETS / (ops->memory(counted) / BYTES), total;
	uint32_t n = top_of(ops, counted, workload, flows), over = 0, heavy = 0;

	(void)state;
	assert_true(ops->total(counted, &total));
	assert_int_equal(total, PACKETS);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t truth = workload_truth(workload, &flows[i].key);

		assert_in_range(flows[i].packets, truth, truth + most);
		over += flows[i].packets > truth;
	}
	assert_true(over > 0);
	for (uint32_t t = 0; t < workload->nb_top && workload->top[t].packets > 2 * most; t++) {
		const struct key4 *key = &workload->keys[workload->top[t].first - 1];
		uint32_t i = 0;

		while (i < n && memcmp(&flows[i].key, key, sizeof(*key)) != 0)
			i++;
		assert_true(i < n);
		heavy++;
	}
	assert_true(heavy > 0);
	ops->close(counted);
	workload_destroy(workload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_flows_are_counted_exactly),
		cmocka_unit_test(none_takes_more_memory_than_count_min),
		cmocka_unit_test(octosketch_is_count_min),
		cmocka_unit_test(elastic_never_undercounts),
		cmocka_unit_test(cocosketch_is_unbiased),
		cmocka_unit_test(space_saving_keeps_its_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
