/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Weighted bursts, for every sketch: an entry of w packets has the same effect as w packets, and
 * results hold against exact counts if weights fill the counters.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "make_sketch.h"
#include "parallel/workers/count.h"
#include "sketch/counter.h"
#include "zipf_stream.h"

#define FLOWS      5000
#define SEEDS      2
#define CONFIDENCE 0.999

/* Small, so that keys compete: buckets are full, tables shed, cells do not decode. */
static const struct sketch_params shapes[] = {
	{.width = 64, .candidates = 64},
	{.width = 4096, .candidates = 512},
};

/* Calls the function for every sketch, shape, metric, sharing and atomic. */
typedef void (*trial_fn)(
	const struct sketch_ops *ops, struct sketch_params params, enum sketch_sharing sharing);

static void for_all(trial_fn trial)
{
	for (uint32_t n = 0; n < 2 * 2 * 4; n++) {
		struct sketch_params params = shapes[n & 1];
		enum sketch_sharing sharing = n >> 2 == 0 ? SHARING_SEPARATE : SHARING_SHARED;

		params.metric = (n & 2) != 0 ? SKETCH_BYTES : SKETCH_PACKETS;
		params.writers = sharing == SHARING_SHARED ? 2 : 1;
		params.atomic = n >> 2 == 0 ? ATOMIC_CAS : (enum sketch_atomic)((n >> 2) - 1);
		for (const struct sketch_ops *const *ops = sketches; *ops != NULL; ops++)
			for (params.seed = 1; params.seed <= SEEDS; params.seed++)
				if (sketch_inapplicable(*ops, &params, sharing, true) == NULL)
					trial(*ops, params, sharing);
	}
}

/* ---- Two equal streams, as packets and as weights */

struct feed {
	struct sketch *sketch;
	enum sketch_sharing sharing;
	bool weighted;
	uint64_t cuts; /* random state for ends of bursts */
	uint32_t longest;
	struct key_burst burst;
	struct key_weights weights;
};

static void flush(struct feed *feed)
{
	const struct sketch_ops *ops = feed->sketch->ops;

	if (feed->burst.n == 0)
		return;
	feed->burst.weights = feed->weighted ? &feed->weights : NULL;
	(feed->weighted ? ops->update_weighted : ops->update)[feed->sharing](
		feed->sketch, &feed->burst);
	feed->burst.n = 0;
	feed->longest = 1 + (uint32_t)(zipf_random(&feed->cuts) % BURST_MAX);
}

/* Adds one entry, of a weight or of one packet. */
static void put(struct feed *feed, const struct zipf_stream *stream, uint32_t flow,
	uint64_t packets, uint64_t bytes, int64_t time)
{
	uint32_t i = feed->burst.n;
	struct key key = zipf_key(flow);

	burst_append(&feed->burst, &key, &stream->hash[flow], feed->weighted ? 0 : (uint32_t)bytes);
	feed->burst.time[i] = time;
	feed->burst.tcp_flags[i] = (uint8_t)(1 << time % 8);
	feed->weights.packets[i] = packets;
	feed->weights.bytes[i] = bytes;
	if (feed->burst.n >= feed->longest)
		flush(feed);
}

static struct feed *open_feed(const struct sketch_ops *ops, struct sketch_params params,
	enum sketch_sharing sharing, bool weighted)
{
	struct feed *feed = aligned_alloc(64, sizeof(*feed));

	memset(feed, 0, sizeof(*feed));
	feed->sketch = make_sketch(ops, params);
	feed->sharing = sharing;
	feed->weighted = weighted;
	feed->cuts = params.seed;
	feed->longest = 1;
	return feed;
}

static void close_feed(struct feed *feed)
{
	feed->sketch->ops->destroy(feed->sketch);
	free(feed);
}

/* ---- Observable state of a sketch */

struct seen {
	uint32_t n;
	struct sketch_candidate candidates[4 * FLOWS];
};

static struct seen one, other;

static void see(const struct sketch_candidate *candidate, void *arg)
{
	struct seen *seen = arg;

	assert_in_range(seen->n, 0, 4 * FLOWS - 1);
	seen->candidates[seen->n++] = *candidate;
}

