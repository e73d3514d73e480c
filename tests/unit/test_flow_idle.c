/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Records of a flow table with an idle timeout, compared with a simple model: each record that ends
 * in the model is exported or still held, with the same counts, times and flags, and there are no
 * others.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "make_sketch.h"
#include "sketch/flow_table/flow_idle.h"
#include "zipf_stream.h"

#define FLOWS   3000
#define PACKETS 40000
#define SEED    11

/* All of a record except its key; flow comes first, for sorting. */
struct idle_record {
	uint64_t flow, packets, bytes, ip_bytes;
	int64_t first, last;
	uint64_t tcp_flags;
};

struct record_list {
	uint32_t n, nb_idle;
	struct idle_record list[PACKETS];
};

static struct record_list expected, got;

static int compare_records(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct idle_record));
}

static void assert_same_records(void)
{
	assert_int_equal(got.n, expected.n);
	assert_int_equal(got.nb_idle, expected.nb_idle);
	qsort(got.list, got.n, sizeof(got.list[0]), compare_records);
	qsort(expected.list, expected.n, sizeof(expected.list[0]), compare_records);
	assert_memory_equal(got.list, expected.list, got.n * sizeof(got.list[0]));
}

static void take(const struct sketch_candidate *candidate, void *arg)
{
	struct record_list *list = arg;
	uint32_t flow = zipf_flow(&candidate->key);
	struct key key = zipf_key(flow);
	struct hash_key hash_key;
	struct key_hash hash;

	assert_true(key_equal(&key, &candidate->key));
	hash_key_init(&hash_key, SEED);
	hash = hash_one(&hash_key, &key);
	assert_true(hash.lo == candidate->hash.lo && hash.hi == candidate->hash.hi);
	assert_true(list->n < PACKETS);
	list->nb_idle += candidate->idle;
	list->list[list->n++] = (struct idle_record){
		.flow = flow,
		.packets = candidate->packets,
		.bytes = candidate->bytes,
		.ip_bytes = candidate->ip_bytes,
		.first = candidate->first,
		.last = candidate->last,
		.tcp_flags = candidate->tcp_flags,
	};
}

static struct sketch *sketch;

static void take_expired(void)
{
	flow_table_ops.expired(sketch, take, &got);
}

/* The reporter's part while the table waits for room. */
static void wait_for_room(const void *arg)
{
	(void)arg;
	take_expired();
}

static void make(struct sketch_params params)
{
	params.seed = SEED;
	sketch = make_sketch(&flow_table_ops, params);
}

/* --- model --- */

static struct {
	uint64_t timeout;
	int64_t now;
	struct idle_record open[FLOWS]; /* packets == 0: no record */
} model;

static void model_start(uint64_t timeout)
{
	memset(&model, 0, sizeof(model));
	model.timeout = timeout;
	model.now = INT64_MIN;
	expected.n = expected.nb_idle = 0;
	got.n = got.nb_idle = 0;
}

static void model_count(
	uint32_t flow, uint32_t bytes, uint32_t ip_bytes, int64_t time, uint8_t tcp_flags)
{
	struct idle_record *open = &model.open[flow];

	model.now = time > model.now ? time : model.now;
	if (open->packets > 0 && (uint64_t)model.now - (uint64_t)open->last > model.timeout) {
		expected.list[expected.n++] = *open;
		expected.nb_idle++;
		open->packets = 0;
	}
	if (open->packets == 0)
		*open = (struct idle_record){.flow = flow, .first = time, .last = time};
	open->packets++;
	open->bytes += bytes;
	open->ip_bytes += ip_bytes;
	open->first = time < open->first ? time : open->first;
	open->last = time > open->last ? time : open->last;
	open->tcp_flags |= tcp_flags;
}

static void model_end(void)
{
	for (uint32_t f = 0; f < FLOWS; f++)
		if (model.open[f].packets > 0) {
			expected.list[expected.n++] = model.open[f];
			expected.nb_idle +=
				(uint64_t)model.now - (uint64_t)model.open[f].last > model.timeout;
		}
}

/* --- streams --- */

/* Arrival of packets: bursts of 1 to `longest`, on average `pause` ns apart. */
struct course {
	uint32_t longest;
	uint64_t pause;
	bool disorder;
	bool taken;      /* exported records are taken after each burst */
	bool one_bucket; /* all keys share one bucket */
};

/* Returns times that may be before 1970, after long pauses, or late. */
static int64_t next_time(const struct course *course, int64_t *clock, uint64_t *random)
{
	uint64_t step = zipf_random(random) % (2 * course->pause + 1);

	if (zipf_random(random) % 1000 == 0)
		step *= 500;
	*clock += (int64_t)step;
	if (course->disorder && zipf_random(random) % 4 == 0)
		return *clock - (int64_t)(zipf_random(random) % (20 * course->pause));
	return *clock;
}

