/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "make_sketch.h"
#include "sketch/count_min.h"
#include "zipf_stream.h"

static struct sketch *make(struct sketch_params params)
{
	return make_sketch(&count_min_ops, params);
}

static struct candidates *table_of(struct sketch *sketch)
{
	return &((struct count_min *)sketch)->lists[0];
}

static void test_tag_match_variants_agree(void **state)
{
	uint16_t tags[TAG_WAYS] __attribute__((aligned(32)));
	uint64_t random = 5;

	(void)state;
	for (uint32_t round = 0; round < 10000; round++) {
		uint16_t tag = (uint16_t)(zipf_random(&random) % 3 * 0x7fff);
		/* Sometimes none is equal. */
		uint16_t others = (uint16_t)(zipf_random(&random) % 4);
		uint32_t expected = 0, first;
		bool any, any_portable;

		for (uint32_t i = 0; i < TAG_WAYS; i++) {
			tags[i] = (uint16_t)(zipf_random(&random) % 3 * 0x7fff + others);
			if (tags[i] == tag)
				expected |= UINT32_C(1) << i;
		}
		assert_int_equal(tag_match_portable(tags, tag), expected);
		assert_int_equal(tag_match(tags, tag), expected);
		first = expected == 0 ? TAG_WAYS - 1 : (uint32_t)__builtin_ctz(expected);
		assert_int_equal(tag_first_byte_of(expected, &any_portable), first * sizeof(tag));
		assert_int_equal(tag_first_byte(tags, tag, &any), first * sizeof(tag));
		assert_true(any == (expected != 0) && any_portable == any);
	}
}

static void test_capacity(void **state)
{
	(void)state;
	for (uint32_t wanted = 1; wanted <= 10000; wanted = wanted * 2 + 1) {
		struct sketch *sketch = make((struct sketch_params){.candidates = wanted});
		uint32_t nb_buckets = table_of(sketch)->nb_buckets;

		assert_true(nb_buckets * TAG_WAYS >= wanted);
		assert_int_equal(nb_buckets & (nb_buckets - 1), 0);
		count_min_ops.destroy(sketch);
	}
}

struct audit {
	const struct zipf_stream *stream;
	const struct sketch *sketch;
	uint8_t *listed; /* listed[flow]: 1 if listed */
	uint32_t n, exact;
};

/*
 * Checks the guarantees of sketch.h for a candidate, and of candidates.h for a bucket's admission.
 */
static void audit_candidate(const struct sketch_candidate *candidate, void *arg)
{
	struct audit *audit = arg;
	uint32_t flow = zipf_flow(&candidate->key);
	struct key key = zipf_key(flow);
	bool packets = audit->sketch->params.metric == SKETCH_PACKETS;
	uint64_t truth = packets ? audit->stream->packets[flow] : audit->stream->bytes[flow];
	uint64_t upper = candidate->before + (packets ? candidate->packets : candidate->bytes);
	const struct candidates *table = &((const struct count_min *)audit->sketch)->lists[0];

	assert_true(key_equal(&candidate->key, &key));
	assert_true(candidate->packets <= audit->stream->packets[flow]);
	assert_true(candidate->bytes <= audit->stream->bytes[flow]);
	assert_true(truth <= upper);
	assert_true(upper <= count_min_ops.query(audit->sketch, &candidate->hash).value);
	assert_true(table->admission[candidate->hash.hi >> table->bucket_shift] <= 4 * upper + 1);
	assert_int_equal(audit->listed[flow], 0);
	audit->listed[flow] = 1;
	audit->n++;
	audit->exact += candidate->before == 0;
}

static struct audit audit(const struct sketch *sketch, const struct zipf_stream *stream)
{
	struct audit audit = {.stream = stream, .sketch = sketch};

	audit.listed = calloc(stream->nb_flows, 1);
	count_min_ops.candidates(sketch, audit_candidate, &audit);
	return audit;
}

