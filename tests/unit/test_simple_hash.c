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
#include "report/merge/merge.h"
#include "sketch/simple_hash.h"
#include "zipf_stream.h"

static struct sketch *make(struct sketch_params params)
{
	return make_sketch(&simple_hash_ops, params);
}

static struct bucket_pair *pairs_of(struct sketch *sketch)
{
	return ((struct simple_hash *)sketch)->pairs;
}

static uint64_t nb_pairs(const struct sketch *sketch)
{
	return sketch->params.width / BUCKET_WAYS;
}

static uint64_t pair_of(const struct sketch *sketch, const struct key_hash *hash)
{
	return hash->lo & (nb_pairs(sketch) - 1);
}

static uint64_t metric_of(const struct sketch *sketch, uint64_t packets, uint64_t bytes)
{
	return sketch->params.metric == SKETCH_PACKETS ? packets : bytes;
}

static uint64_t truth_of(
	const struct sketch *sketch, const struct zipf_stream *stream, uint32_t flow)
{
	return metric_of(sketch, stream->packets[flow], stream->bytes[flow]);
}

static void update(struct sketch *sketch, const struct key_burst *burst)
{
	simple_hash_ops.update[SHARING_SEPARATE](sketch, burst);
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

struct listing {
	struct sketch_candidate *list;
	uint32_t n;
};

static void append(const struct sketch_candidate *candidate, void *arg)
{
	struct listing *listing = arg;

	listing->list[listing->n++] = *candidate;
}

static struct listing list_of(const struct sketch *sketch)
{
	struct listing listing = {
		.list = aligned_alloc(64, sketch->params.width * sizeof(*listing.list))};

	assert_non_null(listing.list);
	simple_hash_ops.candidates(sketch, append, &listing);
	return listing;
}

/* Compares stored keys and the state of every pair, bit by bit. */
static void assert_same_state(struct sketch *a, struct sketch *b)
{
	struct listing x = list_of(a), y = list_of(b);

	assert_int_equal(
		memcmp(pairs_of(a), pairs_of(b), nb_pairs(a) * sizeof(struct bucket_pair)), 0);
	assert_int_equal(x.n, y.n);
	for (uint32_t i = 0; i < x.n; i++)
		assert_true(key_equal(&x.list[i].key, &y.list[i].key));
	free(x.list);
	free(y.list);
}

/* ---- Layout */

static void test_registry(void **state)
{
	(void)state;
	assert_ptr_equal(sketch_find("simple-hash"), &simple_hash_ops);
	assert_ptr_equal(sketch_find("sht"), &simple_hash_ops);
}

static void test_pairs_are_cache_lines(void **state)
{
	struct sketch *sketch = make_sketch(&simple_hash_ops, (struct sketch_params){.width = 16});

	(void)state;
	assert_int_equal((uintptr_t)((struct simple_hash *)sketch)->pairs % 64, 0);
	simple_hash_ops.destroy(sketch);
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
		{1, UINT64_C(1) << 32, true},
		{1, UINT64_C(1) << 33, false},
		{2, 16, false},
		{1, 8, false},
		{1, 1000, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct sketch_params params = {.depth = shapes[i].depth, .width = shapes[i].width};

		assert_int_equal(simple_hash_ops.check(&params) == NULL, shapes[i].good);
		if (i == 0) {
			assert_int_equal(params.depth, simple_hash_ops.default_depth);
			assert_int_equal(params.width, simple_hash_ops.default_width);
			assert_int_equal(params.depth, 1);
			assert_int_equal(params.width, 262144);
		}
	}
}

static void test_width_for(void **state)
{
	static const size_t sizes[] = {2000, 1 << 19, 3000000, 1 << 30};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct sketch_params params = {0};

		params.width = sketch_width_for(&simple_hash_ops, &params, sizes[i]);
		assert_null(simple_hash_ops.check(&params));
		assert_true(simple_hash_ops.memory(&params) <= sizes[i]);
		params.width *= 2;
		assert_true(simple_hash_ops.memory(&params) > sizes[i]);
	}
	assert_int_equal(sketch_width_for(&simple_hash_ops, &(struct sketch_params){0}, 1000), 0);
}

static void test_no_memory(void **state)
{
	(void)state;
	assert_none_without_memory(&simple_hash_ops);
}

/* ---- Rule */

/* The table as described in simple_hash.h, in numbers without packing. */
struct plain_pair {
	struct {
		uint32_t flow;
		uint64_t packets, bytes, since, before;
	} bucket[2];
	uint64_t rest, weight;
};

static void count_plainly(struct plain_pair *pair, uint32_t flow, uint64_t wire_len, uint64_t w)
{
	uint64_t upper[2], smaller;
	uint32_t loser;

	pair->weight += w;
	for (uint32_t way = 0; way < 2; way++) {
		if (pair->bucket[way].packets > 0 && pair->bucket[way].flow == flow) {
			pair->bucket[way].packets++;
			pair->bucket[way].bytes += wire_len;
			pair->bucket[way].since += w;
			return;
		}
		upper[way] = pair->bucket[way].since + pair->bucket[way].before;
	}
	loser = upper[1] < upper[0] ? 1 : 0;
	smaller = upper[loser];
	if (pair->rest + w <= smaller) {
		pair->rest += w;
		return;
	}
	pair->bucket[loser].flow = flow;
	pair->bucket[loser].packets = 1;
	pair->bucket[loser].bytes = wire_len;
	pair->bucket[loser].since = w;
	pair->bucket[loser].before = pair->rest;
	pair->rest = smaller;
}