static void feed(const struct course *course)
{
	static struct key_burst burst;
	struct zipf_stream stream;
	uint64_t random = 3, cuts = course->longest;
	int64_t clock = -100000;
	uint32_t left = 1;

	zipf_open(&stream, FLOWS, 0.9, SEED);
	burst.n = 0;
	burst.has_overhead = true;
	for (uint32_t p = 0; p < PACKETS; p++) {
		uint32_t flow = zipf_draw(&stream), i = burst.n;

		zipf_append(&stream, &burst, flow);
		burst.time[i] = next_time(course, &clock, &random);
		burst.tcp_flags[i] = (uint8_t)(1u << zipf_random(&random) % 8);
		if (course->one_bucket)
			burst.hash[i].lo = 5;
		burst.overhead[i] = (uint16_t)(zipf_random(&random) % 20);
		model_count(flow, burst.wire_len[i],
			sketch->params.ip_bytes ? burst.wire_len[i] - burst.overhead[i] : 0,
			burst.time[i], burst.tcp_flags[i]);
		if (--left > 0 && p + 1 < PACKETS)
			continue;
		flow_table_ops.update[SHARING_SEPARATE](sketch, &burst);
		if (course->taken)
			take_expired();
		burst.n = 0;
		left = 1 + (uint32_t)(zipf_random(&cuts) % course->longest);
	}
	zipf_close(&stream);
}

/* Takes exported and held records. */
static void take_all(void)
{
	take_expired();
	flow_table_ops.candidates(sketch, take, &got);
}

static void run_exact(struct sketch_params params, const struct course *course)
{
	params.wait = course->taken ? NULL : wait_for_room;
	make(params);
	for (uint32_t round = 0; round < 2; round++) {
		model_start(params.idle_timeout);
		feed(course);
		model_end();
		take_all();
		assert_int_equal(flow_table_ops.shed(sketch).packets, 0);
		assert_true(flow_table_ops.lists_all_keys(sketch));
		assert_same_records();
		flow_table_ops.reset(sketch);
	}
	flow_table_ops.destroy(sketch);
}

/*
 * From timeouts so short that each packet is a record, to timeouts so long that a record has all
 * packets of its key.
 */
static void test_exact(void **state)
{
	static const uint64_t timeouts[] = {1, 30, 1000, 30000, 1000000, UINT64_MAX};
	static const uint32_t longest[] = {1, 5, BURST_MAX};
	uint32_t number = 0;

	(void)state;
	for (size_t t = 0; t < sizeof(timeouts) / sizeof(timeouts[0]); t++)
		for (size_t l = 0; l < 3; l++, number++) {
			struct course course = {
				.longest = longest[l],
				.pause = 10,
				.disorder = number % 2 == 0,
				.taken = number % 3 == 0,
			};

			run_exact((struct sketch_params){.width = number % 2 == 0 ? 4096 : FLOWS,
					  .idle_timeout = timeouts[t],
					  .ip_bytes = number % 2 == 1},
				&course);
		}
}

/* All keys in one bucket: entries leave its chain at every position. */
static void test_one_bucket(void **state)
{
	static const struct course course = {
		.longest = BURST_MAX, .pause = 10, .disorder = true, .one_bucket = true};

	(void)state;
	run_exact((struct sketch_params){.width = 4096, .idle_timeout = 3000, .ip_bytes = true},
		&course);
}

/* Full and overloaded: the same records and the same number of shed packets for any burst sizes. */
static void test_burst_borders(void **state)
{
	static struct record_list first;

	(void)state;
	for (uint64_t width = 32; width <= 512; width *= 4) {
		struct sketch_params params = {
			.width = width, .idle_timeout = 2000, .wait = wait_for_room};
		uint64_t shed = 0;

		for (uint32_t longest = 1; longest <= BURST_MAX; longest += 21) {
			struct course course = {.longest = longest, .pause = 10, .disorder = true};

			make(params);
			model_start(params.idle_timeout);
			feed(&course);
			take_all();
			qsort(got.list, got.n, sizeof(got.list[0]), compare_records);
			if (longest == 1) {
				first = got;
				shed = flow_table_ops.shed(sketch).packets;
			}
			assert_int_equal(got.n, first.n);
			assert_memory_equal(got.list, first.list, got.n * sizeof(got.list[0]));
			assert_int_equal(flow_table_ops.shed(sketch).packets, shed);
			flow_table_ops.destroy(sketch);
		}
		assert_true(width > 32 || shed > 0);
		assert_true(width < 512 || shed == 0);
	}
}

static uint64_t packets_of(const struct record_list *list)
{
	uint64_t packets = 0;

	for (uint32_t i = 0; i < list->n; i++)
		packets += list->list[i].packets;
	return packets;
}

/*
 * Successive flows: fewer than the buckets are active at a time, but far more than all entries in
 * total. No packet is shed.
 */
