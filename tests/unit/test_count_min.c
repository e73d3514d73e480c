/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "make_sketch.h"
#include "merged.h"
#include "same_rows.h"
#include "sketch/count_min.h"
#include "sketch/row_index.h"
#include "zipf_stream.h"

static struct sketch *make(struct sketch_params params)
{
	return make_sketch(&count_min_ops, params);
}

static void update(struct sketch *sketch, const struct key_burst *burst)
{
	count_min_ops.update[SHARING_SEPARATE](sketch, burst);
}

static void assert_same_counters(const struct sketch *a, const struct sketch *b)
{
	const struct count_min *x = (const struct count_min *)a;
	const struct count_min *y = (const struct count_min *)b;

	assert_same_rows(&x->counters, &y->counters);
}

struct listing {
	struct sketch_candidate *list;
	uint32_t n;
};

static void append(const struct sketch_candidate *candidate, void *arg)
{
	struct listing *listing = arg;

	listing->list = realloc(listing->list, (listing->n + 1) * sizeof(*listing->list));
	assert_non_null(listing->list);
	listing->list[listing->n++] = *candidate;
}

/* Returns the list of the first writer. */
static struct listing list_of(const struct sketch *sketch)
{
	struct listing listing = {0};

	candidates_emit(&((const struct count_min *)sketch)->lists[0], append, &listing);
	return listing;
}

static void assert_same_candidates(const struct sketch *a, const struct sketch *b)
{
	struct listing x = list_of(a), y = list_of(b);

	assert_int_equal(x.n, y.n);
	for (uint32_t i = 0; i < x.n; i++) {
		assert_true(key_equal(&x.list[i].key, &y.list[i].key));
		assert_int_equal(x.list[i].hash.lo, y.list[i].hash.lo);
		assert_int_equal(x.list[i].hash.hi, y.list[i].hash.hi);
		assert_int_equal(x.list[i].packets, y.list[i].packets);
		assert_int_equal(x.list[i].bytes, y.list[i].bytes);
		assert_int_equal(x.list[i].before, y.list[i].before);
	}
	assert_int_equal(count_min_ops.lists_all_keys(a), count_min_ops.lists_all_keys(b));
	free(x.list);
	free(y.list);
}

static void feed(struct sketch *sketch, struct zipf_stream *stream, uint32_t nb_packets)
{
	struct key_burst burst = {0};

	for (uint32_t i = 0; i < nb_packets; i++) {
		zipf_append(stream, &burst, zipf_draw(stream));
		if (burst.n == BURST_MAX || i + 1 == nb_packets) {
			update(sketch, &burst);
			burst.n = 0;
		}
	}
}

static void test_registry(void **state)
{
	(void)state;
	assert_ptr_equal(sketches[0], &count_min_ops);
	assert_ptr_equal(sketch_find("count-min"), &count_min_ops);
	assert_ptr_equal(sketch_find("cms"), &count_min_ops);
	assert_null(sketch_find("count"));
}

static void test_check(void **state)
{
	static const struct {
		uint32_t depth;
		uint64_t width;
		bool good;
	} shapes[] = {
		{0, 0, true},
		{1, 16, true},
		{16, 256, true},
		{4, UINT64_C(1) << 32, true},
		{1, UINT64_C(1) << 33, false},
		{17, 16, false},
		{16, 512, false},
		{5, UINT64_C(1) << 26, false},
		{4, 8, false},
		{4, 1000, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct sketch_params params = {.depth = shapes[i].depth, .width = shapes[i].width};

		assert_int_equal(count_min_ops.check(&params) == NULL, shapes[i].good);
		if (i == 0) {
			assert_int_equal(params.depth, count_min_ops.default_depth);
			assert_int_equal(params.width, count_min_ops.default_width);
			assert_int_equal(params.depth, 4);
			assert_int_equal(params.width, 262144);
		}
	}
}

static void test_width_for(void **state)
{
	static const size_t sizes[] = {1 << 19, 3000000, 4 << 20, 1 << 30};

	(void)state;
	for (uint32_t depth = 1; depth <= 16; depth++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct sketch_params params = {.depth = depth, .metric = i % 2};

			params.width = sketch_width_for(&count_min_ops, &params, sizes[i]);
			assert_null(count_min_ops.check(&params));
			assert_true(count_min_ops.memory(&params) <= sizes[i]);
			params.width *= 2;
			assert_true(count_min_ops.check(&params) != NULL ||
				    count_min_ops.memory(&params) > sizes[i]);
		}
	}
	assert_int_equal(sketch_width_for(&count_min_ops, &(struct sketch_params){0}, 1000), 0);
}