static void assert_plain(
	struct sketch *sketch, const struct plain_pair *plain, const struct zipf_stream *stream)
{
	const struct bucket_pair *pairs = pairs_of(sketch);

	for (uint64_t p = 0; p < nb_pairs(sketch); p++) {
		assert_int_equal(pairs[p].rest, plain[p].rest);
		for (uint32_t way = 0; way < 2; way++) {
			const struct key_hash *hash = &pairs[p].hash[way];

			assert_int_equal(pairs[p].packets[way], plain[p].bucket[way].packets);
			assert_int_equal(bucket_bytes(&pairs[p], way), plain[p].bucket[way].bytes);
			assert_int_equal(pairs[p].before[way], plain[p].bucket[way].before);
			if (pairs[p].packets[way] > 0)
				assert_memory_equal(hash, &stream->hash[plain[p].bucket[way].flow],
					sizeof(*hash));
		}
	}
}

static void check_rule(enum sketch_metric metric, uint64_t width, double exponent)
{
	struct sketch *sketch =
		make((struct sketch_params){.width = width, .metric = metric, .seed = 11});
	struct plain_pair *plain = calloc(nb_pairs(sketch), sizeof(*plain));
	struct key_burst burst = {0};
	struct zipf_stream stream;

	zipf_open(&stream, 2000, exponent, 11);
	for (uint32_t i = 0; i < 30000; i++) {
		uint32_t flow = zipf_draw(&stream), wire_len;

		zipf_append(&stream, &burst, flow);
		wire_len = burst.wire_len[burst.n - 1];
		count_plainly(&plain[pair_of(sketch, &stream.hash[flow])], flow, wire_len,
			metric_of(sketch, 1, wire_len));
		if (burst.n == BURST_MAX) {
			update(sketch, &burst);
			burst.n = 0;
			if (i % 7 == 0)
				assert_plain(sketch, plain, &stream);
		}
	}
	update(sketch, &burst);
	assert_plain(sketch, plain, &stream);
	zipf_close(&stream);
	free(plain);
	simple_hash_ops.destroy(sketch);
}

static void test_rule(void **state)
{
	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		check_rule(metric, 16, 1.0);
		check_rule(metric, 1024, 1.0);
		check_rule(metric, 1024, 0);
		check_rule(metric, 8192, 1.3);
	}
}

/* ---- Bounds, compared with exact counts */

static void assert_candidates_hold(const struct sketch *sketch, const struct zipf_stream *stream)
{
	struct listing listing = list_of(sketch);
	bool *listed = calloc(stream->nb_flows, sizeof(*listed));

	for (uint32_t i = 0; i < listing.n; i++) {
		const struct sketch_candidate *candidate = &listing.list[i];
		uint32_t f = zipf_flow(&candidate->key);
		struct key key = zipf_key(f);
		uint64_t since = metric_of(sketch, candidate->packets, candidate->bytes);
		struct sketch_estimate estimate = simple_hash_ops.query(sketch, &candidate->hash);

		assert_true(f < stream->nb_flows);
		assert_true(key_equal(&candidate->key, &key));
		assert_memory_equal(&candidate->hash, &stream->hash[f], sizeof(candidate->hash));
		assert_false(listed[f]);
		listed[f] = true;
		assert_true(candidate->packets <= stream->packets[f]);
		assert_true(candidate->bytes <= stream->bytes[f]);
		assert_true(truth_of(sketch, stream, f) <= since + candidate->before);
		assert_int_equal(estimate.value, since + candidate->before);
		if (candidate->before == 0)
			assert_int_equal(since, truth_of(sketch, stream, f));
	}
	free(listed);
	free(listing.list);
}

static void assert_queries_hold(const struct sketch *sketch, const struct zipf_stream *stream)
{
	uint64_t bound = simple_hash_ops.error_bound(sketch, stream->nb_flows, 0.999), worst = 0;

	for (uint32_t f = 0; f < stream->nb_flows; f++) {
		struct sketch_estimate estimate = simple_hash_ops.query(sketch, &stream->hash[f]);
		uint64_t truth = truth_of(sketch, stream, f);

		assert_false(estimate.saturated);
		assert_true(estimate.value >= truth);
		if (estimate.value - truth > worst)
			worst = estimate.value - truth;
	}
	assert_true(worst <= bound);
}

/* Returns the total weight of the keys of each pair. */
static uint64_t *pair_weights(const struct sketch *sketch, const struct zipf_stream *stream)
{
	uint64_t *weight = calloc(nb_pairs(sketch), sizeof(*weight));

	for (uint32_t f = 0; f < stream->nb_flows; f++)
		weight[pair_of(sketch, &stream->hash[f])] += truth_of(sketch, stream, f);
	return weight;
}

static uint64_t upper_of(const struct sketch *sketch, const struct bucket_pair *pair, uint32_t way)
{
	return metric_of(sketch, pair->packets[way], bucket_bytes(pair, way)) + pair->before[way];
}

