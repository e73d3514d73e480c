/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "key/mangle6.h"
#include "make_sketch.h"
#include "merged.h"
#include "same_rows.h"
#include "sketch/reversible/reversible.h"
#include "zipf_stream.h"

#define SEED 11

static struct sketch *make(struct sketch_params params)
{
	params.seed = SEED;
	return make_sketch(&reversible_ops, params);
}

static void feed(struct sketch *sketch, struct zipf_stream *stream, uint32_t nb_packets,
	enum sketch_sharing sharing)
{
	struct key_burst burst = {0};

	for (uint32_t i = 0; i < nb_packets; i++) {
		zipf_append(stream, &burst, zipf_draw(stream));
		if (burst.n == BURST_MAX || i + 1 == nb_packets) {
			reversible_ops.update[sharing](sketch, &burst);
			burst.n = 0;
		}
	}
}

static void assert_same_buckets(const struct chunk_rows *a, const struct chunk_rows *b)
{
	size_t size = chunk_rows_size(a->bits, a->words);

	assert_int_equal(size, chunk_rows_size(b->bits, b->words));
	assert_int_equal(memcmp(a->buckets, b->buckets, size), 0);
}

/* Compares counters, buckets and sets. */
static void assert_same_state(const struct sketch *a, const struct sketch *b)
{
	const struct reversible *x = reversible_of_const(a), *y = reversible_of_const(b);

	assert_same_rows(&x->counters, &y->counters);
	assert_same_buckets(&x->rows4, &y->rows4);
	assert_same_buckets(&x->rows6, &y->rows6);
	assert_int_equal(x->has_ipv6, y->has_ipv6);
}

static void test_registry(void **state)
{
	(void)state;
	assert_ptr_equal(sketch_find("reversible"), &reversible_ops);
	assert_ptr_equal(sketch_find("rs"), &reversible_ops);
}

static void test_shape(void **state)
{
	struct sketch_params params = {0};

	(void)state;
	assert_null(reversible_ops.check(&params));
	assert_int_equal(params.depth, 4);
	assert_int_equal(params.width, 262144);
	for (uint32_t bits = 4; bits <= 24; bits++) {
		struct sketch_params shape = {.width = UINT64_C(1) << bits};
		uint64_t least;

		assert_null(reversible_ops.check(&shape));
		least = reversible_ops.memory(&shape);
		shape.width = sketch_width_for(&reversible_ops, &shape, least);
		assert_int_equal(shape.width, UINT64_C(1) << bits);
		shape.width = sketch_width_for(&reversible_ops, &shape, least - 1);
		assert_true(shape.width < UINT64_C(1) << bits);
	}
	params.depth = 17;
	assert_non_null(reversible_ops.check(&params));
}

/* --- buckets, compared with the simplest code --- */

/* A mangled key as single bits, with the parity of an IPv6 key's last words. */
struct plain_key {
	uint8_t bit[384];
	uint32_t nb_bits;
};

static struct plain_key plain_key_of(const struct hash_key *hash_key, const struct key *key)
{
	static struct key_burst burst;
	struct plain_key plain = {.nb_bits = 128};
	struct mangled6 mangled = {{0}};

	burst.n = 0;
	burst_append(&burst, key, &(struct key_hash){0, 0}, 0);
	hash_burst_portable(hash_key, &burst);
	mangled.word[0] = burst.hash[0].lo;
	mangled.word[1] = burst.hash[0].hi;
	if (key->family == KEY_IPV6) {
		plain.nb_bits = 384;
		mangle6_burst_portable(hash_key, &burst, &mangled);
	}
	for (uint32_t b = 0; b < 320; b++)
		plain.bit[b] = mangled.word[b / 64] >> b % 64 & 1;
	for (uint32_t b = 0; b < 64; b++)
		plain.bit[320 + b] = plain.bit[128 + b] ^ plain.bit[192 + b] ^ plain.bit[256 + b];
	return plain;
}

static uint32_t bits_at(const struct plain_key *key, uint32_t from, uint32_t n)
{
	uint32_t value = 0;

	for (uint32_t b = 0; b < n; b++)
		value |= (uint32_t)key->bit[from + b] << b;
	return value;
}