static void test_room_for_the_active(void **state)
{
	enum { WIDTH = 64, ACTIVE = 60, EACH = 3 };
	static struct key_burst burst;
	const uint64_t timeout = 6400;

	struct hash_key hash_key;

	(void)state;
	make((struct sketch_params){
		.width = WIDTH, .idle_timeout = timeout, .wait = wait_for_room});
	model_start(timeout);
	hash_key_init(&hash_key, SEED);
	burst.n = 0;
	/* Packets of ACTIVE flows come within the timeout plus a 64th of it. */
	for (uint32_t p = 0; p < EACH * FLOWS; p++) {
		uint32_t flow = p / EACH;
		struct key key = zipf_key(flow);
		struct key_hash hash = hash_one(&hash_key, &key);
		int64_t time = (int64_t)p * (6500 / (ACTIVE * EACH));

		burst_append(&burst, &key, &hash, 100);
		burst.time[burst.n - 1] = time;
		burst.tcp_flags[burst.n - 1] = 0;
		burst.hash[burst.n - 1].lo = 3;
		model_count(flow, 100, 0, time, 0);
		if (burst.n < 1 + p % BURST_MAX && p + 1 < EACH * FLOWS)
			continue;
		flow_table_ops.update[SHARING_SEPARATE](sketch, &burst);
		burst.n = 0;
	}
	model_end();
	take_all();
	assert_int_equal(flow_table_ops.shed(sketch).packets, 0);
	assert_same_records();
	flow_table_ops.destroy(sketch);
}

/*
 * Exported records are not taken, and the table does not wait: records continue, and no packet is
 * lost.
 */
static void test_queue_full(void **state)
{
	static const struct course course = {.longest = BURST_MAX, .pause = 10};

	(void)state;
	make((struct sketch_params){.width = 4096, .idle_timeout = 10});
	model_start(10);
	feed(&course);
	flow_table_ops.expired(sketch, take, &got);
	assert_int_equal(got.n, FLOW_QUEUE);
	flow_table_ops.candidates(sketch, take, &got);
	assert_int_equal(packets_of(&got), PACKETS);
	assert_int_equal(flow_table_ops.shed(sketch).packets, 0);

	/* With room in the queue, it continues. */
	model_start(10);
	feed(&course);
	take_expired();
	assert_int_equal(got.n, FLOW_QUEUE);
	flow_table_ops.destroy(sketch);
}

/* On a silent link, records end without a packet, but not early. */
static void test_rest(void **state)
{
	static const struct course course = {.longest = BURST_MAX, .pause = 0, .taken = true};
	const int64_t last = -100000;

	(void)state;
	make((struct sketch_params){.width = 4096, .idle_timeout = 1000000});
	model_start(1000000);
	flow_table_ops.remove_idle(sketch, last); /* before the first packet */
	feed(&course);
	model_end();
	for (int64_t now = last; now <= last + 1000000; now += 1000)
		flow_table_ops.remove_idle(sketch, now);
	take_expired();
	assert_int_equal(got.n, 0);
	/* One scan takes a quarter of the timeout. */
	for (int64_t now = last + 1000001; now < last + 1260000; now += 1000)
		flow_table_ops.remove_idle(sketch, now);
	take_expired();
	expected.nb_idle = expected.n;
	assert_same_records();
	flow_table_ops.candidates(sketch, take, &got);
	assert_int_equal(got.n, expected.n);
	flow_table_ops.destroy(sketch);
}

/* Times at both ends of their range. */
static void test_extreme_times(void **state)
{
	static struct key_burst burst;
	static const int64_t times[] = {INT64_MIN, INT64_MIN + 1, -1, 0, INT64_MAX - 1, INT64_MAX};
	static const uint64_t timeouts[] = {1, UINT64_C(1) << 63, UINT64_MAX};

	(void)state;
	for (size_t t = 0; t < 3; t++) {
		make((struct sketch_params){.width = 16, .idle_timeout = timeouts[t]});
		model_start(timeouts[t]);
		for (uint32_t p = 0; p < 12; p++) {
			uint32_t flow = p % 2;
			struct key key = zipf_key(flow);
			struct hash_key hash_key;
			struct key_hash hash;

			hash_key_init(&hash_key, SEED);
			hash = hash_one(&hash_key, &key);
			burst.n = 0;
			burst_append(&burst, &key, &hash, 60);
			burst.time[0] = times[p / 2];
			burst.tcp_flags[0] = 0;
			model_count(flow, 60, 0, times[p / 2], 0);
			flow_table_ops.update[SHARING_SEPARATE](sketch, &burst);
		}
		model_end();
		take_all();
		assert_same_records();
		flow_table_ops.destroy(sketch);
	}
}

static void test_check(void **state)
{
	struct sketch_params without = {0}, with = {.idle_timeout = 1};

	(void)state;
	assert_null(flow_table_ops.check(&without));
	assert_null(flow_table_ops.check(&with));
	assert_true(flow_table_ops.memory(&with) > flow_table_ops.memory(&without));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_one_bucket),
		cmocka_unit_test(test_burst_borders),
		cmocka_unit_test(test_room_for_the_active),
		cmocka_unit_test(test_queue_full),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_extreme_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