/* Computes the index bit by bit, as defined in row_index.h. */
static uint64_t index_by_bits(const struct key_hash *hash, uint32_t from, uint32_t bits)
{
	uint64_t index = 0;

	for (uint32_t b = 0; b < bits; b++) {
		uint32_t at = from + b;

		index |= ((at < 64 ? hash->lo >> at : hash->hi >> (at - 64)) & 1) << b;
	}
	return index;
}

static void test_row_index(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (uint32_t depth = 1; depth <= 16; depth++) {
		for (uint32_t bits = 4; bits <= 32 && depth * bits <= 128; bits++) {
			struct key_hash hash = {zipf_random(&random), zipf_random(&random)};
			uint32_t stride = depth <= 4 ? 32 : bits;

			assert_int_equal(row_stride(depth, bits), stride);
			for (uint32_t row = 0; row < depth; row++)
				assert_int_equal(row_index(&hash, row, stride, bits),
					index_by_bits(&hash, row * stride, bits));
		}
	}
}

/* Compares every counter of every shape with a plain Count-Min. */
static void check_counters(uint32_t depth, uint32_t bits, enum sketch_metric metric)
{
	struct sketch *sketch = make((struct sketch_params){
		.depth = depth, .width = UINT64_C(1) << bits, .metric = metric});
	const struct count_min *cm;
	struct sketch *merged;
	uint64_t *plain = calloc((size_t)depth << bits, sizeof(*plain));
	uint32_t stride = depth <= 4 ? 32 : bits;
	struct zipf_stream stream;

	zipf_open(&stream, 2000, 1.0, depth * 100 + bits);
	feed(sketch, &stream, 5000);
	merged = merged_of(sketch);
	cm = (const struct count_min *)merged;
	for (uint32_t f = 0; f < stream.nb_flows; f++) {
		uint64_t truth = metric == SKETCH_PACKETS ? stream.packets[f] : stream.bytes[f];

		for (uint32_t row = 0; row < depth; row++)
			plain[((size_t)row << bits) +
				index_by_bits(&stream.hash[f], row * stride, bits)] += truth;
	}
	for (size_t i = 0; i < (size_t)depth << bits; i++)
		assert_int_equal(counter_rows_value(&cm->counters, i), plain[i]);
	for (uint32_t f = 0; f < stream.nb_flows; f++) {
		struct sketch_estimate estimate = count_min_ops.query(merged, &stream.hash[f]);
		uint64_t own = count_min_ops.query(sketch, &stream.hash[f]).value;
		uint64_t truth = metric == SKETCH_PACKETS ? stream.packets[f] : stream.bytes[f];
		uint64_t least = UINT64_MAX;

		for (uint32_t row = 0; row < depth; row++) {
			uint64_t value = plain[((size_t)row << bits) +
					       index_by_bits(&stream.hash[f], row * stride, bits)];

			least = value < least ? value : least;
		}
		assert_int_equal(estimate.value, least);
		assert_false(estimate.saturated);
		/* Listed keys have no collisions. */
		assert_in_range(own, truth, least);
	}
	zipf_close(&stream);
	free(plain);
	count_min_ops.destroy(merged);
	count_min_ops.destroy(sketch);
}

static void test_counters(void **state)
{
	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		check_counters(1, 4, metric);
		check_counters(2, 12, metric);
		check_counters(4, 4, metric);
		check_counters(4, 11, metric);
		check_counters(5, 12, metric);
		check_counters(7, 18, metric);
		check_counters(16, 8, metric);
	}
}

static void check_merge(enum sketch_metric metric)
{
	struct sketch_params params = {.width = 4096, .metric = metric};
	struct sketch *whole = make(params), *total = make(params), *merged, *part[3];
	struct zipf_stream stream;

	zipf_open(&stream, 20000, 1.1, 7);
	for (uint32_t p = 0; p < 3; p++)
		part[p] = make(params);
	for (uint32_t i = 0; i < 30000; i++) {
		struct key_burst burst = {0};

		zipf_append(&stream, &burst, zipf_draw(&stream));
		update(whole, &burst);
		update(part[i % 3], &burst);
	}
	for (uint32_t p = 0; p < 3; p++) {
		assert_int_equal(count_min_ops.merge(total, part[p]), 0);
		count_min_ops.destroy(part[p]);
	}
	merged = merged_of(whole);
	assert_same_counters(total, merged);
	assert_false(count_min_ops.lists_all_keys(total));
	zipf_close(&stream);
	count_min_ops.destroy(merged);
	count_min_ops.destroy(whole);
	count_min_ops.destroy(total);
}

