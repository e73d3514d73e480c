/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The invertible Bloom lookup table, compared with exact counts: all flows below the peeling
 * threshold, the theoretical share above it, never a wrong key, and intervals that hold if a flow
 * is hidden.
 *
 * `test_iblt trials N` runs N random trials of run_trials(); `test_iblt curve N` prints how many
 * of N tables decode at each load.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fewer.h"
#include "make_sketch.h"
#include "sketch/iblt/iblt.h"
#include "sketch/weight.h"
#include "zipf_stream.h"

#define FLOWS   6000
#define PACKETS 60000
#define SEED    17

static struct sketch *make(struct sketch_params params)
{
	if (params.seed == 0)
		params.seed = SEED;
	return make_sketch(&iblt_ops, params);
}

/* ---- Decoding flows of zipf_stream.h */

struct listing {
	uint32_t n, inexact;
	uint64_t all_packets, all_bytes;
	uint32_t times[FLOWS];
	uint64_t packets[FLOWS], bytes[FLOWS], before[FLOWS];
};

static struct listing listed;

static void list_candidate(const struct sketch_candidate *candidate, void *arg)
{
	struct listing *listing = arg;
	uint32_t flow = zipf_flow(&candidate->key);
	struct key key;

	assert_true(flow < FLOWS);
	key = zipf_key(flow);
	assert_true(key_equal(&key, &candidate->key));
	assert_int_equal(listing->times[flow]++, 0);
	listing->packets[flow] = candidate->packets;
	listing->bytes[flow] = candidate->bytes;
	listing->before[flow] = candidate->before;
	listing->all_packets += candidate->packets;
	listing->all_bytes += candidate->bytes;
	listing->inexact += candidate->before > 0;
	listing->n++;
}

static uint64_t true_amount(
	const struct zipf_stream *stream, uint32_t flow, enum sketch_metric metric)
{
	return metric == SKETCH_PACKETS ? stream->packets[flow] : stream->bytes[flow];
}

static uint64_t listed_amount(uint32_t flow, enum sketch_metric metric)
{
	return metric == SKETCH_PACKETS ? listed.packets[flow] : listed.bytes[flow];
}

static void list(const struct sketch *sketch, struct listing *listing)
{
	memset(listing, 0, sizeof(*listing));
	iblt_ops.candidates(sketch, list_candidate, listing);
}

static void feed(struct sketch *sketch, struct zipf_stream *stream, uint32_t packets,
	uint32_t longest, enum sketch_sharing sharing)
{
	static struct key_burst burst;
	uint64_t cuts = longest;
	uint32_t left = 1;

	burst.n = 0;
	for (uint32_t p = 0; p < packets; p++) {
		zipf_append(stream, &burst, zipf_draw(stream));
		if (--left > 0 && p + 1 < packets)
			continue;
		iblt_ops.update[sharing](sketch, &burst);
		burst.n = 0;
		left = 1 + (uint32_t)(zipf_random(&cuts) % longest);
	}
}

static void assert_truth(const struct listing *listing, const struct zipf_stream *stream)
{
	for (uint32_t f = 0; f < stream->nb_flows; f++) {
		assert_int_equal(listing->times[f], stream->packets[f] > 0);
		assert_int_equal(listing->packets[f], stream->packets[f]);
		assert_int_equal(listing->bytes[f], stream->bytes[f]);
		assert_int_equal(listing->before[f], 0);
	}
}

static void assert_complete(const struct sketch *sketch)
{
	struct sketch_undecoded rest = iblt_ops.undecoded(sketch);

	assert_true(iblt_ops.lists_all_keys(sketch));
	assert_int_equal(rest.flows, 0);
	assert_int_equal(rest.packets, 0);
	assert_int_equal(rest.bytes, 0);
	assert_int_equal(rest.largest, 0);
}

/* Both depths, metrics and sharing modes, IPv4 and IPv6, up to 0.65 flows per cell. */
static void test_exact(void **state)
{
	static const uint64_t widths[] = {1 << 12, 1 << 13, 1 << 17};
	struct zipf_stream stream;

	(void)state;
	zipf_open(&stream, FLOWS, 0.9, SEED);
	for (uint32_t n = 0; n < 48; n += FEWER(1, 5)) {
		struct sketch_params params = {
			.depth = 3 + n % 2,
			.width = widths[n / 16],
			.metric = n / 2 % 2 == 0 ? SKETCH_PACKETS : SKETCH_BYTES,
			.atomic = (enum sketch_atomic)(n % 3),
		};
		enum sketch_sharing sharing = n / 4 % 2 == 0 ? SHARING_SEPARATE : SHARING_SHARED;
		struct sketch *sketch = make(params);

		zipf_restart(&stream, SEED);
		feed(sketch, &stream, PACKETS, BURST_MAX, sharing);
		list(sketch, &listed);
		assert_truth(&listed, &stream);
		assert_complete(sketch);

		/* Counting continues after a listing, and a reset empties the table. */
		feed(sketch, &stream, PACKETS / 10, 7, sharing);
		assert_complete(sketch);
		list(sketch, &listed);
		assert_truth(&listed, &stream);
		iblt_ops.reset(sketch);
		list(sketch, &listed);
		assert_int_equal(listed.n, 0);
		assert_complete(sketch);
		iblt_ops.destroy(sketch);
	}
	zipf_close(&stream);
}

static size_t cells_size(const struct iblt_rows *rows)
{
	return iblt_nb_cells(rows) << rows->shift;
}

static void assert_same_filter(const struct iblt *a, const struct iblt *b)
{
	assert_memory_equal(a->filter, b->filter, sizeof(*a->filter) << a->filter_bits);
}

static void assert_same_cells(const struct iblt *a, const struct iblt *b)
{
	for (uint32_t f = 0; f < IBLT_FAMILIES; f++)
		assert_memory_equal(a->rows[f].cells, b->rows[f].cells, cells_size(&a->rows[f]));
	assert_same_filter(a, b);
}