static void assert_same_seen(void)
{
	assert_int_equal(one.n, other.n);
	for (uint32_t c = 0; c < one.n; c++) {
		const struct sketch_candidate *a = &one.candidates[c], *b = &other.candidates[c];

		assert_true(key_equal(&a->key, &b->key));
		assert_memory_equal(&a->hash, &b->hash, sizeof(a->hash));
		assert_int_equal(a->packets, b->packets);
		assert_int_equal(a->bytes, b->bytes);
		assert_int_equal(a->before, b->before);
		assert_int_equal(a->first, b->first);
		assert_int_equal(a->last, b->last);
		assert_int_equal(a->tcp_flags, b->tcp_flags);
	}
	one.n = other.n = 0;
}

static void assert_same_recovered(const struct sketch *a, const struct sketch *b)
{
	const struct sketch_ops *ops = a->ops;

	assert_int_equal(
		ops->recover(a, 100, 400, see, &one), ops->recover(b, 100, 400, see, &other));
	assert_same_seen();
}

static void assert_same_rest(const struct sketch *a, const struct sketch *b)
{
	const struct sketch_ops *ops = a->ops;

	assert_int_equal(ops->lists_all_keys(a), ops->lists_all_keys(b));
	if (ops->shed != NULL) {
		assert_int_equal(ops->shed(a).packets, ops->shed(b).packets);
		assert_int_equal(ops->shed(a).bytes, ops->shed(b).bytes);
	}
	if (ops->undecoded != NULL) {
		assert_int_equal(ops->undecoded(a).flows, ops->undecoded(b).flows);
		assert_int_equal(ops->undecoded(a).packets, ops->undecoded(b).packets);
		assert_int_equal(ops->undecoded(a).bytes, ops->undecoded(b).bytes);
		assert_int_equal(ops->undecoded(a).largest, ops->undecoded(b).largest);
	}
	if (ops->error_bound != NULL)
		assert_int_equal(ops->error_bound(a, FLOWS, CONFIDENCE),
			ops->error_bound(b, FLOWS, CONFIDENCE));
}

static void assert_same(
	const struct sketch *a, const struct sketch *b, const struct zipf_stream *stream)
{
	const struct sketch_ops *ops = a->ops;

	for (uint32_t f = 0; f < FLOWS; f++) {
		if (ops->missed != NULL)
			assert_int_equal(
				ops->missed(a, &stream->hash[f]), ops->missed(b, &stream->hash[f]));
		if (ops->query != NULL) {
			struct sketch_estimate of_a = ops->query(a, &stream->hash[f]);
			struct sketch_estimate of_b = ops->query(b, &stream->hash[f]);

			assert_int_equal(of_a.value, of_b.value);
			assert_int_equal(of_a.saturated, of_b.saturated);
		}
	}
	if (ops->recover == NULL) {
		ops->candidates(a, see, &one);
		ops->candidates(b, see, &other);
		assert_same_seen();
	}
	assert_same_rest(a, b);
}

/* Returns a new sketch with the counters of the given one. */
static struct sketch *merged_of(const struct sketch *sketch)
{
	struct sketch *merged = make_sketch(sketch->ops, sketch->params);

	assert_int_equal(sketch->ops->merge(merged, sketch), 0);
	return merged;
}

static void assert_same_merged(
	const struct sketch *a, const struct sketch *b, const struct zipf_stream *stream)
{
	struct sketch *of_a, *of_b;

	if (a->ops->merge == NULL)
		return;
	of_a = merged_of(a);
	of_b = merged_of(b);
	assert_same(of_a, of_b, stream);
	if (a->ops->recover != NULL)
		assert_same_recovered(of_a, of_b);
	a->ops->destroy(of_a);
	a->ops->destroy(of_b);
}

/* ---- w packets equal a weight of w */

/* Returns the size of packet p of a weight: larger ones come first. */
static uint64_t size_of(uint64_t packets, uint64_t bytes, uint64_t p)
{
	return bytes / packets + (p < bytes % packets);
}