/* Adds a key to plain rows: the index of row r is the highest bits of hash bits 32r..32r+31. */
static void plain_add(
	uint64_t *buckets, uint32_t index_bits, const struct plain_key *key, uint64_t weight)
{
	uint32_t words = key->nb_bits / 16;

	for (uint32_t row = 0; row < 4; row++) {
		uint32_t index = bits_at(key, 32 * row + 32 - index_bits, index_bits);
		uint64_t *bucket = buckets + (((size_t)row << index_bits) + index) * words;

		for (uint32_t nibble = 0; nibble < key->nb_bits / 4; nibble++)
			if (nibble / 4 != 2 * row + 1)
				bucket[nibble / 4] |= UINT64_C(1) << (16 * (nibble % 4) +
								      bits_at(key, 4 * nibble, 4));
		bucket[2 * row + 1] += weight;
	}
}

static void check_buckets(
	uint32_t width_bits, uint32_t bits4, uint32_t bits6, enum sketch_metric metric)
{
	struct sketch *sketch =
		make((struct sketch_params){.width = UINT64_C(1) << width_bits, .metric = metric});
	const struct reversible *rv = reversible_of_const(sketch);
	uint64_t *plain4 = calloc((size_t)4 << bits4, 8 * 8);
	uint64_t *plain6 = calloc((size_t)4 << bits6, 8 * 24);
	struct zipf_stream stream;

	zipf_open(&stream, 3000, 1.0, SEED);
	feed(sketch, &stream, 8000, SHARING_SEPARATE);
	for (uint32_t f = 0; f < stream.nb_flows; f++) {
		struct key key = zipf_key(f);
		struct plain_key plain = plain_key_of(&stream.hash_key, &key);
		uint64_t truth = metric == SKETCH_PACKETS ? stream.packets[f] : stream.bytes[f];

		if (truth == 0)
			continue;
		if (key.family == KEY_IPV4)
			plain_add(plain4, bits4, &plain, truth);
		else
			plain_add(plain6, bits6, &plain, truth);
	}
	assert_memory_equal(rv->rows4.buckets, plain4, ((size_t)4 << bits4) * 64);
	assert_memory_equal(rv->rows6.buckets, plain6, ((size_t)4 << bits6) * 192);
	free(plain4);
	free(plain6);
	zipf_close(&stream);
	reversible_ops.destroy(sketch);
}

static void test_buckets(void **state)
{
	(void)state;
	check_buckets(18, 16, 14, SKETCH_PACKETS);
	check_buckets(18, 16, 14, SKETCH_BYTES);
	check_buckets(21, 16, 16, SKETCH_PACKETS);
	check_buckets(15, 13, 11, SKETCH_PACKETS);
	check_buckets(4, 12, 10, SKETCH_BYTES);
}

/* --- recovery --- */

struct found {
	const struct sketch *sketch;
	const struct zipf_stream *stream;
	uint32_t n;
	uint8_t *flow; /* how often each flow was emitted */
};

static void note(const struct sketch_candidate *candidate, void *arg)
{
	struct found *found = arg;
	uint32_t flow = zipf_flow(&candidate->key);
	struct sketch_estimate estimate;
	struct key key;

	/* A forged key would rarely name a flow, and never one that was seen. */
	assert_true(flow < found->stream->nb_flows);
	key = zipf_key(flow);
	assert_true(key_equal(&key, &candidate->key));
	assert_true(found->stream->packets[flow] > 0);
	assert_int_equal(candidate->hash.lo, found->stream->hash[flow].lo);
	assert_int_equal(candidate->hash.hi, found->stream->hash[flow].hi);
	assert_int_equal(candidate->packets, 0);
	assert_int_equal(candidate->bytes, 0);
	estimate = reversible_ops.query(found->sketch, &candidate->hash);
	assert_true(candidate->before == (estimate.saturated ? UINT64_MAX : estimate.value));
	found->flow[flow]++;
	found->n++;
}

/* Recovers, and checks that all flows above the bound were found, each once. */
static uint64_t check_recovery(const struct sketch *sketch, const struct zipf_stream *stream,
	uint32_t wanted, uint64_t smallest, uint32_t *nb_found)
{
	const uint64_t *truth =
		sketch->params.metric == SKETCH_PACKETS ? stream->packets : stream->bytes;
	struct found found = {sketch, stream, 0, calloc(stream->nb_flows, 1)};
	uint64_t bound = reversible_ops.recover(sketch, wanted, smallest, note, &found);

	for (uint32_t f = 0; f < stream->nb_flows; f++) {
		assert_true(found.flow[f] <= 1);
		if (truth[f] > bound)
			assert_int_equal(found.flow[f], 1);
	}
	free(found.flow);
	*nb_found = found.n;
	return bound;
}