static bool is_stored(struct sketch *sketch, const struct key_hash *hash)
{
	const struct bucket_pair *pair = &pairs_of(sketch)[pair_of(sketch, hash)];

	for (uint32_t way = 0; way < BUCKET_WAYS; way++)
		if (pair->packets[way] > 0 && pair->hash[way].lo == hash->lo &&
			pair->hash[way].hi == hash->hi)
			return true;
	return false;
}

/* Checks (b) of simple_hash.h; a merged pair may have lost the weight of a fourth key. */
static void assert_weights(struct sketch *sketch, const struct zipf_stream *stream, bool merged)
{
	uint64_t *weight = pair_weights(sketch, stream);

	for (uint64_t p = 0; p < nb_pairs(sketch); p++) {
		const struct bucket_pair *pair = &pairs_of(sketch)[p];
		uint64_t sum = upper_of(sketch, pair, 0) + upper_of(sketch, pair, 1) + pair->rest;

		assert_true(merged ? sum <= weight[p] : sum == weight[p]);
		assert_true(pair->rest <= weight[p] / 3);
		assert_true(pair->rest <= upper_of(sketch, pair, 0));
		assert_true(pair->rest <= upper_of(sketch, pair, 1));
	}
	for (uint32_t f = 0; f < stream->nb_flows; f++)
		if (truth_of(sketch, stream, f) > weight[pair_of(sketch, &stream->hash[f])] / 3)
			assert_true(is_stored(sketch, &stream->hash[f]));
	free(weight);
}

static void check_bounds(
	enum sketch_metric metric, uint64_t width, double exponent, uint64_t seed, uint32_t flows)
{
	struct sketch *sketch =
		make((struct sketch_params){.width = width, .metric = metric, .seed = seed});
	struct zipf_stream stream;

	zipf_open(&stream, flows, exponent, seed);
	for (uint32_t round = 0; round < 3; round++) {
		feed(sketch, &stream, 20000);
		assert_candidates_hold(sketch, &stream);
		assert_queries_hold(sketch, &stream);
		assert_weights(sketch, &stream, false);
	}
	zipf_close(&stream);
	simple_hash_ops.destroy(sketch);
}

static void test_bounds_hold(void **state)
{
	static const double exponents[] = {0, 0.8, 1.05, 1.3};

	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		for (uint64_t seed = 1; seed <= 3; seed++) {
			for (uint32_t e = 0; e < 4; e++) {
				check_bounds(metric, 16, exponents[e], seed, 500);
				check_bounds(metric, 1024, exponents[e], seed, 20000);
				check_bounds(metric, 65536, exponents[e], seed, 20000);
			}
		}
	}
}

/* Three packets of three keys of one pair, and a fourth packet. */
static void test_collision(void **state)
{
	struct sketch *sketch = make((struct sketch_params){.width = 16, .seed = 2});
	struct zipf_stream stream;
	struct key_burst burst = {0};
	uint32_t meet[3], n = 0;

	(void)state;
	zipf_open(&stream, 1000, 1.0, 2);
	for (uint32_t f = 0; n < 3; f++)
		if (pair_of(sketch, &stream.hash[f]) == 5)
			meet[n++] = f;
	assert_true(simple_hash_ops.lists_all_keys(sketch));
	zipf_append(&stream, &burst, meet[0]);
	zipf_append(&stream, &burst, meet[1]);
	update(sketch, &burst);
	assert_true(simple_hash_ops.lists_all_keys(sketch));
	assert_int_equal(simple_hash_ops.query(sketch, &stream.hash[meet[2]]).value, 0);
	assert_int_equal(simple_hash_ops.error_bound(sketch, 2, 1), 0);

	burst.n = 0;
	zipf_append(&stream, &burst, meet[2]); /* 1, 1, 1: not stored */
	update(sketch, &burst);
	assert_false(simple_hash_ops.lists_all_keys(sketch));
	assert_int_equal(simple_hash_ops.query(sketch, &stream.hash[meet[2]]).value, 1);
	assert_false(is_stored(sketch, &stream.hash[meet[2]]));

	update(sketch, &burst); /* 2 against 1 and 1 */
	assert_true(is_stored(sketch, &stream.hash[meet[2]]));
	assert_false(is_stored(sketch, &stream.hash[meet[0]]));
	assert_int_equal(simple_hash_ops.query(sketch, &stream.hash[meet[2]]).value, 2);
	assert_int_equal(simple_hash_ops.query(sketch, &stream.hash[meet[0]]).value, 1);
	assert_int_equal(simple_hash_ops.error_bound(sketch, 3, 1), 1);
	zipf_close(&stream);
	simple_hash_ops.destroy(sketch);
}