/* The same cells for any burst sizes, shared or not, and with or without decoding in between. */
static void test_burst_borders(void **state)
{
	(void)state;
	for (uint64_t width = 256; width <= 4096; width *= 16) {
		struct sketch *a = make((struct sketch_params){.width = width});
		struct sketch *b = make((struct sketch_params){.width = width});
		struct zipf_stream stream;

		zipf_open(&stream, FLOWS, 0.9, SEED);
		feed(a, &stream, PACKETS, 1, SHARING_SEPARATE);
		zipf_restart(&stream, SEED);
		feed(b, &stream, PACKETS, BURST_MAX, SHARING_SEPARATE);
		assert_same_cells(iblt_of_const(a), iblt_of_const(b));
		list(b, &listed);
		assert_same_cells(iblt_of_const(a), iblt_of_const(b));
		iblt_ops.reset(b);
		zipf_restart(&stream, SEED);
		feed(b, &stream, PACKETS, BURST_MAX, SHARING_SHARED);
		assert_same_cells(iblt_of_const(a), iblt_of_const(b));
		zipf_close(&stream);
		iblt_ops.destroy(a);
		iblt_ops.destroy(b);
	}
}

/*
 * Parts with the same keys: multiplicities of keys divide out. The filter equals that of one sketch
 * with all packets.
 */
static void test_merge(void **state)
{
	struct sketch_params params = {.width = 1 << 12};
	struct sketch *sum = make(params), *whole = make(params);
	struct zipf_stream stream, again;

	(void)state;
	zipf_open(&stream, FLOWS, 0.5, SEED);
	zipf_open(&again, FLOWS, 0.5, SEED);
	for (uint32_t part = 0; part < 5; part++) {
		struct sketch *sketch = make(params);

		feed(sketch, &stream, PACKETS, BURST_MAX, SHARING_SEPARATE);
		feed(whole, &again, PACKETS, BURST_MAX, SHARING_SEPARATE);
		assert_int_equal(iblt_ops.merge(sum, sketch), 0);
		iblt_ops.destroy(sketch);
		assert_same_filter(iblt_of_const(sum), iblt_of_const(whole));
		list(sum, &listed);
		assert_truth(&listed, &stream);
		assert_complete(sum);
	}
	zipf_close(&again);
	zipf_close(&stream);
	iblt_ops.destroy(whole);
	iblt_ops.destroy(sum);
}

static void test_merge_refuses(void **state)
{
	struct sketch *a = make((struct sketch_params){.width = 64});
	struct sketch *others[] = {
		make((struct sketch_params){.width = 128}),
		make((struct sketch_params){.width = 64, .depth = 4}),
		make((struct sketch_params){.width = 64, .metric = SKETCH_BYTES}),
		make((struct sketch_params){.width = 64, .seed = SEED + 1}),
	};

	(void)state;
	assert_int_not_equal(iblt_ops.merge(a, a), 0);
	assert_int_not_equal(iblt_ops.subtract(a, a), 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_int_not_equal(iblt_ops.merge(a, others[i]), 0);
		assert_int_not_equal(iblt_ops.subtract(a, others[i]), 0);
		iblt_ops.destroy(others[i]);
	}
	iblt_ops.destroy(a);
}

/* Two epochs with different and common flows: lists the change of each flow, up or down. */
static void test_subtract(void **state)
{
	struct sketch_params params = {.width = 1 << 12};
	struct sketch *before = make(params), *after = make(params);
	struct zipf_stream then, now;
	uint32_t changed = 0;

	(void)state;
	zipf_open(&then, FLOWS, 1.0, SEED);
	zipf_open(&now, FLOWS, 1.0, SEED);
	now.state = SEED + 1;
	feed(before, &then, PACKETS / 4, BURST_MAX, SHARING_SEPARATE);
	feed(after, &now, PACKETS / 4, BURST_MAX, SHARING_SEPARATE);
	assert_int_equal(iblt_ops.subtract(after, before), 0);
	list(after, &listed);
	for (uint32_t f = 0; f < FLOWS; f++) {
		bool differs = now.packets[f] != then.packets[f] || now.bytes[f] != then.bytes[f];

		assert_int_equal(listed.times[f], differs);
		assert_true(listed.packets[f] == now.packets[f] - then.packets[f]);
		assert_true(listed.bytes[f] == now.bytes[f] - then.bytes[f]);
		assert_int_equal(listed.before[f], 0);
		changed += differs;
	}
	assert_int_equal(listed.n, changed);
	assert_true(iblt_ops.lists_all_keys(after));

	/* Merging undoes the subtraction. */
	assert_int_equal(iblt_ops.merge(after, before), 0);
	list(after, &listed);
	assert_truth(&listed, &now);
	zipf_close(&then);
	zipf_close(&now);
	iblt_ops.destroy(before);
	iblt_ops.destroy(after);
}

/*
 * ---- Load
 */

/* Returns a random IPv4 or IPv6 key of a trial. */
static struct key random_key(uint64_t *random, enum key_family family)
{
	struct key key;

	memset(&key, 0, sizeof(key));
	key.family = family;
	for (uint32_t i = 0; i < (family == KEY_IPV4 ? 13u : 37u); i++)
		((uint8_t *)&key)[i] = (uint8_t)zipf_random(random);
	return key;
}

/* Feeds one packet each of `flows` random flows. */
static void feed_random(
	struct sketch *sketch, uint64_t *random, uint32_t flows, enum key_family family)
{
	static struct key_burst burst;

	for (uint32_t f = 0; f < flows; f += burst.n) {
		burst.n = 0;
		burst.v6 = 0;
		for (uint32_t i = 0; i < BURST_MAX && f + i < flows; i++) {
			struct key key = random_key(random, family);

			burst_append(&burst, &key, &(struct key_hash){0}, FRAME_MIN);
		}
		hash_burst(&iblt_of_const(sketch)->hash_key, &burst);
		iblt_ops.update[SHARING_SEPARATE](sketch, &burst);
	}
}

static void count_candidate(const struct sketch_candidate *candidate, void *arg)
{
	if (candidate->packets == 1 && candidate->before == 0)
		++*(uint32_t *)arg;
}