static void check_promises(enum sketch_metric metric, uint64_t width, uint32_t candidates)
{
	struct sketch *sketch = make(
		(struct sketch_params){.width = width, .metric = metric, .candidates = candidates});
	struct zipf_stream stream;

	zipf_open(&stream, 30000, 1.0, 77);
	for (uint32_t round = 0; round < 40; round++) {
		struct audit result;

		for (uint32_t b = 0; b < 50; b++) {
			struct key_burst burst = {0};

			while (burst.n < BURST_MAX)
				zipf_append(&stream, &burst, zipf_draw(&stream));
			count_min_ops.update[SHARING_SEPARATE](sketch, &burst);
		}
		result = audit(sketch, &stream);
		assert_true(result.n <= table_of(sketch)->nb_buckets * TAG_WAYS);
		free(result.listed);
	}
	assert_true(table_of(sketch)->replaced > 0);
	zipf_close(&stream);
	count_min_ops.destroy(sketch);
}

static void test_promises(void **state)
{
	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		check_promises(metric, 65536, 256);
		check_promises(metric, 256, 256); /* upper bounds among collisions */
		check_promises(metric, 16, 32);
	}
}

/* While there is room, every key is listed with its exact count, for any collisions of counters. */
static void test_few_keys_are_exact(void **state)
{
	struct sketch *sketch = make((struct sketch_params){.depth = 1, .width = 16});
	struct key_burst burst = {0};
	struct zipf_stream stream;
	struct audit result;

	(void)state;
	zipf_open(&stream, 500, 0.5, 1);
	for (uint32_t i = 0; i < 64 * 500; i++) {
		zipf_append(&stream, &burst, i % 500);
		if (burst.n == BURST_MAX) {
			count_min_ops.update[SHARING_SEPARATE](sketch, &burst);
			burst.n = 0;
		}
	}
	result = audit(sketch, &stream);
	assert_int_equal(result.n, 500);
	assert_int_equal(result.exact, 500);
	assert_true(count_min_ops.lists_all_keys(sketch));
	free(result.listed);
	zipf_close(&stream);
	count_min_ops.destroy(sketch);
}

/*
 * Adds packets of a key whose hash falls into the first bucket and shares no counter with other
 * keys.
 */
static void add_packets(struct sketch *sketch, uint32_t number, uint32_t nb_packets)
{
	struct key key = zipf_key(3 * number);
	uint64_t lane = number + 1;
	struct key_hash hash = {.lo = lane << 48 | lane << 32 | lane, .hi = lane << 32 | lane};

	for (uint32_t i = 0; i < nb_packets; i++) {
		struct key_burst burst = {0};

		burst_append(&burst, &key, &hash, 100);
		count_min_ops.update[SHARING_SEPARATE](sketch, &burst);
	}
}

static bool lists(struct sketch *sketch, uint32_t number)
{
	const struct candidate_entry *entry = table_of(sketch)->entry[0];

	for (uint32_t way = 0; way < TAG_WAYS; way++)
		if ((uint32_t)entry[way].hash_lo == number + 1)
			return true;
	return false;
}

/* Admission to one bucket, step by step. */
static void test_admission(void **state)
{
	struct sketch *sketch = make((struct sketch_params){.candidates = 32});
	const struct candidates *table = table_of(sketch);

	(void)state;
	/*
	 * Sixteen keys of 100, 108, 116 ... 220 packets fill the bucket; the last one came with an
	 * upper bound of 1.
	 */
	for (uint32_t k = 0; k < 16; k++) {
		assert_int_equal(table->admission[0], 0);
		add_packets(sketch, 2 * k, 100 + 8 * k);
	}
	assert_int_equal(table->admission[0], 5);
	assert_true(count_min_ops.lists_all_keys(sketch));

	/* Another key is rejected up to a count of 400. */
	add_packets(sketch, 100, 4);
	assert_int_equal(table->admission[0], 5);
	assert_false(count_min_ops.lists_all_keys(sketch));
	add_packets(sketch, 100, 1);
	assert_int_equal(table->admission[0], 401);
	add_packets(sketch, 100, 395);
	assert_false(lists(sketch, 100));
	assert_int_equal(table->replaced, 0);

	/* At 401 it replaces the smallest key. */
	add_packets(sketch, 100, 1);
	assert_true(lists(sketch, 100));
	assert_false(lists(sketch, 0));
	assert_int_equal(table->replaced, 1);
	assert_int_equal(table->admission[0], 401);

	/* The replaced key must exceed four times 108, which is the smallest count now. */
	add_packets(sketch, 0, 332);
	assert_false(lists(sketch, 0));
	assert_int_equal(table->admission[0], 433);
	add_packets(sketch, 0, 1);
	assert_true(lists(sketch, 0));
	assert_false(lists(sketch, 2));
	assert_int_equal(table->replaced, 2);
	count_min_ops.destroy(sketch);
}