/* Two keys with one equal half of the hash are different keys. */
static void test_whole_hash_tells_keys_apart(void **state)
{
	static const struct key_hash hashes[][2] = {
		{{3, 8}, {3, 9}},
		{{3, 8}, {3 + 8 * 1024, 8}},
	};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct sketch *sketch = make((struct sketch_params){.width = 16});
		struct key_burst burst = {0};
		struct key key = zipf_key(0);

		burst_append(&burst, &key, &hashes[i][0], 100);
		burst_append(&burst, &key, &hashes[i][0], 100);
		burst_append(&burst, &key, &hashes[i][1], 100);
		update(sketch, &burst);
		assert_int_equal(pair_of(sketch, &hashes[i][0]), pair_of(sketch, &hashes[i][1]));
		assert_int_equal(simple_hash_ops.query(sketch, &hashes[i][0]).value, 2);
		assert_int_equal(simple_hash_ops.query(sketch, &hashes[i][1]).value, 1);
		simple_hash_ops.destroy(sketch);
	}
}

static void test_lists_all_keys_while_none_was_turned_away(void **state)
{
	struct sketch *sketch = make((struct sketch_params){.width = 4096, .seed = 4});
	struct zipf_stream stream;

	(void)state;
	zipf_open(&stream, 5000, 0, 4);
	while (simple_hash_ops.lists_all_keys(sketch)) {
		struct listing listing = list_of(sketch);
		uint32_t keys = 0;

		for (uint32_t f = 0; f < stream.nb_flows; f++)
			keys += stream.packets[f] > 0;
		assert_int_equal(listing.n, keys);
		for (uint32_t i = 0; i < listing.n; i++) {
			uint32_t f = zipf_flow(&listing.list[i].key);

			assert_int_equal(listing.list[i].packets, stream.packets[f]);
			assert_int_equal(listing.list[i].bytes, stream.bytes[f]);
			assert_int_equal(listing.list[i].before, 0);
		}
		free(listing.list);
		feed(sketch, &stream, 1);
	}
	zipf_close(&stream);
	simple_hash_ops.destroy(sketch);
}

/* ---- Top 100 */

struct rated {
	uint64_t upper, truth;
};

static int by_upper(const void *a, const void *b)
{
	const struct rated *x = a, *y = b;

	return (x->upper < y->upper) - (x->upper > y->upper);
}

static int descending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/*
 * At the default size, the keys with the hundred largest upper bounds are the hundred largest keys,
 * except ties.
 */
static void check_top(enum sketch_metric metric, uint64_t seed, struct zipf_stream *stream)
{
	struct sketch *sketch = make((struct sketch_params){.metric = metric, .seed = seed});
	struct listing listing;
	struct rated *rated;
	uint64_t *truth;

	zipf_restart(stream, seed);
	feed(sketch, stream, 1000000);
	listing = list_of(sketch);
	rated = calloc(listing.n, sizeof(*rated));
	for (uint32_t i = 0; i < listing.n; i++) {
		const struct sketch_candidate *c = &listing.list[i];

		rated[i].upper = metric_of(sketch, c->packets, c->bytes) + c->before;
		rated[i].truth = truth_of(sketch, stream, zipf_flow(&c->key));
	}
	qsort(rated, listing.n, sizeof(*rated), by_upper);
	truth = calloc(stream->nb_flows, sizeof(*truth));
	for (uint32_t f = 0; f < stream->nb_flows; f++)
		truth[f] = truth_of(sketch, stream, f);
	qsort(truth, stream->nb_flows, sizeof(*truth), descending);
	for (uint32_t i = 0; i < 100; i++)
		assert_true(rated[i].truth >= truth[99]);
	free(truth);
	free(rated);
	free(listing.list);
	simple_hash_ops.destroy(sketch);
}

static void test_top_100(void **state)
{
	struct zipf_stream stream;

	(void)state;
	zipf_open(&stream, 1000000, 1.05, 1);
	check_top(SKETCH_PACKETS, 1, &stream);
	check_top(SKETCH_BYTES, 2, &stream);
	zipf_close(&stream);
}

/* ---- Order, sharing, reset */

/* Feeds the same stream in bursts of `cut` packets; 0: random lengths. */
static struct sketch *feed_cut(
	const struct sketch_params *params, uint32_t cut, enum sketch_sharing sharing)
{
	struct sketch *sketch = make(*params);
	struct key_burst burst = {0};
	struct zipf_stream stream;
	uint64_t random = 99;
	uint32_t left = cut;

	zipf_open(&stream, 20000, 1.05, params->seed);
	for (uint32_t i = 0; i < 50000; i++) {
		if (left == 0)
			left = cut != 0 ? cut : 1 + (uint32_t)(zipf_random(&random) % BURST_MAX);
		zipf_append(&stream, &burst, zipf_draw(&stream));
		if (--left == 0) {
			simple_hash_ops.update[sharing](sketch, &burst);
			burst.n = 0;
		}
	}
	simple_hash_ops.update[sharing](sketch, &burst);
	zipf_close(&stream);
	return sketch;
}

static void test_burst_borders_do_not_matter(void **state)
{
	static const uint32_t cuts[] = {7, 32, 64, 0};

	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		struct sketch_params params = {.width = 64, .metric = metric, .seed = 21};
		struct sketch *single = feed_cut(&params, 1, SHARING_SEPARATE);

		for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
			struct sketch *sketch = feed_cut(&params, cuts[i], SHARING_SEPARATE);

			assert_same_state(sketch, single);
			simple_hash_ops.destroy(sketch);
		}
		simple_hash_ops.destroy(single);
	}
}