/* Returns the share of flows that are decoded exactly. */
static double decoded_share(uint32_t depth, double load, enum key_family family, uint64_t seed)
{
	struct sketch *sketch = make((struct sketch_params){.depth = depth, .width = 1 << 14});
	uint64_t random = (uint64_t)(load * 1e6) + (seed << 32), cells = (uint64_t)depth << 14;
	uint32_t flows, found = 0;
	struct sketch_undecoded rest;

	flows = (uint32_t)(load * (double)(family == KEY_IPV6 ? cells / 2 : cells));
	feed_random(sketch, &random, flows, family);
	iblt_ops.candidates(sketch, count_candidate, &found);
	rest = iblt_ops.undecoded(sketch);
	assert_int_equal(rest.packets, flows - found);
	assert_true(rest.flows <= flows - found);
	assert_int_equal(iblt_ops.lists_all_keys(sketch), found == flows);
	iblt_ops.destroy(sketch);
	return (double)found / flows;
}

/*
 * Theory of random hypergraphs: at load c a share x of flows is in the 2-core, where a cell still
 * has another flow with probability q; q is the largest root of q = 1 - exp(-k c q^(k-1)), and x =
 * q^k.
 */
static double core_share(uint32_t depth, double load)
{
	double q = 1;

	for (uint32_t i = 0; i < 100000; i++)
		q = 1 - exp(-(double)depth * load * pow(q, depth - 1));
	return pow(q, depth);
}

static void test_degrades_as_theory_says(void **state)
{
	static const double loads[] = {0.30, 0.60, 0.70, 0.75, 0.80, 0.85, 0.90, 1.0, 1.2};

	(void)state;
	for (uint32_t depth = IBLT_DEPTH_MIN; depth <= IBLT_DEPTH_MAX; depth++)
		for (size_t l = 0; l < sizeof(loads) / sizeof(loads[0]); l++) {
			double threshold = iblt_threshold(depth), load = loads[l];

			if (load > threshold - 0.015 && load < threshold + 0.015)
				continue;
			for (enum key_family f = KEY_IPV4; f <= KEY_IPV6; f += 2) {
				double share = decoded_share(depth, load, f, 0);

				print_message("# k = %u, load %.2f, IPv%u: %.4f decoded, %.4f in "
					      "theory\n",
					depth, load, f, share, 1 - core_share(depth, load));
				if (load < threshold)
					assert_true(share == 1);
				else
					assert_true(
						fabs(share - (1 - core_share(depth, load))) < 0.03);
			}
		}
}

/*
 * Not asserted: the number of tables that decode completely, and the share of flows, around the
 * threshold.
 */
static void print_curve(uint32_t tables)
{
	for (uint32_t depth = IBLT_DEPTH_MIN; depth <= IBLT_DEPTH_MAX; depth++)
		for (uint32_t percent = 70; percent <= 90; percent++) {
			double load = percent / 100.0, sum = 0;
			uint32_t whole = 0;

			for (uint32_t t = 0; t < tables; t++) {
				double share = decoded_share(depth, load, KEY_IPV4, t + 1);

				sum += share;
				whole += share == 1;
			}
			printf("k = %u, load %.2f: %u of %u tables decoded whole; of the flows "
			       "%.4f, in theory %.4f\n",
				depth, load, whole, tables, sum / tables,
				1 - core_share(depth, load));
		}
}

/* Above the threshold, every listed flow is exact, and the rest is within bounds. */
static void test_overload(void **state)
{
	(void)state;
	for (uint32_t depth = IBLT_DEPTH_MIN; depth <= IBLT_DEPTH_MAX; depth++)
		for (uint64_t width = 64; width <= 2048; width *= 2) {
			struct sketch *sketch = make((struct sketch_params){
				.depth = depth, .width = width, .metric = width % 3 == 1});
			struct zipf_stream stream;
			struct sketch_undecoded rest;
			uint64_t packets = 0, bytes = 0, most = 0;

			zipf_open(&stream, FLOWS, 0.9, SEED);
			feed(sketch, &stream, PACKETS, BURST_MAX, SHARING_SEPARATE);
			list(sketch, &listed);
			rest = iblt_ops.undecoded(sketch);
			for (uint32_t f = 0; f < FLOWS; f++) {
				uint64_t truth = true_amount(&stream, f, sketch->params.metric);
				bool exact = listed.times[f] > 0 && listed.before[f] == 0;

				if (exact) {
					assert_int_equal(listed.packets[f], stream.packets[f]);
					assert_int_equal(listed.bytes[f], stream.bytes[f]);
					continue;
				}
				packets += stream.packets[f];
				bytes += stream.bytes[f];
				if (listed.times[f] > 0)
					assert_true(truth <= listed.before[f]);
				else
					most = truth > most ? truth : most;
				assert_true(truth <= iblt_ops.missed(sketch, &stream.hash[f]));
			}
			assert_int_equal(rest.packets, packets);
			assert_int_equal(rest.bytes, bytes);
			assert_true(most <= rest.largest);
			assert_int_equal(iblt_ops.lists_all_keys(sketch), packets == 0);
			zipf_close(&stream);
			iblt_ops.destroy(sketch);
		}
}

/* ---- A flow hidden by a filter error */

static void hide(struct sketch *sketch, const struct key_hash *hash)
{
	struct iblt_block *block = iblt_block(iblt_of_const(sketch), hash);

	for (uint32_t w = 0; w < IBLT_FILTER_WORDS; w++)
		block->words[w] |= UINT64_C(1) << iblt_filter_bit(hash, w);
}