static void test_merge_is_one_sketch_fed_everything(void **state)
{
	(void)state;
	check_merge(SKETCH_PACKETS);
	check_merge(SKETCH_BYTES);
}

static void test_merge_refuses(void **state)
{
	struct sketch_params params = {.depth = 3, .width = 64, .seed = 9};
	struct sketch_ops other_kind = count_min_ops;
	struct sketch_params others[4] = {params, params, params, params};
	struct sketch *sketch = make(params), *twin = make(params);

	(void)state;
	others[0].depth = 2;
	others[1].width = 128;
	others[2].metric = SKETCH_BYTES;
	others[3].seed = 10;
	for (uint32_t i = 0; i < 4; i++) {
		struct sketch *other = make(others[i]);

		assert_int_equal(count_min_ops.merge(sketch, other), -EINVAL);
		count_min_ops.destroy(other);
	}
	assert_int_equal(count_min_ops.merge(sketch, sketch), -EINVAL);
	assert_int_equal(count_min_ops.merge(sketch, twin), 0);
	twin->ops = &other_kind;
	assert_int_equal(count_min_ops.merge(sketch, twin), -EINVAL);
	count_min_ops.destroy(sketch);
	count_min_ops.destroy(twin);
}

/* A merged sketch starts with an empty list; keys listed later still have an upper bound. */
static void test_update_after_merge(void **state)
{
	struct sketch_params params = {.width = 1024};
	struct sketch *sketch = make(params), *other = make(params);
	struct zipf_stream stream;
	struct listing listing;

	(void)state;
	zipf_open(&stream, 100, 1.0, 3);
	feed(sketch, &stream, 1000);
	feed(other, &stream, 1000);
	assert_int_equal(count_min_ops.merge(sketch, other), 0);
	listing = list_of(sketch);
	assert_int_equal(listing.n, 0);
	feed(sketch, &stream, 1000);
	listing = list_of(sketch);
	assert_true(listing.n > 0);
	for (uint32_t i = 0; i < listing.n; i++)
		assert_true(listing.list[i].packets + listing.list[i].before >=
			    stream.packets[zipf_flow(&listing.list[i].key)]);
	free(listing.list);
	assert_false(count_min_ops.lists_all_keys(sketch));
	zipf_close(&stream);
	count_min_ops.destroy(sketch);
	count_min_ops.destroy(other);
}

static void check_saturation(enum sketch_metric metric)
{
	struct sketch_params params = {.width = 16, .metric = metric};
	struct sketch *sketch = make(params), *other = make(params);
	struct count_min *cm = (struct count_min *)sketch;
	uint64_t max = metric == SKETCH_PACKETS ? UINT32_MAX : UINT64_MAX;
	struct key key = zipf_key(0);
	struct key_hash hash = {0};
	struct key_burst burst = {0};
	struct sketch_estimate estimate;

	for (uint32_t i = 0; i < 64; i++)
		counter_rows_set(&cm->counters, i,
			metric == SKETCH_PACKETS ? UINT32_MAX - 2 : UINT64_MAX - 2000);
	burst_append(&burst, &key, &hash, 1000);
	update(sketch, &burst);
	estimate = count_min_ops.query(sketch, &hash);
	assert_int_equal(estimate.value, metric == SKETCH_PACKETS ? max - 1 : max - 1000);
	assert_false(estimate.saturated);
	for (uint32_t i = 0; i < 5; i++) {
		update(sketch, &burst);
		estimate = count_min_ops.query(sketch, &hash);
		assert_int_equal(estimate.value, max);
		assert_true(estimate.saturated);
	}

	update(other, &burst);
	assert_int_equal(count_min_ops.merge(other, sketch), 0);
	estimate = count_min_ops.query(other, &hash);
	assert_int_equal(estimate.value, max);
	assert_true(estimate.saturated);
	count_min_ops.destroy(sketch);
	count_min_ops.destroy(other);
}

static void test_saturation(void **state)
{
	(void)state;
	check_saturation(SKETCH_PACKETS);
	check_saturation(SKETCH_BYTES);
}