static void test_shared_by_one_thread_is_separate(void **state)
{
	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		for (enum sketch_atomic atomic = ATOMIC_CAS; atomic <= ATOMIC_ADD; atomic++) {
			struct sketch_params params = {
				.width = 4096, .metric = metric, .atomic = atomic, .seed = 6};
			struct sketch *separate = feed_cut(&params, 64, SHARING_SEPARATE);
			struct sketch *shared = feed_cut(&params, 0, SHARING_SHARED);

			assert_same_state(shared, separate);
			simple_hash_ops.destroy(shared);
			simple_hash_ops.destroy(separate);
		}
	}
}

static void test_reset(void **state)
{
	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		struct sketch_params params = {.width = 1024, .metric = metric, .seed = 5};
		struct sketch *used = make(params), *fresh = make(params);
		struct zipf_stream stream;

		zipf_open(&stream, 5000, 1.0, 5);
		feed(used, &stream, 20000);
		simple_hash_ops.reset(used);
		assert_same_state(used, fresh);
		assert_true(simple_hash_ops.lists_all_keys(used));
		zipf_restart(&stream, 5);
		feed(used, &stream, 20000);
		zipf_restart(&stream, 5);
		feed(fresh, &stream, 20000);
		assert_same_state(used, fresh);
		zipf_close(&stream);
		simple_hash_ops.destroy(used);
		simple_hash_ops.destroy(fresh);
	}
}

/* Keys that collide under one seed are spread normally under another. */
static void test_aimed_collisions_need_the_seed(void **state)
{
	struct sketch *known = make((struct sketch_params){.width = 256, .seed = 1});
	struct sketch *unknown = make((struct sketch_params){.width = 256, .seed = 2});
	struct zipf_stream stream;
	struct hash_key other;
	uint32_t aimed = 0;

	(void)state;
	zipf_open(&stream, 200000, 1.0, 1);
	hash_key_init(&other, 2);
	for (uint32_t f = 0; f < stream.nb_flows; f++) {
		struct key_burst burst = {0};

		if (pair_of(known, &stream.hash[f]) != 0)
			continue;
		zipf_append(&stream, &burst, f);
		update(known, &burst);
		hash_burst(&other, &burst);
		update(unknown, &burst);
		aimed++;
	}
	assert_true(aimed > 1000);
	assert_int_equal(simple_hash_ops.error_bound(known, aimed, 0.999), aimed / 3);
	/* 128 pairs, each with less than three times its share. */
	assert_true(simple_hash_ops.error_bound(unknown, aimed, 0.999) < aimed / 128);
	zipf_close(&stream);
	simple_hash_ops.destroy(known);
	simple_hash_ops.destroy(unknown);
}

/* ---- Merging */

#define PARTS 3

enum split {
	BY_FLOW,
	BY_PACKET,
};

/* An epoch of several workers. */
struct workers {
	struct sketch *part[PARTS];
	struct hyperloglog *distinct[PARTS];
	struct ledger ledger;
};

static void close_workers(struct workers *workers)
{
	for (uint32_t p = 0; p < PARTS; p++) {
		simple_hash_ops.destroy(workers->part[p]);
		free(workers->distinct[p]);
	}
}

static struct workers feed_workers(const struct sketch_params *params, struct zipf_stream *stream,
	uint32_t nb_packets, enum split split)
{
	struct workers workers = {
		.ledger = {.smallest_frame = FRAME_MIN, .largest_frame = FRAME_MAX}};

	for (uint32_t p = 0; p < PARTS; p++) {
		workers.part[p] = make(*params);
		workers.distinct[p] = aligned_alloc(64, sizeof(struct hyperloglog));
		assert_non_null(workers.distinct[p]);
		hyperloglog_reset(workers.distinct[p]);
	}
	for (uint32_t i = 0; i < nb_packets; i++) {
		struct key_burst burst = {0};
		uint32_t flow = zipf_draw(stream);
		uint32_t p = (split == BY_FLOW ? flow : i) % PARTS;

		zipf_append(stream, &burst, flow);
		update(workers.part[p], &burst);
		hyperloglog_update(workers.distinct[p], &burst);
		workers.ledger.measured++;
		workers.ledger.bytes += burst.wire_len[0];
	}
	return workers;
}

static void check_merge(const struct sketch_params *params, double exponent, enum split split)
{
	struct sketch *total = make(*params);
	struct zipf_stream stream;
	struct workers workers;

	zipf_open(&stream, 20000, exponent, params->seed);
	workers = feed_workers(params, &stream, 60000, split);
	for (uint32_t p = 0; p < PARTS; p++) {
		assert_int_equal(simple_hash_ops.merge(total, workers.part[p]), 0);
		for (uint32_t f = 0; p == 0 && f < stream.nb_flows; f++)
			assert_int_equal(simple_hash_ops.query(total, &stream.hash[f]).value,
				simple_hash_ops.query(workers.part[0], &stream.hash[f]).value);
	}
	assert_candidates_hold(total, &stream);
	assert_queries_hold(total, &stream);
	assert_weights(total, &stream, true);
	/* Estimates are never below the sum over the parts. */
	for (uint32_t f = 0; f < stream.nb_flows; f++) {
		uint64_t sum = 0;

		for (uint32_t p = 0; p < PARTS; p++)
			sum += simple_hash_ops.query(workers.part[p], &stream.hash[f]).value;
		assert_true(simple_hash_ops.query(total, &stream.hash[f]).value >= sum);
	}
	/* A merged table continues like any other. */
	feed(total, &stream, 20000);
	assert_candidates_hold(total, &stream);
	assert_queries_hold(total, &stream);
	assert_weights(total, &stream, true);
	close_workers(&workers);
	zipf_close(&stream);
	simple_hash_ops.destroy(total);
}