/* Two keys of one bucket with equal tags and different hashes. */
static void test_equal_tags(void **state)
{
	struct sketch *sketch = make((struct sketch_params){.candidates = 32});
	const struct candidates *table = table_of(sketch);

	(void)state;
	for (uint32_t k = 0; k < 3; k++) {
		struct key key = zipf_key(k);
		struct key_hash hash = {.lo = UINT64_C(5) << 48 | k, .hi = k};
		struct key_burst burst = {0};

		for (uint32_t i = 0; i < 10 * (k + 1); i++)
			burst_append(&burst, &key, &hash, 100);
		count_min_ops.update[SHARING_SEPARATE](sketch, &burst);
	}
	for (uint32_t k = 0; k < 3; k++) {
		assert_int_equal(table->tag[0][k], 5);
		assert_int_equal(table->entry[0][k].packets, 10 * (k + 1));
	}
	count_min_ops.destroy(sketch);
}

static void find_saturated(const struct sketch_candidate *candidate, void *arg)
{
	if ((uint32_t)candidate->hash.lo == 101) {
		assert_int_equal(candidate->before, UINT64_MAX);
		assert_int_equal(candidate->packets, 3);
		*(bool *)arg = true;
	}
}

/* A key listed with saturated counters is counted further and has no upper bound. */
static void test_saturated_estimate(void **state)
{
	struct sketch *sketch = make((struct sketch_params){.candidates = 32});
	struct count_min *cm = (struct count_min *)sketch;
	bool found = false;

	(void)state;
	for (uint32_t k = 0; k < 16; k++)
		add_packets(sketch, 2 * k, 10);
	for (uint64_t i = 0; i < sketch->params.depth * sketch->params.width; i++)
		counter_rows_set(&cm->counters, i, UINT32_MAX);
	add_packets(sketch, 100, 3);
	count_min_ops.candidates(sketch, find_saturated, &found);
	assert_true(found);
	count_min_ops.destroy(sketch);
}

/* Keys without a known upper bound stay and are counted further. */
static void check_unknown_uppers(enum sketch_metric metric)
{
	struct sketch *sketch =
		make((struct sketch_params){.candidates = 32, .width = 1024, .metric = metric});
	struct count_min *cm = (struct count_min *)sketch;

	for (uint64_t i = 0; i < sketch->params.depth * sketch->params.width; i++)
		counter_rows_set(&cm->counters, i, counter_rows_max(&cm->counters));
	cm->lists[0].forgot = true; /* state after a merge */
	for (uint32_t k = 0; k < 16; k++)
		add_packets(sketch, 2 * k, 1);
	add_packets(sketch, 100, 2);
	assert_false(lists(sketch, 100));
	add_packets(sketch, 4, 5);
	assert_int_equal(cm->lists[0].entry[0][2].packets, 6);
	count_min_ops.destroy(sketch);
}

static void test_unknown_uppers(void **state)
{
	(void)state;
	check_unknown_uppers(SKETCH_PACKETS);
	check_unknown_uppers(SKETCH_BYTES);
}

/* Adds n packets of one key, all of this size, in full bursts. */
static void add_large_packets(struct sketch *sketch, enum sketch_sharing sharing, uint32_t number,
	uint32_t n, uint32_t wire_len)
{
	struct key key = zipf_key(3 * number);
	struct key_hash hash = {.lo = number + 1, .hi = number + 1};
	struct key_burst burst = {0};

	for (uint32_t i = 0; i < n; i++) {
		burst_append(&burst, &key, &hash, wire_len);
		if (burst.n == BURST_MAX || i + 1 == n) {
			count_min_ops.update[sharing](sketch, &burst);
			burst.n = 0;
		}
	}
}