static void check_reset(enum sketch_metric metric)
{
	struct sketch_params params = {.width = 1024, .metric = metric, .candidates = 64};
	struct sketch *used = make(params), *fresh = make(params);
	size_t header = offsetof(struct count_min, lists);
	const uint8_t *used_tables, *fresh_tables;
	struct zipf_stream stream;

	zipf_open(&stream, 5000, 1.0, 5);
	feed(used, &stream, 20000);
	assert_false(count_min_ops.lists_all_keys(used));
	count_min_ops.reset(used);
	assert_same_counters(used, fresh);
	assert_same_candidates(used, fresh);
	assert_true(count_min_ops.lists_all_keys(used));

	/* Everything after the header must be reset. */
	header += sizeof(struct candidates);
	used_tables = (const uint8_t *)used + header;
	fresh_tables = (const uint8_t *)fresh + header;
	assert_int_equal(
		memcmp(used_tables, fresh_tables, count_min_ops.memory(&used->params) - header), 0);

	zipf_restart(&stream, 5);
	feed(used, &stream, 20000);
	zipf_restart(&stream, 5);
	feed(fresh, &stream, 20000);
	assert_same_counters(used, fresh);
	assert_same_candidates(used, fresh);
	zipf_close(&stream);
	count_min_ops.destroy(used);
	count_min_ops.destroy(fresh);
}

static void test_reset(void **state)
{
	(void)state;
	check_reset(SKETCH_PACKETS);
	check_reset(SKETCH_BYTES);
}

/* Feeds the same stream in bursts of `cut` packets; 0: random lengths. */
static struct sketch *feed_cut(const struct sketch_params *params, uint32_t cut)
{
	struct sketch *sketch = make(*params);
	struct key_burst burst = {0};
	struct zipf_stream stream;
	uint64_t random = 99;
	uint32_t left = cut;

	zipf_open(&stream, 20000, 1.05, 21);
	for (uint32_t i = 0; i < 50000; i++) {
		if (left == 0)
			left = cut != 0 ? cut : 1 + (uint32_t)(zipf_random(&random) % BURST_MAX);
		zipf_append(&stream, &burst, zipf_draw(&stream));
		if (--left == 0) {
			update(sketch, &burst);
			burst.n = 0;
		}
	}
	if (burst.n > 0)
		update(sketch, &burst);
	zipf_close(&stream);
	return sketch;
}

static void test_burst_borders_do_not_matter(void **state)
{
	static const uint32_t cuts[] = {7, 32, 64, 0};

	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		/* Few counters and candidates: packets of one burst meet in both. */
		struct sketch_params params = {.width = 64, .candidates = 64, .metric = metric};
		struct sketch *single = feed_cut(&params, 1);

		assert_true(((struct count_min *)single)->lists[0].replaced > 100);
		for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
			struct sketch *sketch = feed_cut(&params, cuts[i]);

			assert_same_counters(sketch, single);
			assert_same_candidates(sketch, single);
			count_min_ops.destroy(sketch);
		}
		count_min_ops.destroy(single);
	}
}

/* Packets of a key often follow each other, as on a real link. */
static void append_trains(struct zipf_stream *stream, struct key_burst *burst)
{
	uint32_t flow = zipf_draw(stream);

	while (burst->n < BURST_MAX) {
		if (zipf_random(&stream->state) % 2 == 0)
			flow = zipf_draw(stream);
		zipf_append(stream, burst, flow);
	}
}

static void check_sharing_alone(const struct sketch_params *params)
{
	struct sketch_params two_writers = *params;
	struct sketch *separate = make(*params), *shared;
	const struct candidates *list = NULL;
	struct zipf_stream stream;

	two_writers.writers = 2;
	shared = make(two_writers);
	list = &((struct count_min *)shared)->lists[0];
	zipf_open(&stream, 20000, 1.05, params->width + params->atomic);
	for (uint32_t i = 0; i < 2000; i++) {
		struct key_burst burst = {0};

		append_trains(&stream, &burst);
		count_min_ops.update[SHARING_SEPARATE](separate, &burst);
		count_min_ops.update[SHARING_SHARED](shared, &burst);
		if (i % 100 == 0)
			assert_same_candidates(shared, separate);
	}
	assert_same_counters(shared, separate);
	assert_same_candidates(shared, separate);
	assert_true(list->replaced > 0);
	assert_int_equal(list->replaced, ((struct count_min *)separate)->lists[0].replaced);
	zipf_close(&stream);
	count_min_ops.destroy(separate);
	count_min_ops.destroy(shared);
}