static void test_merge(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		for (enum split split = BY_FLOW; split <= BY_PACKET; split++) {
			for (uint64_t width = 64; width <= 16384; width *= 16) {
				struct sketch_params params = {.width = width, .seed = seed};

				check_merge(&params, 1.05, split);
				check_merge(&params, 0, split);
				params.metric = SKETCH_BYTES;
				check_merge(&params, 1.05, split);
			}
		}
	}
}

/* If no pair has more keys than buckets, a merged table equals one that saw everything. */
static void test_merge_of_exact_tables_is_exact(void **state)
{
	struct sketch_params params = {.width = 65536, .seed = 8};
	struct sketch *total = make(params);
	struct zipf_stream stream;
	struct workers workers;

	(void)state;
	zipf_open(&stream, 300, 1.0, 8);
	workers = feed_workers(&params, &stream, 10000, BY_PACKET);
	for (uint32_t p = 0; p < PARTS; p++)
		assert_int_equal(simple_hash_ops.merge(total, workers.part[p]), 0);
	assert_true(simple_hash_ops.lists_all_keys(total));
	for (uint32_t f = 0; f < stream.nb_flows; f++)
		assert_int_equal(
			simple_hash_ops.query(total, &stream.hash[f]).value, stream.packets[f]);
	close_workers(&workers);
	zipf_close(&stream);
	simple_hash_ops.destroy(total);
}

static void test_merge_refuses(void **state)
{
	struct sketch_params params = {.width = 64, .seed = 9};
	struct sketch_params others[3] = {params, params, params};
	struct sketch *sketch = make(params);

	(void)state;
	others[0].width = 128;
	others[1].metric = SKETCH_BYTES;
	others[2].seed = 10;
	for (uint32_t i = 0; i < 3; i++) {
		struct sketch *other = make(others[i]);

		assert_int_equal(simple_hash_ops.merge(sketch, other), -EINVAL);
		simple_hash_ops.destroy(other);
	}
	assert_int_equal(simple_hash_ops.merge(sketch, sketch), -EINVAL);
	simple_hash_ops.destroy(sketch);
}

static void assert_figure(const struct report_figure *figure, uint64_t truth)
{
	assert_true(figure->known && figure->high_known);
	assert_true(figure->low <= truth && truth <= figure->high);
	assert_true(figure->low <= figure->value && figure->value <= figure->high);
}

/*
 * Checks the reporter's intervals of both metrics, and that no key that is heavy on any part is
 * missing.
 */
static void check_report(const struct sketch_params *params, enum split split)
{
	struct sketch_params checked = *params;
	struct zipf_stream stream;
	struct workers workers;
	struct merger *merger;

	zipf_open(&stream, 20000, 1.05, params->seed);
	workers = feed_workers(params, &stream, 60000, split);
	checked.allocator = sketch_allocator_malloc;
	assert_null(simple_hash_ops.check(&checked));
	merger = merger_create(&simple_hash_ops, &checked);
	assert_non_null(merger);
	assert_int_equal(merger_collect(merger, &(struct merge_input){.parts = workers.part,
							.distinct = workers.distinct,
							.nb_parts = PARTS,
							.ledger = &workers.ledger,
							.loss_known = true,
							.confidence = 0.999}),
		0);
	assert_true(merger_nb_flows(merger) >= params->width / 2);
	for (uint32_t i = 0; i < merger_nb_flows(merger); i++) {
		struct merge_flow flow = merger_flow(merger, i);
		uint32_t f = zipf_flow(&flow.key);
		uint64_t sum = 0;

		for (uint32_t p = 0; p < PARTS; p++)
			sum += simple_hash_ops.query(workers.part[p], &stream.hash[f]).value;
		assert_figure(&flow.packets, stream.packets[f]);
		assert_figure(&flow.bytes, stream.bytes[f]);
		assert_int_equal(
			params->metric == SKETCH_PACKETS ? flow.packets.high : flow.bytes.high,
			sum);
		assert_true(sum <= merger_ceiling(merger, i));
	}
	merger_destroy(merger);
	close_workers(&workers);
	zipf_close(&stream);
}

static void test_report(void **state)
{
	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		for (enum split split = BY_FLOW; split <= BY_PACKET; split++) {
			struct sketch_params params = {.width = 64, .metric = metric, .seed = 3};

			check_report(&params, split);
			params.width = 4096;
			check_report(&params, split);
		}
	}
}

/* ---- Saturation */

/* A table, and three keys of its pair 0. */
struct full {
	struct sketch *sketch;
	struct bucket_pair *pair;
	struct zipf_stream stream;
	uint32_t flow[3];
};

static struct full open_full(enum sketch_metric metric)
{
	struct full full = {
		.sketch = make((struct sketch_params){.width = 16, .metric = metric, .seed = 1})};
	uint32_t n = 0;