/* Its packets are in cells of others: those are no longer exact, and all bounds hold. */
static void test_hidden_flow(void **state)
{
	struct zipf_stream stream;
	uint32_t spared = 0;

	(void)state;
	zipf_open(&stream, FLOWS, 0.2, SEED);
	for (uint32_t n = 0; n < 200; n++) {
		struct sketch_params params = {
			.width = 64u << n % 4,
			.depth = 3 + n / 4 % 2,
			.metric = n / 8 % 2 == 0 ? SKETCH_PACKETS : SKETCH_BYTES,
			.seed = n + 1,
		};
		struct sketch *sketch = make(params);
		uint32_t hidden = n % 100, exact = 0;
		struct sketch_undecoded rest;
		bool seen;

		zipf_restart(&stream, n + 1);
		stream.nb_flows = 100;
		hide(sketch, &stream.hash[hidden]);
		feed(sketch, &stream, 1500, BURST_MAX, SHARING_SEPARATE);
		seen = stream.packets[hidden] > 0;
		list(sketch, &listed);
		rest = iblt_ops.undecoded(sketch);
		assert_int_equal(iblt_ops.lists_all_keys(sketch), !seen && rest.flows == 0);
		assert_int_equal(listed.times[hidden], 0);
		for (uint32_t f = 0; f < 100; f++) {
			uint64_t truth = true_amount(&stream, f, params.metric);
			uint64_t counted = listed_amount(f, params.metric);

			assert_true(truth <= iblt_ops.missed(sketch, &stream.hash[f]));
			if (listed.times[f] == 0) {
				assert_true(truth <= rest.largest);
				continue;
			}
			assert_true(counted <= truth && truth <= counted + listed.before[f]);
			if (listed.before[f] == 0) {
				assert_int_equal(counted, truth);
				exact++;
			}
		}
		spared += exact > 0;
		assert_true(rest.packets >= stream.packets[hidden]);
		assert_int_equal(rest.packets + listed.all_packets, 1500);
		stream.nb_flows = FLOWS;
		iblt_ops.destroy(sketch);
	}
	assert_true(spared > 50);
	zipf_close(&stream);
}

/* Error rate of the filter, at a measurable size. */
static void test_filter_errors(void **state)
{
	struct sketch *sketch = make((struct sketch_params){.width = 1 << 13});
	const struct iblt *table = iblt_of_const(sketch);
	double blocks = (double)(1u << table->filter_bits), expected;
	uint32_t flows = 24u << table->filter_bits;
	uint64_t random = 5, inserted = 0;

	(void)state;
	feed_random(sketch, &random, flows, KEY_IPV4);
	for (uint64_t c = 0; c >> table->rows[0].bits == 0; c++)
		inserted += iblt_cell(&table->rows[0], c)->flows;
	expected = iblt_filter_errors(flows, blocks);
	print_message("# %u flows in %.0f blocks: %u taken for others, at most %.1f expected\n",
		flows, blocks, (uint32_t)(flows - inserted), expected);
	assert_true((double)(flows - inserted) < expected);
	assert_true((double)(flows - inserted) > expected / 20);
	/* Full tables of every size. */
	for (uint64_t width = 16; width <= 1 << 20; width *= 4) {
		struct sketch *full = make((struct sketch_params){.width = width});

		blocks = (double)(1u << iblt_of_const(full)->filter_bits);
		assert_true(iblt_filter_errors(0.8185 * 3 * 1.5 * (double)width, blocks) <= 0.001);
		iblt_ops.destroy(full);
	}
	iblt_ops.destroy(sketch);
}

/*
 * ---- No wrong key
 */

struct trial {
	uint32_t n, found;
	struct key keys[64];
	uint32_t packets[64];
};

static void check_trial(const struct sketch_candidate *candidate, void *arg)
{
	struct trial *trial = arg;

	for (uint32_t i = 0; i < trial->n; i++)
		if (key_equal(&candidate->key, &trial->keys[i])) {
			if (candidate->before == 0)
				assert_int_equal(candidate->packets, trial->packets[i]);
			trial->found++;
			return;
		}
	fail_msg("a key that was not there");
}

/*
 * Small tables, mostly far too full, so that cells with many keys are examined repeatedly; keys
 * that differ in few bits, so that sums look like keys; some inserted several times.
 */
static void run_trials(uint64_t trials, uint64_t seed)
{
	struct sketch *tables[4][2];
	uint64_t random = seed, found = 0;
	static struct key_burst burst;

	for (uint32_t t = 0; t < 4; t++)
		for (uint32_t half = 0; half < 2; half++)
			tables[t][half] = make((struct sketch_params){
				.depth = 3 + t % 2, .width = 16u << t / 2, .seed = seed});
	for (uint64_t n = 0; n < trials; n++) {
		struct sketch **table = tables[zipf_random(&random) % 4];
		struct trial trial = {.n = 8 + (uint32_t)(zipf_random(&random) % 57)};
		enum key_family family = zipf_random(&random) % 4 == 0 ? KEY_IPV6 : KEY_IPV4;
		struct key base = random_key(&random, family);
		uint64_t sets[2] = {zipf_random(&random) | zipf_random(&random), 0};

		sets[1] = ~sets[0] | zipf_random(&random);
		for (uint32_t i = 0; i < trial.n; i++) {
			trial.keys[i] = n % 2 == 0 ? random_key(&random, family) : base;
			((uint8_t *)&trial.keys[i])[n % 13] = (uint8_t)i;
		}
		for (uint32_t half = 0; half < 2; half++) {
			burst.n = 0;
			burst.v6 = 0;
			for (uint32_t i = 0; i < trial.n; i++) {
				if ((sets[half] >> i & 1) == 0)
					continue;
				trial.packets[i]++;
				burst_append(&burst, &trial.keys[i], &(struct key_hash){0}, 60);
			}
			hash_burst(&iblt_of_const(table[0])->hash_key, &burst);
			iblt_ops.update[SHARING_SEPARATE](table[half], &burst);
		}
		assert_int_equal(iblt_ops.merge(table[0], table[1]), 0);
		iblt_ops.candidates(table[0], check_trial, &trial);
		found += trial.found;
		iblt_ops.reset(table[0]);
		iblt_ops.reset(table[1]);
	}
	print_message("# %llu trials, %llu keys found\n", (unsigned long long)trials,
		(unsigned long long)found);
	for (uint32_t t = 0; t < 4; t++)
		for (uint32_t half = 0; half < 2; half++)
			iblt_ops.destroy(tables[t][half]);
}