static void test_shared_on_one_thread_is_separate(void **state)
{
	/* Few counters, so that keys of one burst share them. */
	static const struct sketch_params shapes[] = {
		{.width = 16, .candidates = 32},
		{.width = 64, .candidates = 64},
		{.depth = 5, .width = 256, .candidates = 64},
		{.depth = 2, .width = 4096, .candidates = 256},
		{.width = 65536, .candidates = 512},
	};

	(void)state;
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		struct sketch_params params = shapes[s];

		for (params.metric = SKETCH_PACKETS; params.metric <= SKETCH_BYTES; params.metric++)
			for (params.atomic = ATOMIC_CAS; params.atomic <= ATOMIC_ADD;
				params.atomic++)
				check_sharing_alone(&params);
	}
}

struct truth {
	const struct zipf_stream *stream;
	enum sketch_metric metric;
	struct sketch_candidate *sum; /* sums by flow, over all emissions */
};

static void sum_up(const struct sketch_candidate *candidate, void *arg)
{
	struct truth *truth = arg;
	struct sketch_candidate *sum = &truth->sum[zipf_flow(&candidate->key)];

	assert_true(sum->packets == 0 || sum->before == candidate->before);
	sum->packets += candidate->packets;
	sum->bytes += candidate->bytes;
	sum->before = candidate->before;
}

/*
 * Lists of several writers: emissions have the guarantees of sketch.h, and counters equal those of
 * one writer.
 */
static void check_writers(const struct sketch_params *params)
{
	struct sketch_params single_params = *params;
	struct sketch *shared = make(*params), *single, *a, *b;
	struct zipf_stream stream;
	struct truth truth = {.stream = &stream, .metric = params->metric};

	single_params.writers = 1;
	single = make(single_params);
	zipf_open(&stream, 20000, 1.05, 5);
	truth.sum = calloc(stream.nb_flows, sizeof(*truth.sum));
	assert_non_null(truth.sum);
	for (uint32_t i = 0; i < 3000; i++) {
		struct key_burst burst = {.writer = i % params->writers};

		append_trains(&stream, &burst);
		count_min_ops.update[SHARING_SHARED](shared, &burst);
		burst.writer = 0;
		count_min_ops.update[SHARING_SEPARATE](single, &burst);
	}
	a = merged_of(shared);
	b = merged_of(single);
	assert_same_counters(a, b);
	count_min_ops.candidates(shared, sum_up, &truth);
	for (uint32_t f = 0; f < stream.nb_flows; f++) {
		const struct sketch_candidate *sum = &truth.sum[f];
		uint64_t true_count =
			params->metric == SKETCH_PACKETS ? stream.packets[f] : stream.bytes[f];
		uint64_t since = params->metric == SKETCH_PACKETS ? sum->packets : sum->bytes;

		assert_true(sum->packets <= stream.packets[f]);
		assert_true(sum->bytes <= stream.bytes[f]);
		assert_true(sum->packets == 0 || true_count <= since + sum->before);
		assert_true(true_count <= count_min_ops.query(shared, &stream.hash[f]).value);
		if (f < 20)
			assert_true(sum->packets > 0);
	}
	assert_false(count_min_ops.lists_all_keys(shared));
	free(truth.sum);
	zipf_close(&stream);
	count_min_ops.destroy(a);
	count_min_ops.destroy(b);
	count_min_ops.destroy(shared);
	count_min_ops.destroy(single);
}

static void test_writers(void **state)
{
	(void)state;
	for (uint32_t writers = 2; writers <= 7; writers += 5) {
		struct sketch_params params = {
			.width = 4096, .candidates = 256, .writers = writers};

		for (params.metric = SKETCH_PACKETS; params.metric <= SKETCH_BYTES; params.metric++)
			for (params.atomic = ATOMIC_CAS; params.atomic <= ATOMIC_ADD;
				params.atomic++) {
				assert_null(count_min_ops.check(&params));
				check_writers(&params);
			}
	}
}

static void test_no_memory(void **state)
{
	(void)state;
	assert_none_without_memory(&count_min_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registry),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_width_for),
		cmocka_unit_test(test_row_index),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_merge_is_one_sketch_fed_everything),
		cmocka_unit_test(test_merge_refuses),
		cmocka_unit_test(test_update_after_merge),
		cmocka_unit_test(test_saturation),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_burst_borders_do_not_matter),
		cmocka_unit_test(test_shared_on_one_thread_is_separate),
		cmocka_unit_test(test_writers),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