static void feed_both(
	struct feed *weights, struct feed *packets, struct zipf_stream *stream, uint32_t entries)
{
	for (uint32_t e = 0; e < entries; e++) {
		uint32_t flow = zipf_draw(stream);
		uint64_t w = 1 + zipf_random(&stream->state) %
					 (zipf_random(&stream->state) % 8 == 0 ? 200 : 4);
		uint64_t bytes = w * FRAME_MIN + zipf_random(&stream->state) % (w * FRAME_MAX);

		put(weights, stream, flow, w, bytes, e);
		for (uint64_t p = 0; p < w; p++)
			put(packets, stream, flow, 1, size_of(w, bytes, p), e);
	}
	flush(weights);
	flush(packets);
}

static void try_equal(
	const struct sketch_ops *ops, struct sketch_params params, enum sketch_sharing sharing)
{
	struct feed *weights = open_feed(ops, params, sharing, true);
	struct feed *packets = open_feed(ops, params, sharing, false);
	struct zipf_stream stream;

	zipf_open(&stream, FLOWS, 0.8, params.seed);
	feed_both(weights, packets, &stream, 300);
	assert_same(weights->sketch, packets->sketch, &stream);
	feed_both(weights, packets, &stream, 9000);
	assert_same(weights->sketch, packets->sketch, &stream);
	assert_same_merged(weights->sketch, packets->sketch, &stream);
	/* Packets may follow weights. */
	weights->weighted = false;
	for (uint32_t e = 0; e < 500; e++) {
		uint32_t flow = zipf_draw(&stream);

		put(weights, &stream, flow, 1, 100, e);
		put(packets, &stream, flow, 1, 100, e);
	}
	flush(weights);
	flush(packets);
	assert_same(weights->sketch, packets->sketch, &stream);
	ops->reset(weights->sketch);
	ops->reset(packets->sketch);
	assert_same(weights->sketch, packets->sketch, &stream);
	zipf_close(&stream);
	close_feed(weights);
	close_feed(packets);
}

static void test_weights_are_packets(void **state)
{
	(void)state;
	for_all(try_equal);
}

/* ---- Weights that fill counters, compared with exact counts */

struct truth {
	uint64_t packets[FLOWS], bytes[FLOWS]; /* saturating sums */
	uint64_t since_packets[FLOWS], since_bytes[FLOWS], before[FLOWS];
	enum sketch_metric metric;
	bool is_listed[FLOWS];
};

static struct truth truth;

static uint64_t true_amount(uint32_t flow)
{
	return truth.metric == SKETCH_PACKETS ? truth.packets[flow] : truth.bytes[flow];
}

static void sum_listed(const struct sketch_candidate *candidate, void *arg)
{
	uint32_t flow = zipf_flow(&candidate->key);

	(void)arg;
	assert_in_range(flow, 0, FLOWS - 1);
	truth.is_listed[flow] = true;
	truth.since_packets[flow] = counter64_sum(truth.since_packets[flow], candidate->packets);
	truth.since_bytes[flow] = counter64_sum(truth.since_bytes[flow], candidate->bytes);
	truth.before[flow] = candidate->before;
}

static void assert_listed_hold(const struct sketch *sketch)
{
	memset(truth.is_listed, 0, sizeof(truth.is_listed));
	memset(truth.since_packets, 0, sizeof(truth.since_packets));
	memset(truth.since_bytes, 0, sizeof(truth.since_bytes));
	sketch->ops->candidates(sketch, sum_listed, NULL);
	for (uint32_t f = 0; f < FLOWS; f++) {
		uint64_t since = truth.metric == SKETCH_PACKETS ? truth.since_packets[f]
								: truth.since_bytes[f];

		if (!truth.is_listed[f])
			continue;
		assert_true(truth.since_packets[f] <= truth.packets[f]);
		assert_true(truth.since_bytes[f] <= truth.bytes[f]);
		assert_true(counter64_sum(since, truth.before[f]) >= true_amount(f));
	}
}