static void check_top(struct sketch_params params, uint32_t nb_flows, double exponent)
{
	struct sketch *sketch = make(params);
	struct zipf_stream stream;
	uint32_t nb_found;
	uint64_t bound;

	zipf_open(&stream, nb_flows, exponent, SEED);
	feed(sketch, &stream, 300000, SHARING_SEPARATE);
	bound = check_recovery(sketch, &stream, 100, 1, &nb_found);
	assert_true(nb_found >= 100);
	assert_true(bound > 0 && bound < UINT64_MAX);
	zipf_close(&stream);
	reversible_ops.destroy(sketch);
}

static void test_finds_the_top(void **state)
{
	(void)state;
	check_top((struct sketch_params){0}, 100000, 1.05);
	check_top((struct sketch_params){.metric = SKETCH_BYTES}, 100000, 1.05);
	check_top((struct sketch_params){0}, 100000, 0.8);
	check_top((struct sketch_params){.depth = 5, .width = 1 << 16}, 20000, 1.05);
	check_top((struct sketch_params){.depth = 3, .width = 1 << 20}, 20000, 1.05);
	check_top((struct sketch_params){.depth = 2, .width = 1 << 22}, 20000, 1.05);
	check_top((struct sketch_params){.depth = 1, .width = 1 << 16}, 5000, 1.05);
	check_top((struct sketch_params){.depth = 16, .width = 1 << 8}, 2000, 1.3);
}

static void test_finds_all_of_few(void **state)
{
	struct sketch *sketch = make((struct sketch_params){0});
	struct zipf_stream stream;
	uint32_t nb_found;

	(void)state;
	zipf_open(&stream, 3000, 1.0, SEED);
	assert_int_equal(check_recovery(sketch, &stream, 0, 1, &nb_found), 0);
	assert_int_equal(nb_found, 0);
	feed(sketch, &stream, 10000, SHARING_SEPARATE);
	assert_int_equal(check_recovery(sketch, &stream, 0, 1, &nb_found), 0);
	/* The same without a smallest value. */
	assert_int_equal(check_recovery(sketch, &stream, 0, 0, &nb_found), 0);
	assert_false(reversible_ops.lists_all_keys(sketch));
	zipf_close(&stream);
	reversible_ops.destroy(sketch);
}

static void test_stops_at_the_smallest(void **state)
{
	struct sketch *sketch = make((struct sketch_params){0});
	struct zipf_stream stream;
	uint32_t nb_found, above = 0;

	(void)state;
	zipf_open(&stream, 50000, 1.0, SEED);
	feed(sketch, &stream, 200000, SHARING_SEPARATE);
	assert_int_equal(check_recovery(sketch, &stream, 0, 200, &nb_found), 199);
	for (uint32_t f = 0; f < stream.nb_flows; f++)
		above += stream.packets[f] >= 200;
	assert_true(above > 20);
	assert_in_range(nb_found, above, above + above / 5);
	assert_int_equal(check_recovery(sketch, &stream, 0, 1000000, &nb_found), 999999);
	assert_int_equal(nb_found, 0);
	zipf_close(&stream);
	reversible_ops.destroy(sketch);
}

static void test_candidates(void **state)
{
	struct sketch *sketch = make((struct sketch_params){.candidates = 50});
	struct zipf_stream stream;
	struct found found = {.sketch = sketch, .stream = &stream};

	(void)state;
	zipf_open(&stream, 10000, 1.0, SEED);
	feed(sketch, &stream, 100000, SHARING_SEPARATE);
	found.flow = calloc(stream.nb_flows, 1);
	reversible_ops.candidates(sketch, note, &found);
	assert_in_range(found.n, 50, 150);
	free(found.flow);
	zipf_close(&stream);
	reversible_ops.destroy(sketch);
}

/*
 * A flood of single packets fills every bucket and every set. Recovery ends, reports no bound for
 * small flows, and finds only true keys.
 */