static uint64_t nb_trials = FEWER(200000, 20000);

static void test_no_wrong_key(void **state)
{
	(void)state;
	run_trials(nb_trials, nb_trials);
}

/*
 * ---- Size
 */

/* Several writers: the power of two that suits the flows seen, decoded or not, within the limits. */
static void test_fit_shared(void **state)
{
	static const struct {
		uint32_t flows;
		enum key_family family;
		uint64_t width;
	} epochs[] = {
		{0, KEY_IPV4, 1 << 11},
		{1000, KEY_IPV4, 1 << 11},
		{2550, KEY_IPV4, 1 << 11},
		{24000, KEY_IPV4, 1 << 14},
		{25000, KEY_IPV4, 1 << 15},
		{12500, KEY_IPV6, 1 << 15}, /* IPv6 tables have half the cells */
		{60000, KEY_IPV4, 1 << 16},
		{150000, KEY_IPV4, 1 << 17}, /* far too many for this table */
		{700000, KEY_IPV4, 1 << 18},
	};
	struct sketch *sketch = make((struct sketch_params){
		.width = 1 << 15, .width_max = 1 << 18, .load = 0.5, .writers = 2});
	uint64_t random = 1;

	(void)state;
	assert_int_equal(iblt_ops.fit(sketch).width, 1 << 15); /* no flows were counted */
	for (size_t e = 0; e < sizeof(epochs) / sizeof(epochs[0]); e++) {
		uint32_t found = 0;

		feed_random(sketch, &random, epochs[e].flows, epochs[e].family);
		iblt_ops.candidates(sketch, count_candidate, &found);
		assert_int_equal(iblt_ops.fit(sketch).width, epochs[e].width);
		iblt_ops.reset(sketch);
	}
	iblt_ops.destroy(sketch);
	sketch = make((struct sketch_params){.width = 1 << 15});
	iblt_ops.candidates(sketch, NULL, NULL);
	assert_int_equal(iblt_ops.fit(sketch).width, 1 << 15);
	iblt_ops.destroy(sketch);
}

/*
 * ---- Compact cells: one writer, and a size that follows the flows
 */

struct counted {
	size_t now, most;
	uint32_t fail_after; /* allocations */
};

static void *counted_alloc(size_t size, void *arg)
{
	struct counted *counted = arg;

	if (counted->fail_after-- == 0)
		return NULL;
	counted->now += size;
	counted->most = counted->now > counted->most ? counted->now : counted->most;
	return sketch_allocator_malloc.alloc(size, NULL);
}

static void counted_free(void *memory, size_t size, void *arg)
{
	((struct counted *)arg)->now -= size;
	sketch_allocator_malloc.free(memory, size, NULL);
}

/* Cells of one writer with room for 0.75 flows each. Its allocations are counted. */
static struct sketch *make_compact(struct sketch_params params, struct counted *counted)
{
	struct sketch_params checked = params;
	struct sketch *sketch;

	*counted = (struct counted){.fail_after = UINT32_MAX};
	checked.allocator = (struct sketch_allocator){counted_alloc, counted_free, counted};
	checked.seed = params.seed == 0 ? SEED : params.seed;
	checked.load = params.load > 0 ? params.load : 0.75;
	checked.width_max = UINT64_C(1) << 22;
	checked.width = 0;
	assert_null(iblt_ops.check(&checked));
	assert_true(checked.compact);
	checked.width = params.width;
	sketch = iblt_ops.create(&checked);
	assert_non_null(sketch);
	assert_int_equal(counted->now, iblt_ops.memory(&sketch->params));
	return sketch;
}

/* Widths other than powers of two, both depths, metrics and update functions. */
static void test_compact_exact(void **state)
{
	static const uint64_t widths[] = {3001, 4096, 50000};
	struct zipf_stream stream;
	struct counted counted;

	(void)state;
	zipf_open(&stream, FLOWS, 0.9, SEED);
	for (uint32_t n = 0; n < 24; n += FEWER(1, 5)) {
		struct sketch *sketch = make_compact(
			(struct sketch_params){
				.depth = 3 + n % 2,
				.width = widths[n / 8],
				.width6 = widths[n / 8] / (1 + n % 2),
				.metric = n / 2 % 2 == 0 ? SKETCH_PACKETS : SKETCH_BYTES,
			},
			&counted);
		enum sketch_sharing sharing = n / 4 % 2 == 0 ? SHARING_SEPARATE : SHARING_SHARED;

		for (uint32_t again = 0; again < 2; again++) {
			zipf_restart(&stream, SEED);
			stream.state += again;
			feed(sketch, &stream, PACKETS, again == 0 ? BURST_MAX : 7, sharing);
			list(sketch, &listed);
			assert_truth(&listed, &stream);
			assert_complete(sketch);
			/* Counting continues after a listing. */
			feed(sketch, &stream, PACKETS / 10, 7, sharing);
			list(sketch, &listed);
			assert_truth(&listed, &stream);
			iblt_ops.reset(sketch);
			list(sketch, &listed);
			assert_int_equal(listed.n, 0);
			assert_complete(sketch);
		}
		assert_int_equal(counted.most, iblt_ops.memory(&sketch->params) +
						       iblt_ops.listing_memory(&sketch->params));
		iblt_ops.destroy(sketch);
		assert_int_equal(counted.now, 0);
	}
	zipf_close(&stream);
}