static void assert_queries_hold(const struct sketch *sketch, const struct zipf_stream *stream)
{
	for (uint32_t f = 0; f < FLOWS; f++) {
		if (sketch->ops->query != NULL) {
			struct sketch_estimate estimate =
				sketch->ops->query(sketch, &stream->hash[f]);

			assert_true(estimate.saturated || estimate.value >= true_amount(f));
		}
		if (sketch->ops->missed != NULL && !truth.is_listed[f])
			assert_true(
				sketch->ops->missed(sketch, &stream->hash[f]) >= true_amount(f));
	}
}

static void assert_bound_holds(const struct sketch *sketch, const struct zipf_stream *stream)
{
	uint64_t bound;

	if (sketch->ops->error_bound == NULL)
		return;
	bound = sketch->ops->error_bound(sketch, FLOWS, CONFIDENCE);
	for (uint32_t f = 0; f < FLOWS && bound < UINT64_MAX; f++) {
		struct sketch_estimate estimate = sketch->ops->query(sketch, &stream->hash[f]);

		assert_true(estimate.saturated ||
			    estimate.value <= counter64_sum(true_amount(f), bound));
	}
}

static uint64_t sketch_full(const struct sketch *sketch)
{
	return sketch->params.metric == SKETCH_PACKETS ? UINT32_MAX : UINT64_MAX;
}

/* Recovered keys also have valid bounds. */
static void assert_recovery_holds(const struct sketch *sketch)
{
	uint64_t missed;

	if (sketch->ops->recover == NULL)
		return;
	memset(truth.is_listed, 0, sizeof(truth.is_listed));
	missed = sketch->ops->recover(sketch, 20, UINT64_C(1) << 30, sum_listed, NULL);
	for (uint32_t f = 0; f < FLOWS; f++)
		assert_true((truth.is_listed[f] ? truth.before[f] : missed) >= true_amount(f) ||
			    truth.before[f] >= sketch_full(sketch));
}

static void feed_truth(
	struct feed *feed, struct zipf_stream *stream, uint32_t entries, uint32_t bits)
{
	for (uint32_t e = 0; e < entries; e++) {
		uint32_t flow = zipf_draw(stream);
		uint32_t shift = 63 - (uint32_t)(zipf_random(&stream->state) % (bits + 1));
		uint64_t w = 1 + (zipf_random(&stream->state) >> 1 >> shift);
		uint64_t size = FRAME_MIN + zipf_random(&stream->state) % FRAME_MAX;
		uint64_t bytes = w < UINT64_MAX / size ? w * size : UINT64_MAX;

		put(feed, stream, flow, w, bytes, e);
		truth.packets[flow] = counter64_sum(truth.packets[flow], w);
		truth.bytes[flow] = counter64_sum(truth.bytes[flow], bytes);
	}
	flush(feed);
}

static void try_large(const struct sketch_ops *ops, struct sketch_params params,
	enum sketch_sharing sharing, uint32_t bits)
{
	struct feed *feed = open_feed(ops, params, sharing, true);
	struct zipf_stream stream;

	memset(&truth, 0, sizeof(truth));
	truth.metric = params.metric;
	zipf_open(&stream, FLOWS, 1, params.seed);
	for (uint32_t part = 0; part < 3; part++) {
		feed_truth(feed, &stream, 20 << 3 * part, bits);
		if (ops->recover == NULL)
			assert_listed_hold(feed->sketch);
		assert_queries_hold(feed->sketch, &stream);
	}
	if (ops->merge != NULL) {
		struct sketch *merged = merged_of(feed->sketch);

		assert_queries_hold(merged, &stream);
		assert_bound_holds(merged, &stream);
		assert_recovery_holds(merged);
		ops->destroy(merged);
	}
	zipf_close(&stream);
	close_feed(feed);
}

/* Exceeds counters of 31, 32 and 47 bits. */
static void try_40_bits(
	const struct sketch_ops *ops, struct sketch_params params, enum sketch_sharing sharing)
{
	try_large(ops, params, sharing, 40);
}

/* Sums exceed any counter. */
static void try_63_bits(
	const struct sketch_ops *ops, struct sketch_params params, enum sketch_sharing sharing)
{
	try_large(ops, params, sharing, 62);
}