static void check_flood(uint32_t ipv6_only, uint32_t nb_flows)
{
	struct sketch *sketch = make((struct sketch_params){0});
	const struct reversible *rv = reversible_of_const(sketch);
	const struct chunk_rows *rows = ipv6_only ? &rv->rows6 : &rv->rows4;
	struct key_burst burst = {0};
	struct zipf_stream stream;
	uint32_t nb_found;

	zipf_open(&stream, nb_flows, 1.0, SEED);
	for (uint32_t f = 0; f < nb_flows; f++) {
		if (ipv6_only && f % 3 != 2)
			continue;
		zipf_append(&stream, &burst, f);
		if (burst.n == BURST_MAX) {
			reversible_ops.update[SHARING_SEPARATE](sketch, &burst);
			burst.n = 0;
		}
	}
	reversible_ops.update[SHARING_SEPARATE](sketch, &burst);
	for (uint64_t b = 0; b < (uint64_t)4 << rows->bits; b++)
		assert_true(chunk_rows_bucket(rows, b)[1 + 2 * (b >> rows->bits)] > 0);
	assert_true(check_recovery(sketch, &stream, 0, 1, &nb_found) > 0);
	zipf_close(&stream);
	reversible_ops.destroy(sketch);
}

static void test_flood_ends_in_the_budget(void **state)
{
	(void)state;
	check_flood(false, 2500000);
	check_flood(true, 1500000);
}

/* Heavy flows among many small ones, in a sketch too small to recover all. */
static void test_heavy_flows_of_a_flood(void **state)
{
	struct sketch *sketch = make((struct sketch_params){.width = 1 << 16});
	struct key_burst burst = {0};
	struct zipf_stream stream;
	uint32_t nb_found;

	(void)state;
	zipf_open(&stream, 200000, 1.0, SEED);
	for (uint32_t i = 0; i < stream.nb_flows * 2; i++) {
		zipf_append(&stream, &burst, i % 2 == 0 ? i / 2 : i / 2 % 20 * 3);
		if (burst.n == BURST_MAX) {
			reversible_ops.update[SHARING_SEPARATE](sketch, &burst);
			burst.n = 0;
		}
	}
	assert_true(check_recovery(sketch, &stream, 20, 1, &nb_found) < 10000);
	assert_true(nb_found >= 20);
	assert_true(check_recovery(sketch, &stream, 0, 1, &nb_found) > 0);
	zipf_close(&stream);
	reversible_ops.destroy(sketch);
}

static void test_no_memory(void **state)
{
	struct sketch *sketch = make((struct sketch_params){.width = 1024});
	uint32_t nb_found;
	struct zipf_stream stream;

	(void)state;
	assert_none_without_memory(&reversible_ops);

	zipf_open(&stream, 100, 1.0, SEED);
	feed(sketch, &stream, 100, SHARING_SEPARATE);
	sketch->params.allocator.alloc = no_memory;
	assert_true(check_recovery(sketch, &stream, 10, 1, &nb_found) == UINT64_MAX);
	assert_int_equal(nb_found, 0);
	assert_true(reversible_ops.error_bound(sketch, 100, 0.9) == UINT64_MAX);
	zipf_close(&stream);
	reversible_ops.destroy(sketch);
}

/* --- the same state in any way --- */

static void test_merge_is_one_sketch_fed_everything(void **state)
{
	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		struct sketch_params params = {.width = 1 << 14, .metric = metric};
		struct sketch *whole = make(params), *total = make(params), *part[3];
		struct zipf_stream stream;

		zipf_open(&stream, 20000, 1.1, SEED);
		for (uint32_t p = 0; p < 3; p++)
			part[p] = make(params);
		for (uint32_t i = 0; i < 30000; i++) {
			struct key_burst burst = {0};

			zipf_append(&stream, &burst, zipf_draw(&stream));
			reversible_ops.update[SHARING_SEPARATE](whole, &burst);
			reversible_ops.update[SHARING_SEPARATE](part[i % 3], &burst);
		}
		for (uint32_t p = 0; p < 3; p++) {
			assert_int_equal(reversible_ops.merge(total, part[p]), 0);
			reversible_ops.destroy(part[p]);
		}
		assert_same_state(total, whole);
		zipf_close(&stream);
		reversible_ops.destroy(whole);
		reversible_ops.destroy(total);
	}
}