static void assert_bounds(const struct sketch *sketch, const struct zipf_stream *stream)
{
	struct sketch_undecoded rest;
	uint64_t packets = 0, bytes = 0, flows = 0;

	list(sketch, &listed);
	rest = iblt_ops.undecoded(sketch);
	for (uint32_t f = 0; f < stream->nb_flows; f++) {
		uint64_t truth = true_amount(stream, f, sketch->params.metric);
		uint64_t counted = listed_amount(f, sketch->params.metric);

		assert_true(truth <= iblt_ops.missed(sketch, &stream->hash[f]));
		if (listed.times[f] > 0 && listed.before[f] == 0) {
			assert_int_equal(listed.packets[f], stream->packets[f]);
			assert_int_equal(listed.bytes[f], stream->bytes[f]);
			continue;
		}
		packets += stream->packets[f];
		bytes += stream->bytes[f];
		if (listed.times[f] > 0)
			assert_true(counted <= truth && truth <= counted + listed.before[f]);
		else
			assert_true(truth <= rest.largest);
		flows += listed.times[f] == 0 && stream->packets[f] > 0;
	}
	assert_true(flows <= rest.flows);
	assert_int_equal(rest.packets, packets);
	assert_int_equal(rest.bytes, bytes);
	assert_int_equal(iblt_ops.lists_all_keys(sketch), packets == 0);
}

/* Up to loads at which the list of tags is full: listed flows are exact, and the bounds hold. */
static void test_compact_overload(void **state)
{
	struct zipf_stream stream;
	struct counted counted;
	uint32_t full = 0, partly = 0;

	(void)state;
	zipf_open(&stream, FLOWS, 0.9, SEED);
	for (uint32_t n = 0; n < 300; n += FEWER(1, 5)) {
		struct sketch *sketch = make_compact(
			(struct sketch_params){
				.depth = 3 + n % 2,
				.width = 16u + 40 * (n / 4),
				/* Twice as many as IPv6 needs leave room for the tags of IPv4. */
				.width6 = 16 + (n % 3 == 0 ? 20 : 40) * (n / 4),
				.metric = n / 2 % 2 == 0 ? SKETCH_PACKETS : SKETCH_BYTES,
				.seed = n + 1,
			},
			&counted);

		zipf_restart(&stream, n + 1);
		feed(sketch, &stream, PACKETS / 4, BURST_MAX, SHARING_SEPARATE);
		assert_bounds(sketch, &stream);
		full += iblt_of_const(sketch)->unlisted.packets > 0;
		partly += listed.n > 0 && !iblt_ops.lists_all_keys(sketch);
		iblt_ops.destroy(sketch);
	}
	assert_true(full > 0 && partly > 0);
	zipf_close(&stream);
}

/* Another flow has the tag of a flow: the flow's packets are in cells of others. */
static void test_compact_hidden_flow(void **state)
{
	struct zipf_stream stream;
	struct counted counted;
	uint32_t spared = 0;

	(void)state;
	zipf_open(&stream, FLOWS, 0.2, SEED);
	for (uint32_t n = 0; n < 400; n++) {
		struct sketch *sketch = make_compact(
			(struct sketch_params){
				.width = 64u << n % 4,
				.depth = 3 + n / 4 % 2,
				.metric = n / 8 % 2 == 0 ? SKETCH_PACKETS : SKETCH_BYTES,
				.seed = n + 1,
			},
			&counted);
		struct iblt *table = (struct iblt *)sketch;
		uint32_t hidden = n % 100;
		uint64_t check;

		zipf_restart(&stream, n + 1);
		check = iblt_check(&stream.hash[hidden]);
		stream.nb_flows = 100;
		table->tags[((check >> 32) * table->nb_groups >> 32) * 16] = (uint32_t)check;
		table->nb_tags++;
		feed(sketch, &stream, 1500, BURST_MAX, SHARING_SEPARATE);
		list(sketch, &listed);
		assert_int_equal(listed.times[hidden], 0);
		for (uint32_t f = 0; f < 100; f++) {
			uint64_t truth = true_amount(&stream, f, sketch->params.metric);
			uint64_t low = listed_amount(f, sketch->params.metric);

			assert_true(truth <= iblt_ops.missed(sketch, &stream.hash[f]));
			if (listed.times[f] > 0)
				assert_true(low <= truth && truth <= low + listed.before[f]);
			else
				assert_true(truth <= iblt_ops.undecoded(sketch).largest);
			spared += listed.times[f] > 0 && listed.before[f] == 0;
		}
		assert_int_equal(iblt_ops.lists_all_keys(sketch), stream.packets[hidden] == 0);
		stream.nb_flows = FLOWS;
		iblt_ops.destroy(sketch);
	}
	assert_true(spared > 100);
	zipf_close(&stream);
}

static void count_any(const struct sketch_candidate *candidate, void *arg)
{
	(void)candidate;
	++*(uint32_t *)arg;
}

/*
 * Most cells are for the other family. A cell with 257 or 1025 flows counts one, and hashes the
 * exclusive or of their keys to itself in 1 table of 20.
 */
static void test_compact_one_family(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < FEWER(200, 100); n++) {
		const enum key_family family = n % 2 == 0 ? KEY_IPV6 : KEY_IPV4;
		const uint32_t width = family == KEY_IPV6 ? 28 : 16;
		const uint32_t flows = (n / 2 % 2 == 0 ? 257 : 1025) * width;
		struct counted counted;
		struct sketch *sketch = make_compact(
			(struct sketch_params){
				.width = family == KEY_IPV6 ? 20000 : width,
				.width6 = family == KEY_IPV6 ? width : 20000,
				.seed = n + 1,
			},
			&counted);
		uint64_t random = n;
		uint32_t found = 0;
		struct sketch_shape shape;

		feed_random(sketch, &random, flows, family);
		iblt_ops.candidates(sketch, count_any, &found);
		assert_int_equal(found, 0);
		assert_int_equal(iblt_of_const(sketch)->unlisted.packets, 0);
		assert_int_equal(iblt_ops.undecoded(sketch).flows, flows);
		assert_int_equal(iblt_ops.undecoded(sketch).packets, flows);
		assert_true(iblt_ops.undecoded(sketch).largest >= flows / width);
		assert_false(iblt_ops.lists_all_keys(sketch));
		/* The next size has room for all of them. */
		shape = iblt_ops.fit(sketch);
		assert_true((double)(family == KEY_IPV6 ? shape.width6 : shape.width) * 3 >=
			    flows / 0.75);
		iblt_ops.destroy(sketch);
	}
}