struct total {
	uint64_t packets, bytes;
	uint32_t n;
};

static void add_up(const struct sketch_candidate *candidate, void *arg)
{
	struct total *total = arg;

	total->packets += candidate->packets;
	total->bytes += candidate->bytes;
	total->n++;
}

/* Large counts are also exact. */
static void check_large(enum sketch_sharing sharing, uint32_t n, uint32_t wire_len)
{
	struct sketch *sketch = make((struct sketch_params){.candidates = 32});
	struct total total = {0};

	add_large_packets(sketch, sharing, 0, n, wire_len);
	add_large_packets(sketch, sharing, 1, 10, wire_len);
	count_min_ops.candidates(sketch, add_up, &total);
	assert_int_equal(total.n, 2);
	assert_int_equal(total.packets, n + 10);
	assert_int_equal(total.bytes, (uint64_t)(n + 10) * wire_len);
	assert_true(count_min_ops.lists_all_keys(sketch));
	count_min_ops.destroy(sketch);
}

static void test_large_counts(void **state)
{
	(void)state;
	for (enum sketch_sharing sharing = SHARING_SEPARATE; sharing <= SHARING_SHARED; sharing++) {
		check_large(sharing, 3000, UINT32_MAX);
		check_large(sharing, 3000, UINT32_MAX / BURST_MAX * 2);
		check_large(sharing, 9000000, 60);
	}
}

/* Sixteen keys, one of them large, and a seventeenth that is larger than the other fifteen. */
static void test_large_keys_stay(void **state)
{
	(void)state;
	for (enum sketch_sharing sharing = SHARING_SEPARATE; sharing <= SHARING_SHARED; sharing++) {
		struct sketch *sketch = make((struct sketch_params){.candidates = 32});

		add_large_packets(sketch, sharing, 0, (1 << 22) + 5, 60);
		for (uint32_t k = 1; k < 16; k++)
			add_large_packets(sketch, sharing, k, 1000, 60);
		add_large_packets(sketch, sharing, 16, 4001, 60);
		assert_true(lists(sketch, 0));
		assert_true(lists(sketch, 16));
		assert_int_equal(table_of(sketch)->replaced, 1);
		count_min_ops.destroy(sketch);
	}
}

/* The heaviest keys are listed, and the table rarely changes, which makes it cheap. */
static void test_heavy_keys_and_churn(void **state)
{
	struct sketch *sketch = make((struct sketch_params){0});
	const uint32_t nb_packets = 64 * 30000;
	struct zipf_stream stream;
	struct audit result;

	(void)state;
	zipf_open(&stream, 200000, 1.05, 3);
	for (uint32_t b = 0; b < nb_packets / BURST_MAX; b++) {
		struct key_burst burst = {0};

		while (burst.n < BURST_MAX)
			zipf_append(&stream, &burst, zipf_draw(&stream));
		count_min_ops.update[SHARING_SEPARATE](sketch, &burst);
	}
	result = audit(sketch, &stream);
	for (uint32_t f = 0; f < 200; f++)
		assert_int_equal(result.listed[f], 1);
	assert_true(table_of(sketch)->replaced < nb_packets / 100);
	free(result.listed);
	zipf_close(&stream);
	count_min_ops.destroy(sketch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tag_match_variants_agree),
		cmocka_unit_test(test_capacity),
		cmocka_unit_test(test_promises),
		cmocka_unit_test(test_few_keys_are_exact),
		cmocka_unit_test(test_admission),
		cmocka_unit_test(test_equal_tags),
		cmocka_unit_test(test_saturated_estimate),
		cmocka_unit_test(test_unknown_uppers),
		cmocka_unit_test(test_large_counts),
		cmocka_unit_test(test_large_keys_stay),
		cmocka_unit_test(test_heavy_keys_and_churn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