	full.pair = &pairs_of(full.sketch)[0];
	zipf_open(&full.stream, 100, 1.0, 1);
	for (uint32_t f = 0; n < 3; f++) {
		assert_true(f < full.stream.nb_flows);
		if (pair_of(full.sketch, &full.stream.hash[f]) == 0)
			full.flow[n++] = f;
	}
	return full;
}

static void close_full(struct full *full)
{
	simple_hash_ops.destroy(full->sketch);
	zipf_close(&full->stream);
}

static void send(struct full *full, uint32_t which, uint32_t wire_len)
{
	struct key_burst burst = {0};
	struct key key = zipf_key(full->flow[which]);

	burst_append(&burst, &key, &full->stream.hash[full->flow[which]], wire_len);
	update(full->sketch, &burst);
}

static struct sketch_estimate ask(const struct full *full, uint32_t which)
{
	return simple_hash_ops.query(full->sketch, &full->stream.hash[full->flow[which]]);
}

static struct sketch_candidate first_candidate(const struct full *full)
{
	struct listing listing = list_of(full->sketch);
	struct sketch_candidate candidate;

	assert_true(listing.n > 0);
	candidate = listing.list[0];
	free(listing.list);
	return candidate;
}

static void check_saturated_packets(enum sketch_metric metric)
{
	struct full full = open_full(metric);

	send(&full, 0, 100);
	full.pair->packets[0] = UINT32_MAX - 2;
	send(&full, 0, 100);
	assert_false(ask(&full, 0).saturated);
	assert_int_equal(first_candidate(&full).before, 0);
	for (uint32_t i = 0; i < 4; i++) {
		send(&full, 0, 100);
		assert_true(ask(&full, 0).saturated);
		assert_int_equal(first_candidate(&full).packets, UINT32_MAX);
		assert_int_equal(first_candidate(&full).before, UINT64_MAX);
	}
	assert_int_equal(first_candidate(&full).bytes, 600);
	/* The key keeps its bucket. */
	for (uint32_t i = 0; i < 10; i++) {
		send(&full, 1, 10);
		send(&full, 2, 10);
	}
	if (metric == SKETCH_PACKETS)
		assert_true(is_stored(full.sketch, &full.stream.hash[full.flow[0]]));
	close_full(&full);
}

static void check_saturated_bytes(enum sketch_metric metric)
{
	struct full full = open_full(metric);
	struct sketch_candidate candidate;

	send(&full, 0, 100);
	full.pair->bytes_low[0] = UINT32_MAX - 50;
	send(&full, 0, 100); /* carry into the high part */
	candidate = first_candidate(&full);
	assert_int_equal(candidate.bytes, (UINT64_C(1) << 32) + 49);
	assert_int_equal(candidate.key.family, zipf_key(full.flow[0]).family);
	full.pair->bytes_low[0] = UINT32_MAX - 150;
	full.pair->bytes_high[0] |= BUCKET_BYTES_MAX >> 32;
	send(&full, 0, 100);
	assert_false(ask(&full, 0).saturated);
	assert_int_equal(first_candidate(&full).bytes, BUCKET_BYTES_MAX - 50);
	for (uint32_t i = 0; i < 4; i++) {
		send(&full, 0, 100);
		assert_true(ask(&full, 0).saturated);
		candidate = first_candidate(&full);
		assert_int_equal(candidate.bytes, BUCKET_BYTES_MAX);
		assert_int_equal(candidate.before, UINT64_MAX);
		assert_int_equal(candidate.key.family, zipf_key(full.flow[0]).family);
		assert_int_equal(candidate.packets, 4 + i);
	}
	close_full(&full);
}

static void check_saturated_rest(enum sketch_metric metric)
{
	struct full full = open_full(metric);

	send(&full, 0, 100);
	send(&full, 1, 100);
	for (uint32_t way = 0; way < BUCKET_WAYS; way++)
		full.pair->packets[way] = full.pair->bytes_low[way] = 3000000000;
	full.pair->rest = REST_MAX - 150;
	send(&full, 2, 100);
	assert_int_equal(full.pair->rest, REST_MAX - 150 + metric_of(full.sketch, 1, 100));
	assert_false(ask(&full, 2).saturated);
	full.pair->rest = REST_MAX - 1;
	for (uint32_t i = 0; i < 300; i++) {
		send(&full, 2, 1 + 100 * i);
		assert_int_equal(full.pair->rest, REST_MAX);
		assert_true(ask(&full, 2).saturated);
		assert_false(ask(&full, 0).saturated);
	}
	assert_int_equal(simple_hash_ops.error_bound(full.sketch, 3, 0.999), UINT64_MAX);

	/* A key that takes a bucket now has no upper bound. */
	full.pair->packets[0] = full.pair->bytes_low[0] = 100;
	full.pair->before[0] = REST_MAX - 100;
	send(&full, 2, 1000);
	assert_true(is_stored(full.sketch, &full.stream.hash[full.flow[2]]));
	assert_int_equal(full.pair->rest, REST_MAX);
	assert_true(ask(&full, 2).saturated);
	assert_int_equal(ask(&full, 2).value, metric_of(full.sketch, 1, 1000));
	assert_int_equal(first_candidate(&full).before, UINT64_MAX);
	close_full(&full);
}