static void test_merge_refuses(void **state)
{
	struct sketch_params params = {.depth = 3, .width = 64};
	struct sketch_params others[3] = {params, params, params};
	struct sketch *sketch = make(params), *twin = make(params);
	struct sketch_ops other_kind = reversible_ops;

	(void)state;
	others[0].depth = 2;
	others[1].width = 128;
	others[2].metric = SKETCH_BYTES;
	for (uint32_t i = 0; i < 3; i++) {
		struct sketch *other = make(others[i]);

		assert_int_equal(reversible_ops.merge(sketch, other), -EINVAL);
		reversible_ops.destroy(other);
	}
	assert_int_equal(reversible_ops.merge(sketch, sketch), -EINVAL);
	assert_int_equal(reversible_ops.merge(sketch, twin), 0);
	twin->params.seed = SEED + 1;
	assert_int_equal(reversible_ops.merge(sketch, twin), -EINVAL);
	twin->params.seed = SEED;
	twin->ops = &other_kind;
	assert_int_equal(reversible_ops.merge(sketch, twin), -EINVAL);
	reversible_ops.destroy(sketch);
	reversible_ops.destroy(twin);
}

/* Keys that wait in a list are not yet in the counters that others share. */
static void assert_queries_hold(const struct sketch *shared, const struct sketch *separate,
	const struct zipf_stream *stream)
{
	const uint64_t *truth =
		shared->params.metric == SKETCH_PACKETS ? stream->packets : stream->bytes;

	for (uint32_t f = 0; f < stream->nb_flows; f++) {
		uint64_t value = reversible_ops.query(shared, &stream->hash[f]).value;

		assert_true(value >= truth[f]);
		assert_true(value <= reversible_ops.query(separate, &stream->hash[f]).value);
	}
}

static void test_shared_on_one_thread(void **state)
{
	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		struct sketch_params params = {.width = 1 << 14, .metric = metric};
		struct sketch *separate = make(params);
		struct zipf_stream stream;

		zipf_open(&stream, 20000, 1.0, SEED);
		feed(separate, &stream, 50000, SHARING_SEPARATE);
		for (int atomic = ATOMIC_CAS; atomic <= ATOMIC_ADD; atomic++) {
			struct sketch *shared, *merged;

			params.atomic = (enum sketch_atomic)atomic;
			params.writers = 2;
			shared = make(params);
			zipf_restart(&stream, SEED);
			feed(shared, &stream, 50000, SHARING_SHARED);
			merged = merged_of(shared);
			assert_same_state(merged, separate);
			assert_queries_hold(shared, separate, &stream);
			reversible_ops.reset(shared);
			assert_int_equal(reversible_ops.merge(shared, merged), 0);
			assert_same_state(shared, separate);
			reversible_ops.destroy(shared);
			reversible_ops.destroy(merged);
		}
		zipf_close(&stream);
		reversible_ops.destroy(separate);
	}
}

static void test_burst_borders_do_not_matter(void **state)
{
	struct sketch_params params = {.width = 1 << 10};
	struct sketch *single = make(params), *cut = make(params);
	struct key_burst burst = {0};
	struct zipf_stream stream;
	uint64_t random = 4;

	(void)state;
	zipf_open(&stream, 5000, 1.0, SEED);
	for (uint32_t i = 0; i < 20000; i++) {
		struct key_burst one = {0};
		uint32_t flow = zipf_draw(&stream);
		struct key key = zipf_key(flow);

		zipf_append(&stream, &one, flow);
		burst_append(&burst, &key, &stream.hash[flow], one.wire_len[0]);
		reversible_ops.update[SHARING_SEPARATE](single, &one);
		if (burst.n == BURST_MAX || zipf_random(&random) % 16 == 0) {
			reversible_ops.update[SHARING_SEPARATE](cut, &burst);
			burst.n = 0;
		}
	}
	reversible_ops.update[SHARING_SEPARATE](cut, &burst);
	assert_same_state(single, cut);
	zipf_close(&stream);
	reversible_ops.destroy(single);
	reversible_ops.destroy(cut);
}

static void test_reset(void **state)
{
	struct sketch_params params = {.width = 1 << 12};
	struct sketch *used = make(params), *fresh = make(params);
	struct zipf_stream stream;

	(void)state;
	zipf_open(&stream, 5000, 1.0, SEED);
	for (uint32_t round = 0; round < 2; round++) {
		feed(used, &stream, 20000, SHARING_SEPARATE);
		reversible_ops.reset(used);
		assert_same_state(used, fresh);
	}
	zipf_close(&stream);
	reversible_ops.destroy(used);
	reversible_ops.destroy(fresh);
}