static void test_weights_of_40_bits(void **state)
{
	(void)state;
	for_all(try_40_bits);
}

static void test_weights_of_63_bits(void **state)
{
	(void)state;
	for_all(try_63_bits);
}

/* Every key is exact if nothing is lost and no sum exceeds 64 bits. */
static void test_large_weights_exactly(void **state)
{
	(void)state;
	for (const struct sketch_ops *const *ops = sketches; *ops != NULL; ops++) {
		struct sketch_params params = {.width = 4096, .metric = SKETCH_BYTES, .seed = 7};
		struct feed *feed = open_feed(*ops, params, SHARING_SEPARATE, true);
		struct zipf_stream stream;

		if (((*ops)->caps & SKETCH_EXACT) != 0) {
			memset(&truth, 0, sizeof(truth));
			truth.metric = params.metric;
			zipf_open(&stream, FLOWS, 1, params.seed);
			feed_truth(feed, &stream, 3000, 40);
			assert_listed_hold(feed->sketch);
			for (uint32_t f = 0; f < FLOWS; f++) {
				assert_int_equal(truth.since_packets[f], truth.packets[f]);
				assert_int_equal(truth.since_bytes[f], truth.bytes[f]);
			}
			zipf_close(&stream);
		}
		close_feed(feed);
	}
}

/* All operations exist, except those that sketch.h allows to be NULL. */
static void test_slots(void **state)
{
	(void)state;
	for (const struct sketch_ops *const *at = sketches; *at != NULL; at++) {
		const struct sketch_ops *ops = *at;
		bool exact = (ops->caps & SKETCH_EXACT) != 0;

		assert_true(ops->name != NULL && ops->alias != NULL && ops->check != NULL);
		assert_true(ops->memory != NULL && ops->create != NULL && ops->destroy != NULL);
		assert_true(ops->reset != NULL && ops->candidates != NULL);
		assert_true(ops->lists_all_keys != NULL);
		assert_true(ops->update[SHARING_SEPARATE] != NULL);
		for (uint32_t s = 0; s < SHARING_COUNT; s++)
			assert_int_equal(ops->update[s] == NULL, ops->update_weighted[s] == NULL);
		assert_int_equal(ops->query == NULL, exact);
		assert_int_equal(ops->error_bound == NULL, exact);
		assert_int_equal(ops->missed != NULL, exact);
		assert_int_equal(ops->merge != NULL, (ops->caps & SKETCH_MERGEABLE) != 0);
		assert_int_equal(ops->subtract != NULL, (ops->caps & SKETCH_SUBTRACTABLE) != 0);
		assert_int_equal(ops->total == NULL, exact);
		assert_true(exact || ops->merge != NULL);
		assert_int_equal(ops->expired == NULL, ops->remove_idle == NULL);
		assert_true(ops->expired == NULL || (ops->caps & SKETCH_RECORDS) != 0);
		assert_int_equal(ops->options == NULL, ops->configure == NULL);
		assert_true(ops->width_option == NULL || ops->options != NULL);
		assert_true(ops->suits != NULL && ops->default_depth > 0 && ops->default_width > 0);
	}
}

/* ---- From a burst to every measurement */

#define RULES 2

/* Two measurements, of 5-tuples and of sources. */
struct side {
	struct hash_key hash_key;
	struct key_burst bursts[RULES], waiting[RULES];
	struct key_weights weights[2]; /* weights of waiting bursts */
	struct sketch *sketch[RULES];
	struct hyperloglog *distinct[RULES];
	struct counting counting;
};

static struct side *open_side(void)
{
	static const char *const rules[RULES] = {"5tuple", "src"};
	struct side *side = aligned_alloc(64, (sizeof(*side) + 63) / 64 * 64);