/* Sets the counters of all pairs at random: far from the maximum, near it or at it. */
static void set_near_ends(struct sketch *sketch, uint64_t *random)
{
	for (uint64_t p = 0; p < nb_pairs(sketch); p++) {
		struct bucket_pair *pair = &pairs_of(sketch)[p];

		for (uint32_t way = 0; way < BUCKET_WAYS; way++) {
			uint32_t below = (uint32_t)(zipf_random(random) % 8);
			uint64_t high = zipf_random(random) % 3 * (BUCKET_BYTES_MAX >> 33);

			if (pair->packets[way] == 0)
				continue;
			if (zipf_random(random) % 2 != 0)
				pair->packets[way] = UINT32_MAX - below;
			pair->bytes_low[way] = UINT32_MAX - below * 500;
			pair->bytes_high[way] =
				(uint16_t)((pair->bytes_high[way] & BUCKET_IPV6) | high);
			pair->before[way] = zipf_random(random) % 2 != 0 ? REST_MAX - below : below;
		}
		if (zipf_random(random) % 2 != 0)
			pair->rest = REST_MAX - (uint32_t)(zipf_random(random) % 2000);
	}
}

/* For any way of counting a burst: shared updates process one packet after the other. */
static void check_ends_alone(enum sketch_metric metric)
{
	struct sketch_params params = {.width = 32, .metric = metric, .seed = 5};
	struct sketch *alone = make(params), *shared = make(params);
	struct key_burst burst = {0};
	struct zipf_stream stream;
	uint64_t random = 7;

	zipf_open(&stream, 200, 1.0, params.seed);
	for (uint32_t b = 0; b < 3000; b++) {
		uint32_t n = (uint32_t)(zipf_random(&random) % (BURST_MAX + 1));

		burst.n = 0;
		burst.v6 = 0;
		while (burst.n < n)
			zipf_append(&stream, &burst, zipf_draw(&stream));
		for (uint32_t i = 0; i < n; i++)
			if (zipf_random(&random) % 16 == 0)
				burst.wire_len[i] = (uint32_t)zipf_random(&random);
		simple_hash_ops.update[SHARING_SEPARATE](alone, &burst);
		simple_hash_ops.update[SHARING_SHARED](shared, &burst);
		assert_same_state(alone, shared);
		if (b % 20 == 0) {
			set_near_ends(alone, &random);
			memcpy(pairs_of(shared), pairs_of(alone),
				nb_pairs(alone) * sizeof(struct bucket_pair));
		}
		if (b % 500 == 0) {
			simple_hash_ops.reset(alone);
			simple_hash_ops.reset(shared);
		}
	}
	zipf_close(&stream);
	simple_hash_ops.destroy(alone);
	simple_hash_ops.destroy(shared);
}

static void test_ends_alone_and_shared(void **state)
{
	(void)state;
	check_ends_alone(SKETCH_PACKETS);
	check_ends_alone(SKETCH_BYTES);
}

static void check_saturated_merge(enum sketch_metric metric)
{
	struct full a = open_full(metric), b = open_full(metric);

	send(&a, 0, 100);
	send(&b, 0, 100);
	a.pair->packets[0] = b.pair->packets[0] = UINT32_MAX - 5;
	a.pair->bytes_low[0] = b.pair->bytes_low[0] = UINT32_MAX;
	a.pair->bytes_high[0] |= BUCKET_BYTES_MAX >> 32;
	b.pair->bytes_high[0] |= BUCKET_BYTES_MAX >> 32;
	a.pair->before[0] = b.pair->before[0] = UINT32_C(1) << 30;
	a.pair->rest = b.pair->rest = REST_MAX - 5;
	assert_int_equal(simple_hash_ops.merge(a.sketch, b.sketch), 0);
	assert_int_equal(a.pair->packets[0], UINT32_MAX);
	assert_int_equal(bucket_bytes(a.pair, 0), BUCKET_BYTES_MAX);
	assert_int_equal(a.pair->before[0], REST_MAX);
	assert_int_equal(a.pair->rest, REST_MAX);
	assert_true(ask(&a, 0).saturated);
	assert_true(ask(&a, 1).saturated);
	close_full(&a);
	close_full(&b);
}

static void test_saturation(void **state)
{
	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		check_saturated_packets(metric);
		check_saturated_bytes(metric);
		check_saturated_rest(metric);
		check_saturated_merge(metric);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registry),
		cmocka_unit_test(test_pairs_are_cache_lines),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_width_for),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_rule),
		cmocka_unit_test(test_bounds_hold),
		cmocka_unit_test(test_collision),
		cmocka_unit_test(test_whole_hash_tells_keys_apart),
		cmocka_unit_test(test_lists_all_keys_while_none_was_turned_away),
		cmocka_unit_test(test_top_100),
		cmocka_unit_test(test_burst_borders_do_not_matter),
		cmocka_unit_test(test_shared_by_one_thread_is_separate),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_aimed_collisions_need_the_seed),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_merge_of_exact_tables_is_exact),
		cmocka_unit_test(test_merge_refuses),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_saturation),
		cmocka_unit_test(test_ends_alone_and_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