/*
 * Zha et al. 2022, Table 1: SMON takes 96.97 KB of 1024 bytes for 2550 flows. From Table 2 on, it
 * takes 39 bytes per flow. The next size decodes the same flows.
 */
static void test_compact_memory(void **state)
{
	static const struct {
		uint32_t flows;
		double most;
	} rows[] = {{2550, 96.97 * 1024}, {3043, 119000}, {10000, 39e4}, {123457, 39 * 123457.},
		{1000000, 39e6}};
	struct counted counted;

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]) - FEWER(0, 1); r++) {
		struct sketch *sketch =
			make_compact((struct sketch_params){.width = rows[r].flows}, &counted);
		struct sketch_params fitted = sketch->params;
		uint64_t random = r + 1;
		struct sketch_shape shape;
		uint32_t found = 0;

		feed_random(sketch, &random, rows[r].flows, KEY_IPV4);
		iblt_ops.candidates(sketch, count_candidate, &found);
		assert_int_equal(found, rows[r].flows);
		shape = iblt_ops.fit(sketch);
		iblt_ops.destroy(sketch);
		fitted.width = shape.width;
		fitted.width6 = shape.width6;
		sketch = iblt_ops.create(&fitted);
		print_message("# %u flows: %zu bytes\n", rows[r].flows, counted.now);
		assert_int_equal(counted.now, iblt_ops.memory(&fitted));
		assert_true((double)counted.now <= rows[r].most);
		random = r + 1;
		found = 0;
		feed_random(sketch, &random, rows[r].flows, KEY_IPV4);
		iblt_ops.candidates(sketch, count_candidate, &found);
		assert_int_equal(found, rows[r].flows);
		assert_complete(sketch);
		iblt_ops.destroy(sketch);
	}
}

/* Also if most flows were not inserted, their number is known within a quarter. */
static void test_compact_fit(void **state)
{
	static const struct {
		uint32_t flows4, flows6;
	} epochs[] = {
		{0, 0}, {100, 0}, {2550, 0}, {0, 100}, {20000, 1000}, {100000, 0}, {0, 100000}};
	struct counted counted;
	struct sketch *sketch = make_compact((struct sketch_params){.width = 4000}, &counted);
	uint64_t random = 1;

	(void)state;
	assert_int_equal(iblt_ops.fit(sketch).width, 4000); /* no flows were counted */
	for (size_t e = 0; e < sizeof(epochs) / sizeof(epochs[0]); e++) {
		double cells4 = epochs[e].flows4 / 0.75, cells6 = epochs[e].flows6 / 0.75;
		struct sketch_shape shape;
		uint32_t found = 0;

		feed_random(sketch, &random, epochs[e].flows4, KEY_IPV4);
		feed_random(sketch, &random, epochs[e].flows6, KEY_IPV6);
		iblt_ops.candidates(sketch, count_candidate, &found);
		shape = iblt_ops.fit(sketch);
		assert_true((double)shape.width * 3 >= cells4);
		assert_true((double)shape.width6 * 3 >= cells6);
		assert_true((double)shape.width * 3 <= 3 * 1024 + 1.8 * cells4);
		assert_true((double)shape.width6 * 3 <= 800 + 1.8 * cells6);
		if (iblt_of_const(sketch)->unlisted.packets == 0 && epochs[e].flows4 > 2000)
			assert_true((double)shape.width * 3 <= 1.04 * cells4);
		iblt_ops.reset(sketch);
	}
	iblt_ops.destroy(sketch);
}

/* Without memory for decoding, no flow is listed, and the bounds hold. */
static void test_compact_without_memory(void **state)
{
	struct zipf_stream stream;
	struct counted counted;
	struct sketch *sketch = make_compact((struct sketch_params){.width = 5000}, &counted);

	(void)state;
	zipf_open(&stream, FLOWS, 0.9, SEED);
	feed(sketch, &stream, PACKETS, BURST_MAX, SHARING_SEPARATE);
	counted.fail_after = 0;
	assert_bounds(sketch, &stream);
	assert_int_equal(listed.n, 0);
	counted.fail_after = UINT32_MAX;
	list(sketch, &listed);
	assert_truth(&listed, &stream);
	assert_int_equal(iblt_ops.merge(sketch, sketch), -EINVAL);
	iblt_ops.destroy(sketch);
	zipf_close(&stream);
}

struct limited {
	const struct key_burst *burst;
	bool exact;
	uint32_t found;
};

static void check_limited(const struct sketch_candidate *candidate, void *arg)
{
	struct limited *limited = arg;

	for (uint32_t i = 0; i < limited->burst->n; i++) {
		const struct key_hash *hash = &limited->burst->hash[i];
		uint64_t packets = limited->burst->weights->packets[i];
		uint64_t bytes = limited->burst->weights->bytes[i];

		if (hash->lo != candidate->hash.lo || hash->hi != candidate->hash.hi)
			continue;
		limited->found++;
		assert_true(candidate->packets <= packets && candidate->bytes <= bytes);
		assert_int_equal(candidate->before, limited->exact ? 0 : UINT64_MAX);
		if (!limited->exact)
			continue;
		assert_int_equal(candidate->packets, packets);
		assert_int_equal(candidate->bytes, bytes);
	}
}

/*
 * A flow with more than 36 or 44 bits has lower bounds, as have the others. Sums of several flows
 * may exceed them, if all flows are decoded.
 */