	assert_non_null(side);
	memset(side, 0, sizeof(*side));
	hash_key_init(&side->hash_key, 1);
	side->counting.hash_key = &side->hash_key;
	side->counting.bursts = side->bursts;
	side->counting.nb_key_rules = side->counting.nb_measurements = RULES;
	for (uint32_t m = 0; m < RULES; m++) {
		const struct sketch_ops *ops = sketch_find("flow-table");

		side->sketch[m] =
			make_sketch(ops, (struct sketch_params){.width = 1024, .seed = 1});
		side->distinct[m] = aligned_alloc(64, sizeof(struct hyperloglog));
		hyperloglog_reset(side->distinct[m]);
		side->counting.update[m] = ops->update[SHARING_SEPARATE];
		side->counting.update_weighted[m] = ops->update_weighted[SHARING_SEPARATE];
		side->counting.fetch[m] = ops->fetch;
		side->counting.key_rule_of[m] = m;
		side->counting.key_rules[m] = key_rule_find(rules[m]);
	}
	side->counting.details = true;
	return side;
}

static void close_side(struct side *side)
{
	for (uint32_t m = 0; m < RULES; m++) {
		side->sketch[m]->ops->destroy(side->sketch[m]);
		free(side->distinct[m]);
	}
	free(side);
}

/* Adds up a sketch's list independent of its order, but including all of its values. */
static void add_listed(const struct sketch_candidate *candidate, void *arg)
{
	uint64_t *sum = arg, key = candidate->hash.lo | 1;

	sum[0]++;
	sum[1] += key * candidate->packets;
	sum[2] += key * candidate->bytes;
	sum[3] += key * (uint64_t)candidate->last;
}

static void assert_sides_agree(const struct side *a, const struct side *b)
{
	for (uint32_t m = 0; m < RULES; m++) {
		uint64_t of_a[4] = {0}, of_b[4] = {0};

		a->sketch[m]->ops->candidates(a->sketch[m], add_listed, of_a);
		b->sketch[m]->ops->candidates(b->sketch[m], add_listed, of_b);
		assert_memory_equal(of_a, of_b, sizeof(of_a));
		assert_true(of_a[0] > 10);
		assert_int_equal(
			hyperloglog_estimate(a->distinct[m]), hyperloglog_estimate(b->distinct[m]));
	}
}

/* Counts the same burst one burst later. */
static void count_late(struct side *late, const struct key_burst *burst)
{
	struct key_burst *mine = &late->counting.bursts[0];
	struct key_weights *weights = mine->weights;

	*mine = *burst;
	mine->weights = weights;
	*weights = *burst->weights;
	count_weighted_keys(&late->counting, late->sketch, late->distinct);
	assert_ptr_not_equal(&late->counting.bursts[0], mine);
}

static struct side *open_late(void)
{
	struct side *late = open_side();

	late->counting.waiting = late->waiting;
	late->bursts[0].weights = &late->weights[0];
	late->waiting[0].weights = &late->weights[1];
	return late;
}

/* Entries of 0 packets among the others do not count as keys, for any number of bytes. */
static void test_keys_that_are_no_packets(void **state)
{
	struct side *packets = open_side(), *weighted = open_side(), *late = open_late();
	struct zipf_stream stream;
	struct key_weights weights = {0};
	uint64_t random = 5;

	(void)state;
	zipf_open(&stream, FLOWS, 1, 1);
	for (int64_t round = 0; round < 200; round++) {
		struct key_burst *single = &packets->bursts[0], *many = &weighted->bursts[0];
		uint32_t entries = (uint32_t)(zipf_random(&random) % (BURST_MAX + 1));

		many->n = 0;
		many->v6 = 0;
		for (uint32_t i = 0; i < entries; i++) {
			uint32_t flow = (uint32_t)(zipf_random(&random) % FLOWS);
			uint64_t weight = zipf_random(&random) % 4;
			struct key key = zipf_key(flow);

			burst_append(many, &key, &stream.hash[flow], 0);
			many->time[i] = round;
			weights.packets[i] = weight;
			weights.bytes[i] = weight > 0 ? weight * 100 : 7;
			for (uint64_t w = 0; w < weight; w++) {
				single->n = 0;
				burst_append(single, &key, &stream.hash[flow], 100);
				single->time[0] = round;
				count_keys(&packets->counting, packets->sketch, packets->distinct);
			}
		}
		many->weights = &weights;
		count_late(late, many);
		count_weighted_keys(&weighted->counting, weighted->sketch, weighted->distinct);
	}
	assert_sides_agree(packets, weighted);
	count_waiting_keys(&late->counting, late->sketch, late->distinct);
	count_waiting_keys(&late->counting, late->sketch, late->distinct);
	assert_sides_agree(packets, late);
	zipf_close(&stream);
	close_side(packets);
	close_side(weighted);
	close_side(late);
}