static void check_saturation(
	enum sketch_metric metric, enum sketch_sharing sharing, enum sketch_atomic atomic)
{
	struct sketch_params params = {.width = 16,
		.metric = metric,
		.atomic = atomic,
		.writers = sharing == SHARING_SHARED ? 2 : 1};
	struct sketch *sketch = make(params), *other = make(params);
	struct reversible *rv = (struct reversible *)sketch;
	uint64_t max = metric == SKETCH_PACKETS ? UINT32_MAX : UINT64_MAX;
	struct key key = zipf_key(0);
	struct zipf_stream stream;
	struct key_burst burst = {0};
	struct sketch_estimate estimate;
	uint32_t nb_found;

	zipf_open(&stream, 1, 1.0, SEED);
	stream.packets[0] = stream.bytes[0] = 1;
	for (uint32_t i = 0; i < 64; i++)
		counter_rows_set(&rv->counters, i,
			metric == SKETCH_PACKETS ? UINT32_MAX - 2 : UINT64_MAX - 2000);
	for (uint64_t b = 0; b < (uint64_t)4 << rv->rows4.bits; b++)
		chunk_rows_bucket(&rv->rows4, b)[1 + 2 * (b >> rv->rows4.bits)] = UINT64_MAX - 2;
	burst_append(&burst, &key, &stream.hash[0], 1000);
	for (uint32_t i = 0; i < 5; i++)
		reversible_ops.update[sharing](sketch, &burst);
	for (uint64_t b = 0; b < (uint64_t)4 << rv->rows4.bits; b++)
		assert_true(chunk_rows_bucket(&rv->rows4, b)[1 + 2 * (b >> rv->rows4.bits)] >=
			    UINT64_MAX - 2);
	estimate = reversible_ops.query(sketch, &stream.hash[0]);
	assert_true(estimate.saturated);
	assert_true(estimate.value == max);
	assert_int_equal(reversible_ops.merge(other, sketch), 0);
	estimate = reversible_ops.query(other, &stream.hash[0]);
	assert_true(estimate.saturated);
	assert_true(estimate.value == max);
	/* A merged counter is at its maximum, for any guard. */
	for (uint32_t row = 0; row < 4; row++)
		for (uint64_t b = 0; b < UINT64_C(1) << rv->rows4.bits; b++)
			assert_true(chunk_rows_bucket(&((struct reversible *)other)->rows4,
					    ((uint64_t)row << rv->rows4.bits) + b)[2 * row + 1] >=
				    UINT64_MAX - 2);

	/* Only the key has sets. Its `before` is unknown. */
	reversible_ops.reset(sketch);
	reversible_ops.update[sharing](sketch, &burst);
	reversible_ops.reset(other);
	assert_int_equal(reversible_ops.merge(other, sketch), 0);
	rv = (struct reversible *)other;
	for (uint32_t i = 0; i < 64; i++)
		counter_rows_set(&rv->counters, i, max);
	for (uint64_t b = 0; b < (uint64_t)4 << rv->rows4.bits; b++)
		chunk_rows_bucket(&rv->rows4, b)[1 + 2 * (b >> rv->rows4.bits)] = UINT64_MAX;
	assert_int_equal(check_recovery(other, &stream, 1, 1, &nb_found) > 0, 1);
	assert_int_equal(nb_found, 1);
	zipf_close(&stream);
	reversible_ops.destroy(sketch);
	reversible_ops.destroy(other);
}

static void test_saturation(void **state)
{
	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		check_saturation(metric, SHARING_SEPARATE, ATOMIC_CAS);
		check_saturation(metric, SHARING_SHARED, ATOMIC_CAS);
		check_saturation(metric, SHARING_SHARED, ATOMIC_ADD);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registry),
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_finds_the_top),
		cmocka_unit_test(test_finds_all_of_few),
		cmocka_unit_test(test_stops_at_the_smallest),
		cmocka_unit_test(test_candidates),
		cmocka_unit_test(test_flood_ends_in_the_budget),
		cmocka_unit_test(test_heavy_flows_of_a_flood),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_merge_is_one_sketch_fed_everything),
		cmocka_unit_test(test_merge_refuses),
		cmocka_unit_test(test_shared_on_one_thread),
		cmocka_unit_test(test_burst_borders_do_not_matter),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_saturation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