static void test_compact_limits(void **state)
{
	const uint64_t packets = UINT64_C(1) << 36, bytes = UINT64_C(1) << 44;
	const struct {
		struct weight first, others;
		bool exact;
	} rows[] = {{{packets - 64, 1}, {1, 64}, true}, {{packets - 1, 1}, {packets - 1, 64}, true},
		{{packets, 1}, {1, 64}, false}, {{packets, bytes}, {1, 64}, false},
		{{1, bytes - (1 << 20)}, {1, 64}, true}, {{1, bytes - 1}, {1, bytes / 2}, true},
		{{1, bytes}, {1, 64}, false}, {{1, bytes + 7}, {packets - 3, bytes - 3}, false},
		{{UINT64_MAX, UINT64_MAX}, {1, 64}, false}};
	struct counted counted;

	(void)state;
	for (size_t r = 0; r < 2 * sizeof(rows) / sizeof(rows[0]); r++) {
		struct sketch *sketch = make_compact(
			(struct sketch_params){.width = 64, .metric = (enum sketch_metric)(r % 2)},
			&counted);
		static struct key_burst burst;
		struct key_weights added = {0};
		struct limited limited = {.burst = &burst, .exact = rows[r / 2].exact};
		uint64_t random = 3;

		burst.n = 0;
		burst.v6 = 0;
		for (uint32_t i = 0; i < 10; i++) {
			struct key key = random_key(&random, KEY_IPV4);
			const struct weight *weight =
				i == 0 ? &rows[r / 2].first : &rows[r / 2].others;

			burst_append(&burst, &key, &(struct key_hash){0}, FRAME_MIN);
			added.packets[i] = weight->packets;
			added.bytes[i] = weight->bytes;
		}
		burst.weights = &added;
		hash_burst(&iblt_of_const(sketch)->hash_key, &burst);
		iblt_ops.update_weighted[SHARING_SEPARATE](sketch, &burst);
		iblt_ops.candidates(sketch, check_limited, &limited);
		assert_int_equal(limited.found, 10);
		assert_true(iblt_ops.lists_all_keys(sketch));
		assert_int_equal(iblt_ops.undecoded(sketch).overflown, !limited.exact);
		assert_int_equal(iblt_ops.undecoded(sketch).packets, 0);
		assert_int_equal(iblt_ops.undecoded(sketch).largest, 0);
		if (!limited.exact)
			assert_int_equal(iblt_ops.missed(sketch, &burst.hash[0]), UINT64_MAX);
		burst.weights = NULL;
		iblt_ops.destroy(sketch);
	}
}

/* The cells are the same for any burst sizes. */
static void test_compact_burst_borders(void **state)
{
	struct counted counted, other;
	struct zipf_stream stream;

	(void)state;
	zipf_open(&stream, FLOWS, 0.9, SEED);
	for (uint64_t width = 300; width <= 9000; width *= 30) {
		struct sketch *a = make_compact((struct sketch_params){.width = width}, &counted);
		struct sketch *b = make_compact((struct sketch_params){.width = width}, &other);
		const struct iblt *x = iblt_of_const(a), *y = iblt_of_const(b);

		zipf_restart(&stream, SEED);
		feed(a, &stream, PACKETS, 1, SHARING_SEPARATE);
		zipf_restart(&stream, SEED);
		feed(b, &stream, PACKETS, BURST_MAX, SHARING_SEPARATE);
		list(b, &listed);
		for (uint32_t f = 0; f < IBLT_FAMILIES; f++) {
			size_t cells = iblt_nb_cells(&x->rows[f]);

			assert_memory_equal(x->rows[f].counts, y->rows[f].counts,
				cells * sizeof(x->rows[f].counts[0]));
			assert_memory_equal(x->rows[f].addresses, y->rows[f].addresses,
				cells * x->rows[f].words * sizeof(uint64_t));
		}
		assert_memory_equal(x->tags, y->tags, (size_t)x->nb_groups * 64);
		iblt_ops.destroy(a);
		iblt_ops.destroy(b);
	}
	zipf_close(&stream);
}

/* Other keys than those of the 5-tuple, and several writers, have no compact cells. */
static void test_compact_only_if_it_fits(void **state)
{
	static const struct {
		const char *key;
		uint32_t writers;
		double load;
		bool compact;
	} rows[] = {{"5tuple", 1, 0.7, true}, {"src", 1, 0.7, true}, {"6tuple", 1, 0.7, false},
		{"5tuple", 2, 0.7, false}, {"5tuple", 1, 0, false}};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct sketch_params params = {.key = key_rule_find(rows[r].key),
			.writers = rows[r].writers,
			.load = rows[r].load};

		assert_null(iblt_ops.check(&params));
		assert_int_equal(params.compact, rows[r].compact);
		assert_int_equal(iblt_ops.listing_memory(&params) > 0, rows[r].compact);
	}
}

static void test_shapes(void **state)
{
	static const struct sketch_params bad[] = {
		{.depth = 2},
		{.depth = 5},
		{.width = 8},
		{.width = 1000},
		{.width = UINT64_C(1) << 27},
		{.load = 0.9},
		{.load = 0.8, .depth = 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sketch_params params = bad[i];

		assert_non_null(iblt_ops.check(&params));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_burst_borders),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_merge_refuses),
		cmocka_unit_test(test_subtract),
		cmocka_unit_test(test_degrades_as_theory_says),
		cmocka_unit_test(test_overload),
		cmocka_unit_test(test_hidden_flow),
		cmocka_unit_test(test_filter_errors),
		cmocka_unit_test(test_no_wrong_key),
		cmocka_unit_test(test_fit_shared),
		cmocka_unit_test(test_compact_exact),
		cmocka_unit_test(test_compact_overload),
		cmocka_unit_test(test_compact_hidden_flow),
		cmocka_unit_test(test_compact_one_family),
		cmocka_unit_test(test_compact_memory),
		cmocka_unit_test(test_compact_fit),
		cmocka_unit_test(test_compact_without_memory),
		cmocka_unit_test(test_compact_limits),
		cmocka_unit_test(test_compact_burst_borders),
		cmocka_unit_test(test_compact_only_if_it_fits),
		cmocka_unit_test(test_shapes),
	};

	if (argc == 3 && strcmp(argv[1], "trials") == 0) {
		const struct CMUnitTest trials[] = {cmocka_unit_test(test_no_wrong_key)};

		nb_trials = strtoull(argv[2], NULL, 10);
		return cmocka_run_group_tests(trials, NULL, NULL);
	}
	if (argc == 3 && strcmp(argv[1], "curve") == 0) {
		print_curve((uint32_t)strtoul(argv[2], NULL, 10));
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