static uint64_t nb_listed(const struct side *side, uint32_t m)
{
	uint64_t sums[4] = {0};

	side->sketch[m]->ops->candidates(side->sketch[m], add_listed, sums);
	return sums[0];
}

/* A burst with one new key waits until the next one, or until count_waiting_keys(). */
static void test_packets_that_wait(void **state)
{
	struct side *now = open_side(), *late = open_late();
	struct zipf_stream stream;
	struct key fresh = zipf_key(FLOWS);
	uint64_t random = 9;

	(void)state;
	zipf_open(&stream, FLOWS, 1, 1);
	for (int64_t round = 0; round <= 200; round++) {
		struct key_burst *burst = &now->bursts[0], *mine = &late->counting.bursts[0];
		uint32_t n = round == 200 ? 1 : (uint32_t)(zipf_random(&random) % (BURST_MAX + 1));

		burst->n = 0;
		burst->v6 = 0;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t flow = (uint32_t)(zipf_random(&random) % 500);
			struct key key = round == 200 ? fresh : zipf_key(flow);

			burst_append(burst, &key, &stream.hash[flow], 100);
			burst->time[i] = round;
		}
		*mine = *burst;
		count_keys(&now->counting, now->sketch, now->distinct);
		count_keys(&late->counting, late->sketch, late->distinct);
		assert_ptr_not_equal(&late->counting.bursts[0], mine);
	}
	assert_int_equal(nb_listed(late, 0) + 1, nb_listed(now, 0));
	count_waiting_keys(&late->counting, late->sketch, late->distinct);
	assert_sides_agree(now, late);
	zipf_close(&stream);
	close_side(now);
	close_side(late);
}

/*
 * A run is refused with the name of a missing operation; sketches with all operations are accepted.
 */
static void test_missing_operations(void **state)
{
	const struct sketch_params plain = {.width = 64}, idle = {.idle_timeout = 1},
				   loaded = {.load = 1}, deep = {.deep.deepest = FLOW_TCP};

	(void)state;
	for (const struct sketch_ops *const *sketch = sketches; *sketch != NULL; sketch++) {
		for (int s = 0; s < SHARING_COUNT; s++) {
			enum sketch_sharing sharing = (enum sketch_sharing)s;
			struct sketch_ops ops = **sketch;

			if (ops.update[s] == NULL) {
				assert_non_null(
					strstr(sketch_inapplicable(&ops, &plain, sharing, false),
						"cannot be shared"));
				continue;
			}
			assert_null(sketch_inapplicable(&ops, &plain, sharing, false));
			assert_null(sketch_inapplicable(&ops, &plain, sharing, true));
			ops.update_weighted[s] = NULL;
			assert_null(sketch_inapplicable(&ops, &plain, sharing, false));
			assert_non_null(strstr(
				sketch_inapplicable(&ops, &plain, sharing, true), "collect"));
			ops.remove_idle = NULL;
			assert_non_null(strstr(sketch_inapplicable(&ops, &idle, sharing, false),
				"--idle-timeout"));
			ops.fit = NULL;
			assert_non_null(
				strstr(sketch_inapplicable(&ops, &loaded, sharing, false), "load"));
			ops.set_states = NULL;
			assert_non_null(strstr(
				sketch_inapplicable(&ops, &deep, sharing, false), "--flow-detail"));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_missing_operations),
		cmocka_unit_test(test_weights_are_packets),
		cmocka_unit_test(test_weights_of_40_bits),
		cmocka_unit_test(test_weights_of_63_bits),
		cmocka_unit_test(test_large_weights_exactly),
		cmocka_unit_test(test_keys_that_are_no_packets),
		cmocka_unit_test(test_packets_that_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
