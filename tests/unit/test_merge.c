/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/merge/merge.h"
#include "report/merge/rank.h"
#include "sketch/count_min.h"
#include "sketch/flow_table/flow_table.h"
#include "sketch/iblt/iblt.h"
#include "sketch/reversible/reversible.h"
#include "sketch/simple_hash.h"
#include "zipf_stream.h"

#define PARTS 4
#define SEED  5

enum split {
	BY_FLOW,
	BY_PACKET,
	SPLITS,
};

/* An epoch of several workers, and its true counts. */
struct epoch {
	const struct sketch_ops *ops;
	struct sketch_params params;
	struct sketch *part[PARTS];
	struct hyperloglog *distinct[PARTS];
	struct zipf_stream stream;
	struct ledger ledger;
	struct merger *merger;
	struct merge_input input;
};

static void open_epoch_of(const struct sketch_ops *ops, struct epoch *epoch,
	struct sketch_params params, uint32_t nb_flows)
{
	memset(epoch, 0, sizeof(*epoch));
	epoch->ops = ops;
	params.seed = params.seed != 0 ? params.seed : SEED;
	params.allocator = sketch_allocator_malloc;
	assert_null(ops->check(&params));
	epoch->params = params;
	zipf_open(&epoch->stream, nb_flows, 1.0, params.seed);
	for (uint32_t p = 0; p < PARTS; p++) {
		epoch->part[p] = ops->create(&params);
		epoch->distinct[p] = aligned_alloc(64, sizeof(struct hyperloglog));
		assert_non_null(epoch->part[p]);
		assert_non_null(epoch->distinct[p]);
		hyperloglog_reset(epoch->distinct[p]);
	}
	epoch->ledger.smallest_frame = UINT32_MAX;
	epoch->merger = merger_create(ops, &params);
	assert_non_null(epoch->merger);
	epoch->input = (struct merge_input){
		.parts = epoch->part,
		.distinct = epoch->distinct,
		.nb_parts = PARTS,
		.nb_distinct = PARTS,
		.ledger = &epoch->ledger,
		.loss_known = true,
		.confidence = 0.999,
	};
}

static void open_epoch(struct epoch *epoch, struct sketch_params params, uint32_t nb_flows)
{
	open_epoch_of(&count_min_ops, epoch, params, nb_flows);
}

static void close_epoch(struct epoch *epoch)
{
	merger_destroy(epoch->merger);
	for (uint32_t p = 0; p < PARTS; p++) {
		epoch->ops->destroy(epoch->part[p]);
		free(epoch->distinct[p]);
	}
	zipf_close(&epoch->stream);
}

static void count_burst(struct epoch *epoch, uint32_t part, struct key_burst *burst)
{
	for (uint32_t i = 0; i < burst->n; i++) {
		struct ledger *ledger = &epoch->ledger;

		ledger->measured++;
		ledger->bytes += burst->wire_len[i];
		if (burst->wire_len[i] > ledger->largest_frame)
			ledger->largest_frame = burst->wire_len[i];
		if (burst->wire_len[i] < ledger->smallest_frame)
			ledger->smallest_frame = burst->wire_len[i];
	}
	epoch->ops->update[SHARING_SEPARATE](epoch->part[part], burst);
	hyperloglog_update(epoch->distinct[part], burst);
	burst->n = 0;
}

static void feed(struct epoch *epoch, uint32_t nb_packets, enum split split)
{
	static struct key_burst burst[PARTS];

	for (uint32_t i = 0; i < nb_packets; i++) {
		uint32_t flow = zipf_draw(&epoch->stream);
		uint64_t by = split == BY_FLOW ? flow : zipf_random(&epoch->stream.state);
		uint32_t part = (uint32_t)(by % PARTS);

		zipf_append(&epoch->stream, &burst[part], flow);
		if (burst[part].n == BURST_MAX)
			count_burst(epoch, part, &burst[part]);
	}
	for (uint32_t part = 0; part < PARTS; part++)
		count_burst(epoch, part, &burst[part]);
}

static void collect(struct epoch *epoch)
{
	assert_int_equal(merger_collect(epoch->merger, &epoch->input), 0);
}

static struct report_measurement rank(const struct epoch *epoch, uint32_t top, double threshold)
{
	struct rank_limits limits = {.top = top, .threshold = threshold};
	struct report_measurement measurement = {0};

	assert_int_equal(rank_flows(epoch->merger, &limits, &measurement), 0);
	return measurement;
}

static void assert_holds(const struct report_figure *figure, uint64_t truth)
{
	assert_true(figure->known);
	assert_true(figure->high_known);
	assert_true(figure->low <= truth);
	assert_true(truth <= figure->high);
	assert_true(figure->low <= figure->value);
	assert_true(figure->value <= figure->high);
}

static void assert_same_rows(
	const struct report_measurement *a, const struct report_measurement *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct report_row *x = &a->rows[i], *y = &b->rows[i];

		assert_int_equal(x->rank, y->rank);
		assert_true(key_equal(&x->key, &y->key));
		assert_memory_equal(
			&x->packets, &y->packets, offsetof(struct report_figure, known));
		assert_memory_equal(&x->bytes, &y->bytes, offsetof(struct report_figure, known));
		assert_true(x->share == y->share);
	}
}

/* The stream that the comparison function of qsort() uses. */
static const struct epoch *sorted_epoch;

static int by_truth(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t *packets = sorted_epoch->stream.packets;
	const uint64_t *bytes = sorted_epoch->stream.bytes;
	bool by_packets = sorted_epoch->params.metric == SKETCH_PACKETS;
	const uint64_t *first = by_packets ? packets : bytes;
	const uint64_t *second = by_packets ? bytes : packets;
	struct key key_x = zipf_key(x), key_y = zipf_key(y);

	if (first[x] != first[y])
		return first[x] < first[y] ? 1 : -1;
	if (second[x] != second[y])
		return second[x] < second[y] ? 1 : -1;
	return key_compare(&key_x, &key_y);
}

static uint32_t *flows_by_truth(const struct epoch *epoch)
{
	uint32_t *flows = calloc(epoch->stream.nb_flows, sizeof(*flows));

	for (uint32_t f = 0; f < epoch->stream.nb_flows; f++)
		flows[f] = f;
	sorted_epoch = epoch;
	qsort(flows, epoch->stream.nb_flows, sizeof(*flows), by_truth);
	return flows;
}

/*
 * Wide intervals: tables are small, so that packets before listing, unlisted parts and the bound
 * all matter.
 */
static void check_intervals(enum sketch_metric metric, enum split split)
{
	struct epoch epoch;
	uint32_t inexact = 0;

	open_epoch(&epoch,
		(struct sketch_params){.width = 1024, .metric = metric, .candidates = 128}, 20000);
	feed(&epoch, 60000, split);
	collect(&epoch);
	assert_true(merger_nb_flows(epoch.merger) >= 128);
	for (uint32_t i = 0; i < merger_nb_flows(epoch.merger); i++) {
		struct merge_flow flow = merger_flow(epoch.merger, i);
		uint32_t f = zipf_flow(&flow.key);
		const struct report_figure *measured =
			metric == SKETCH_PACKETS ? &flow.packets : &flow.bytes;

		assert_holds(&flow.packets, epoch.stream.packets[f]);
		assert_holds(&flow.bytes, epoch.stream.bytes[f]);
		assert_int_equal(measured->value, measured->high);
		assert_true(measured->value <= merger_ceiling(epoch.merger, i));
		inexact += measured->low != measured->high;
	}
	assert_true(inexact > 20);
	close_epoch(&epoch);
}

static void test_intervals_hold(void **state)
{
	(void)state;
	for (enum split split = 0; split < SPLITS; split++) {
		check_intervals(SKETCH_PACKETS, split);
		check_intervals(SKETCH_BYTES, split);
	}
}

/* Feeds many packets of the largest size, then flows with packets of another size. */
static void feed_two_sizes(struct epoch *epoch, uint32_t size, uint32_t late_size)
{
	static struct key_burst burst;
	struct zipf_stream *stream = &epoch->stream;

	for (uint32_t f = 0; f < stream->nb_flows; f++) {
		uint32_t wire_len = f < stream->nb_flows - 8 ? size : late_size;
		struct key key = zipf_key(f);

		stream->packets[f]++;
		stream->bytes[f] += wire_len;
		burst_append(&burst, &key, &stream->hash[f], wire_len);
		if (burst.n == BURST_MAX)
			count_burst(epoch, f / BURST_MAX % PARTS, &burst);
	}
	count_burst(epoch, 0, &burst);
}

/*
 * The frames of a listed key differ in size from those before it; still, its upper bounds do not
 * exceed the totals of the epoch minus what the other flows need.
 */
static void check_two_sizes(
	const struct sketch_ops *ops, struct sketch_params params, uint32_t size, uint32_t late)
{
	struct epoch epoch;
	uint32_t inexact = 0;

	open_epoch_of(ops, &epoch, params, 40000);
	feed_two_sizes(&epoch, size, late);
	collect(&epoch);
	for (uint32_t i = 0; i < merger_nb_flows(epoch.merger); i++) {
		struct merge_flow flow = merger_flow(epoch.merger, i);
		uint32_t f = zipf_flow(&flow.key);

		assert_holds(&flow.packets, epoch.stream.packets[f]);
		assert_holds(&flow.bytes, epoch.stream.bytes[f]);
		assert_true(flow.packets.high <= epoch.ledger.measured);
		assert_true(flow.bytes.high <= epoch.ledger.bytes);
		/* The packets of all other flows fit their bytes. */
		if (params.metric == SKETCH_PACKETS)
			assert_true((epoch.ledger.measured - flow.packets.high) *
					    epoch.ledger.smallest_frame <=
				    epoch.ledger.bytes - flow.bytes.high);
		else
			assert_true((epoch.ledger.measured - flow.packets.high) *
					    epoch.ledger.largest_frame >=
				    epoch.ledger.bytes - flow.bytes.high);
		inexact += flow.packets.high > 1;
	}
	assert_true(inexact > 0);
	close_epoch(&epoch);
}

static void test_no_figure_exceeds_the_epoch(void **state)
{
	const struct sketch_params params[] = {
		{.width = 16, .depth = 1, .metric = SKETCH_PACKETS, .candidates = 16},
		{.width = 16, .depth = 1, .metric = SKETCH_BYTES, .candidates = 16},
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		check_two_sizes(&count_min_ops, params[i], FRAME_MAX, FRAME_MIN);
		check_two_sizes(&count_min_ops, params[i], FRAME_MIN, FRAME_MAX);
		check_two_sizes(&simple_hash_ops, params[i], FRAME_MAX, FRAME_MIN);
		check_two_sizes(&simple_hash_ops, params[i], FRAME_MIN, FRAME_MAX);
	}
}

static void check_top(enum sketch_metric metric, enum split split)
{
	struct epoch epoch;
	struct report_measurement top;
	uint32_t *flows;

	open_epoch(&epoch, (struct sketch_params){.metric = metric}, 30000);
	feed(&epoch, 200000, split);
	collect(&epoch);
	top = rank(&epoch, 100, 0);
	flows = flows_by_truth(&epoch);
	assert_int_equal(top.nb_rows, 100);
	assert_false(top.distinct_exact);
	for (uint32_t i = 0; i < top.nb_rows; i++) {
		const struct report_row *row = &top.rows[i];

		assert_int_equal(row->rank, i + 1);
		assert_int_equal(zipf_flow(&row->key), flows[i]);
		assert_holds(&row->packets, epoch.stream.packets[flows[i]]);
		assert_holds(&row->bytes, epoch.stream.bytes[flows[i]]);
		if (metric == SKETCH_PACKETS)
			assert_true(row->share ==
				    (double)row->packets.value / (double)epoch.ledger.measured);
		else
			assert_true(row->share ==
				    (double)row->bytes.value / (double)epoch.ledger.bytes);
	}
	free(flows);
	free(top.rows);
	close_epoch(&epoch);
}

static void test_top_is_the_truth(void **state)
{
	(void)state;
	for (enum split split = 0; split < SPLITS; split++) {
		check_top(SKETCH_PACKETS, split);
		check_top(SKETCH_BYTES, split);
	}
}

/* Lazy ranking gives the same rows as complete ranking, for any order of the parts. */
static void check_lazy(enum sketch_metric metric)
{
	struct report_measurement all, some;
	struct epoch epoch;
	struct sketch *swap;

	open_epoch(&epoch,
		(struct sketch_params){.width = 1024, .metric = metric, .candidates = 256}, 20000);
	feed(&epoch, 60000, BY_PACKET);
	collect(&epoch);
	all = rank(&epoch, 0, 0);
	assert_int_equal(all.nb_rows, merger_nb_flows(epoch.merger));
	for (uint32_t i = 1; i < all.nb_rows; i++) {
		const struct report_row *x = &all.rows[i - 1], *y = &all.rows[i];

		assert_true(metric == SKETCH_PACKETS ? x->packets.value >= y->packets.value
						     : x->bytes.value >= y->bytes.value);
	}

	swap = epoch.part[0];
	epoch.part[0] = epoch.part[3];
	epoch.part[3] = swap;
	collect(&epoch);
	for (uint32_t top = 1; top < all.nb_rows; top += top / 3 + 1) {
		some = rank(&epoch, top, 0);
		assert_int_equal(some.nb_rows, top);
		assert_same_rows(&some, &all, top);
		free(some.rows);
	}
	free(all.rows);
	close_epoch(&epoch);
}

static void test_lazy_is_exact(void **state)
{
	(void)state;
	check_lazy(SKETCH_PACKETS);
	check_lazy(SKETCH_BYTES);
}

static void check_threshold(enum sketch_metric metric)
{
	struct epoch epoch;
	const uint32_t thresholds[] = {500, 20, 5, 1}; /* per mille */

	open_epoch(&epoch, (struct sketch_params){.metric = metric}, 3000);
	feed(&epoch, 50000, BY_FLOW);
	collect(&epoch);
	for (uint32_t t = 0; t < 4; t++) {
		uint64_t whole =
			metric == SKETCH_PACKETS ? epoch.ledger.measured : epoch.ledger.bytes;
		struct report_measurement over = rank(&epoch, 0, thresholds[t] / 1000.0);
		struct report_measurement both = rank(&epoch, 10, thresholds[t] / 1000.0);
		uint32_t expected = 0;

		for (uint32_t f = 0; f < epoch.stream.nb_flows; f++) {
			uint64_t truth = metric == SKETCH_PACKETS ? epoch.stream.packets[f]
								  : epoch.stream.bytes[f];

			expected += truth * 1000 >= thresholds[t] * whole;
		}
		assert_int_equal(over.nb_rows, expected);
		assert_int_equal(both.nb_rows, expected < 10 ? expected : 10);
		assert_same_rows(&both, &over, both.nb_rows);
		free(over.rows);
		free(both.rows);
	}
	close_epoch(&epoch);
}

static void test_threshold(void **state)
{
	(void)state;
	check_threshold(SKETCH_PACKETS);
	check_threshold(SKETCH_BYTES);
}

/* While every key is listed, all figures are exact. */
static void test_small_epoch_is_exact(void **state)
{
	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		struct report_measurement all;
		uint32_t keys = 0;
		struct epoch epoch;

		open_epoch(&epoch, (struct sketch_params){.width = 16, .metric = metric}, 200);
		feed(&epoch, 20000, BY_PACKET);
		collect(&epoch);
		all = rank(&epoch, 0, 0);
		for (uint32_t f = 0; f < epoch.stream.nb_flows; f++)
			keys += epoch.stream.packets[f] > 0;
		assert_int_equal(all.nb_rows, keys);
		assert_true(all.distinct_exact);
		assert_int_equal(all.distinct_keys, keys);
		for (uint32_t i = 0; i < all.nb_rows; i++) {
			uint32_t f = zipf_flow(&all.rows[i].key);

			assert_int_equal(all.rows[i].packets.low, epoch.stream.packets[f]);
			assert_int_equal(all.rows[i].packets.high, epoch.stream.packets[f]);
			assert_int_equal(all.rows[i].bytes.low, epoch.stream.bytes[f]);
			assert_int_equal(all.rows[i].bytes.high, epoch.stream.bytes[f]);
		}
		free(all.rows);
		close_epoch(&epoch);
	}
}

/*
 * Every part lists all of its thousand keys, but a single part might not: an exact number would
 * reveal the number of parts.
 */
static void test_distinct_keys_do_not_tell_the_parts(void **state)
{
	struct report_measurement all;
	struct epoch epoch;

	(void)state;
	open_epoch(&epoch, (struct sketch_params){0}, 1000);
	feed(&epoch, 20000, BY_PACKET);
	collect(&epoch);
	all = rank(&epoch, 0, 0);
	for (uint32_t p = 0; p < PARTS; p++)
		assert_true(count_min_ops.lists_all_keys(epoch.part[p]));
	assert_false(all.distinct_exact);
	for (uint32_t p = 1; p < PARTS; p++)
		hyperloglog_merge(epoch.distinct[0], epoch.distinct[p]);
	assert_int_equal(all.distinct_keys, hyperloglog_estimate(epoch.distinct[0]));
	free(all.rows);
	close_epoch(&epoch);
}

/* Starts the next epoch of the parts. */
static void start_over(struct epoch *epoch)
{
	for (uint32_t p = 0; p < PARTS; p++) {
		epoch->ops->reset(epoch->part[p]);
		hyperloglog_reset(epoch->distinct[p]);
	}
	epoch->ledger = (struct ledger){.smallest_frame = UINT32_MAX};
	zipf_restart(&epoch->stream, SEED);
}

static uint32_t true_flows(const struct epoch *epoch)
{
	uint32_t flows = 0;

	for (uint32_t f = 0; f < epoch->stream.nb_flows; f++)
		flows += epoch->stream.packets[f] > 0;
	return flows;
}

/* Also in an epoch of few packets after one of many. */
static void test_distinct_keys_are_estimated(void **state)
{
	static const uint32_t packets[] = {200000, 30000};
	struct epoch epoch;

	(void)state;
	open_epoch(&epoch, (struct sketch_params){0}, 100000);
	for (uint32_t e = 0; e < 2; e++) {
		struct report_measurement measurement;
		double keys;

		start_over(&epoch);
		feed(&epoch, packets[e], BY_PACKET);
		collect(&epoch);
		measurement = rank(&epoch, 1, 0);
		keys = true_flows(&epoch);
		assert_false(measurement.distinct_exact);
		assert_true((double)measurement.distinct_keys > keys * (1 - 4 * HYPERLOGLOG_ERROR));
		assert_true((double)measurement.distinct_keys < keys * (1 + 4 * HYPERLOGLOG_ERROR));
		free(measurement.rows);
	}
	close_epoch(&epoch);
}

static void test_loss_widens(void **state)
{
	struct report_measurement without, with, unknown;
	struct epoch epoch;

	(void)state;
	open_epoch(&epoch, (struct sketch_params){.width = 1024, .candidates = 128}, 20000);
	feed(&epoch, 60000, BY_PACKET);
	collect(&epoch);
	without = rank(&epoch, 50, 0);

	epoch.ledger.nic_missed = 7;
	epoch.ledger.ring_full = 4;
	epoch.ledger.largest_frame = 9000; /* a packet that was not measured */
	collect(&epoch);
	with = rank(&epoch, 50, 0);
	epoch.input.loss_known = false;
	collect(&epoch);
	unknown = rank(&epoch, 50, 0);

	assert_true(with.confidence_known);
	assert_false(unknown.confidence_known);
	assert_int_equal(with.nb_rows, 50);
	assert_int_equal(unknown.nb_rows, 50);
	for (uint32_t i = 0; i < 50; i++) {
		const struct report_row *x = &without.rows[i], *y = &with.rows[i];

		assert_true(key_equal(&x->key, &y->key));
		assert_int_equal(x->packets.value, y->packets.value);
		assert_int_equal(x->packets.low, y->packets.low);
		assert_int_equal(x->packets.high + 11, y->packets.high);
		assert_int_equal(x->bytes.low, y->bytes.low);
		assert_true(x->bytes.high + 11 * 9000 <= y->bytes.high);
		if (x->packets.low == x->packets.high)
			assert_int_equal(x->bytes.high + 11 * 9000, y->bytes.high);
		assert_true(y->packets.high_known && y->bytes.high_known);
		assert_true(unknown.rows[i].packets.known && unknown.rows[i].bytes.known);
		assert_false(unknown.rows[i].packets.high_known);
		assert_false(unknown.rows[i].bytes.high_known);
	}
	free(without.rows);
	free(with.rows);
	free(unknown.rows);
	close_epoch(&epoch);
}

/*
 * Missing bytes of truncated packets may belong to any flow: they are only in the upper bounds of
 * bytes.
 */
static void missing_bytes(void **state)
{
	static const uint64_t missing[3] = {0, 123456, UINT64_MAX};
	struct epoch epoch;
	struct report_measurement of[3];

	(void)state;
	open_epoch(&epoch, (struct sketch_params){.width = 1024, .candidates = 128}, 20000);
	feed(&epoch, 60000, BY_PACKET);
	for (int i = 0; i < 3; i++) {
		epoch.ledger.missing_bytes = missing[i];
		collect(&epoch);
		of[i] = rank(&epoch, 50, 0);
		assert_int_equal(of[i].nb_rows, 50);
	}
	assert_int_equal(of[1].unlisted_bytes.high, of[0].unlisted_bytes.high + missing[1]);
	assert_false(of[2].unlisted_bytes.high_known);
	assert_true(of[2].unlisted_packets.high_known);
	for (uint32_t r = 0; r < 50; r++) {
		const struct report_row *whole = &of[0].rows[r];

		for (int i = 1; i < 3; i++) {
			const struct report_row *row = &of[i].rows[r];

			assert_memory_equal(&row->packets, &whole->packets, sizeof(row->packets));
			assert_int_equal(row->bytes.value, whole->bytes.value);
			assert_int_equal(row->bytes.low, whole->bytes.low);
		}
		assert_int_equal(of[1].rows[r].bytes.high, whole->bytes.high + missing[1]);
		assert_true(of[1].rows[r].bytes.high_known);
		assert_false(of[2].rows[r].bytes.high_known);
	}
	for (int i = 0; i < 3; i++)
		free(of[i].rows);
	close_epoch(&epoch);
}

/* Sets every counter of a part to the maximum. */
static void saturate(struct epoch *epoch, uint32_t part)
{
	struct count_min *cm = (struct count_min *)epoch->part[part];
	size_t cells = epoch->params.depth * epoch->params.width;

	for (size_t i = 0; i < cells; i++)
		counter_rows_set(&cm->counters, i, counter_rows_max(&cm->counters));
}

/* Figures of saturated counters have no upper bound; exactly counted keys keep theirs. */
static void check_saturation(enum sketch_metric metric)
{
	uint64_t max = metric == SKETCH_PACKETS ? UINT32_MAX : UINT64_MAX;
	struct epoch epoch;
	uint32_t unknown = 0, known = 0;

	open_epoch(&epoch, (struct sketch_params){.width = 256, .metric = metric, .candidates = 64},
		5000);
	feed(&epoch, 20000, BY_FLOW);
	saturate(&epoch, 2);
	collect(&epoch);
	for (uint32_t i = 0; i < merger_nb_flows(epoch.merger); i++) {
		struct merge_flow flow = merger_flow(epoch.merger, i);
		uint32_t f = zipf_flow(&flow.key);
		const struct report_figure *figure =
			metric == SKETCH_PACKETS ? &flow.packets : &flow.bytes;

		assert_int_equal(merger_ceiling(epoch.merger, i), UINT64_MAX);
		assert_true(figure->known);
		assert_int_equal(flow.packets.high_known, flow.bytes.high_known);
		assert_true(flow.packets.low <= epoch.stream.packets[f]);
		assert_true(flow.bytes.low <= epoch.stream.bytes[f]);
		assert_true(flow.packets.value >= flow.packets.low);
		assert_true(flow.bytes.value >= flow.bytes.low);
		if (figure->high_known) {
			/*
			 * The listing of its own part is complete, but the other parts' counters
			 * are unknown.
			 */
			assert_int_equal(f % PARTS, 2);
			assert_holds(&flow.packets, epoch.stream.packets[f]);
			assert_holds(&flow.bytes, epoch.stream.bytes[f]);
			known++;
		} else {
			assert_int_equal(figure->value, max);
			unknown++;
		}
	}
	assert_true(unknown > 0);
	assert_true(known > 0);
	close_epoch(&epoch);
}

static void test_saturation(void **state)
{
	(void)state;
	check_saturation(SKETCH_PACKETS);
	check_saturation(SKETCH_BYTES);
}

/* Adds `amount` of the key to a part's counters, like fetch-and-add, without listing it. */
static void count_much(
	struct epoch *epoch, uint32_t part, const struct key_hash *hash, uint64_t amount)
{
	struct count_min *cm = (struct count_min *)epoch->part[part];

	counter_rows_add_key(&cm->counters, hash, amount, COUNTER_ADD);
	cm->lists[0].turned_away = true;
}

/* Adds the amounts of a key to two parts, then each lists it with one packet. */
static void check_guard(enum sketch_metric metric, const uint64_t amounts[2])
{
	static struct key_burst burst;
	struct epoch epoch;
	unsigned __int128 truth = (unsigned __int128)amounts[0] + amounts[1];

	open_epoch(&epoch,
		(struct sketch_params){.width = 1024,
			.metric = metric,
			.atomic = ATOMIC_ADD,
			.writers = 2,
			.candidates = 16},
		1);
	for (uint32_t p = 0; p < 2; p++) {
		struct key key = zipf_key(0);

		count_much(&epoch, p, &epoch.stream.hash[0], amounts[p]);
		burst_append(&burst, &key, &epoch.stream.hash[0], 100);
		truth += metric == SKETCH_PACKETS ? 1 : 100;
		burst.writer = 1;
		epoch.ops->update[SHARING_SHARED](epoch.part[p], &burst);
		hyperloglog_update(epoch.distinct[p], &burst);
		burst.n = 0;
	}
	epoch.ledger.measured = epoch.ledger.bytes =
		UINT64_MAX; /* the rest belongs to other keys */
	epoch.ledger.smallest_frame = epoch.ledger.largest_frame = 100;
	for (uint32_t parts = 1; parts <= 2; parts++) {
		unsigned __int128 fed = parts == 2 ? truth
						   : (unsigned __int128)amounts[0] +
							     (metric == SKETCH_PACKETS ? 1 : 100);
		struct merge_flow flow;
		struct report_figure *figure;

		epoch.input.nb_parts = epoch.input.nb_distinct = parts;
		collect(&epoch);
		assert_int_equal(merger_nb_flows(epoch.merger), 1);
		flow = merger_flow(epoch.merger, 0);
		figure = metric == SKETCH_PACKETS ? &flow.packets : &flow.bytes;
		assert_true(figure->known && figure->low <= fed);
		assert_true(!figure->high_known || figure->high >= fed);
		assert_true(figure->low <= figure->value);
		/* Without saturation the figure is exact. */
		if (fed < (metric == SKETCH_PACKETS ? COUNTER32_GUARD : COUNTER64_GUARD))
			assert_true(figure->high_known && figure->value == fed);
	}
	close_epoch(&epoch);
}

/* Around the guard of fetch-and-add and the maximum, in one or two parts. */
static void test_bounds_around_the_guard(void **state)
{
	(void)state;
	for (enum sketch_metric metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++) {
		bool packets = metric == SKETCH_PACKETS;
		uint64_t guard = packets ? COUNTER32_GUARD : COUNTER64_GUARD;
		uint64_t max = packets ? UINT32_MAX : UINT64_MAX;
		const uint64_t amounts[] = {1, 1000, max / 2, guard - 102, guard - 101, guard - 2,
			guard - 1, guard, guard + 16, max - 1, max, packets ? 2 * max : max};
		const size_t n = sizeof(amounts) / sizeof(amounts[0]);

		for (size_t i = 0; i < n * n; i++)
			check_guard(metric, (const uint64_t[2]){amounts[i / n], amounts[i % n]});
	}
}

/*
 * Sketches that count bytes miss a packet of 0 bytes, so the packets of its key have no upper
 * bound.
 */
static void test_packets_without_bytes(void **state)
{
	static struct key_burst burst;
	struct report_measurement all;
	struct hash_key hash_key;
	struct epoch epoch;

	(void)state;
	open_epoch(&epoch, (struct sketch_params){.metric = SKETCH_BYTES}, 10);
	hash_key_init(&hash_key, 1);
	burst.n = 2;
	memset(burst.key4, 0, sizeof(burst.key4));
	burst.wire_len[0] = 0;
	burst.wire_len[1] = 60;
	hash_burst(&hash_key, &burst);
	count_min_ops.update[SHARING_SEPARATE](epoch.part[0], &burst);
	hyperloglog_update(epoch.distinct[0], &burst);
	epoch.ledger.smallest_frame = 0;
	epoch.ledger.largest_frame = 60;
	epoch.ledger.measured = 2;
	epoch.ledger.bytes = 60;
	collect(&epoch);
	all = rank(&epoch, 10, 0);
	assert_int_equal(all.nb_rows, 1);
	assert_int_equal(all.rows[0].bytes.low, 60);
	assert_int_equal(all.rows[0].bytes.high, 60);
	assert_true(all.rows[0].packets.low <= 2);
	assert_false(all.rows[0].packets.high_known);
	assert_false(all.distinct_exact);
	free(all.rows);
	close_epoch(&epoch);
}

static void test_nothing(void **state)
{
	struct report_measurement measurement;
	struct epoch epoch;

	(void)state;
	open_epoch(&epoch, (struct sketch_params){.width = 64}, 10);
	collect(&epoch);
	measurement = rank(&epoch, 10, 0);
	assert_int_equal(measurement.nb_rows, 0);
	assert_null(measurement.rows);
	assert_int_equal(measurement.distinct_keys, 0);
	assert_true(measurement.distinct_exact);
	close_epoch(&epoch);
}

/* The merger keeps nothing of an epoch. */
static void test_merger_forgets(void **state)
{
	struct report_measurement first, again;
	struct epoch epoch;

	(void)state;
	open_epoch(&epoch, (struct sketch_params){.width = 1024, .candidates = 128}, 20000);
	feed(&epoch, 30000, BY_PACKET);
	collect(&epoch);
	first = rank(&epoch, 20, 0);

	epoch.input.nb_parts = epoch.input.nb_distinct = 1;
	collect(&epoch);
	epoch.input.nb_parts = epoch.input.nb_distinct = PARTS;
	collect(&epoch);
	again = rank(&epoch, 20, 0);
	assert_int_equal(first.nb_rows, again.nb_rows);
	assert_int_equal(first.distinct_keys, again.distinct_keys);
	assert_same_rows(&first, &again, first.nb_rows);
	free(first.rows);
	free(again.rows);
	close_epoch(&epoch);
}

static void test_refuses_other_parts(void **state)
{
	struct sketch_params params;
	struct epoch epoch;
	struct sketch *other, *mine;

	(void)state;
	open_epoch(&epoch, (struct sketch_params){.width = 64}, 10);
	params = epoch.params;
	params.seed++;
	other = count_min_ops.create(&params);
	mine = epoch.part[1];
	epoch.part[1] = other;
	assert_int_equal(merger_collect(epoch.merger, &epoch.input), -EINVAL);
	epoch.part[1] = mine;
	epoch.input.nb_parts = MERGE_PARTS_MAX + 1;
	assert_int_equal(merger_collect(epoch.merger, &epoch.input), -EINVAL);
	count_min_ops.destroy(other);
	close_epoch(&epoch);
}

/* --- keys without a row */

/* Finds the largest counts of a key without a row. */
static void find_missing(const struct epoch *epoch, const struct report_measurement *measurement,
	uint64_t *packets, uint64_t *bytes)
{
	bool *shown = calloc(epoch->stream.nb_flows, sizeof(*shown));

	for (uint32_t i = 0; i < measurement->nb_rows; i++)
		shown[zipf_flow(&measurement->rows[i].key)] = true;
	*packets = *bytes = 0;
	for (uint32_t f = 0; f < epoch->stream.nb_flows; f++) {
		if (!shown[f] && epoch->stream.packets[f] > *packets)
			*packets = epoch->stream.packets[f];
		if (!shown[f] && epoch->stream.bytes[f] > *bytes)
			*bytes = epoch->stream.bytes[f];
	}
	free(shown);
}

/* Checks the bounds of keys without a row. exact: the bounds equal the largest counts. */
static void check_missing(const struct epoch *epoch, uint32_t top, double threshold, bool exact)
{
	struct report_measurement measurement = rank(epoch, top, threshold);
	uint64_t packets, bytes;

	find_missing(epoch, &measurement, &packets, &bytes);
	assert_true(measurement.unlisted_packets.high_known);
	assert_true(measurement.unlisted_bytes.high_known);
	assert_true(packets <= measurement.unlisted_packets.high);
	assert_true(bytes <= measurement.unlisted_bytes.high);
	assert_true(measurement.unlisted_packets.high <= epoch->ledger.measured);
	assert_true(measurement.unlisted_bytes.high <= epoch->ledger.bytes);
	if (exact) {
		assert_int_equal(measurement.unlisted_packets.high, packets);
		assert_int_equal(measurement.unlisted_bytes.high, bytes);
	}
	free(measurement.rows);
}

static const struct missing_case {
	const struct sketch_ops *ops;
	struct sketch_params params;
	bool exact;
	uint32_t seeds;
} missing_cases[] = {
	{&count_min_ops, {.width = 64, .candidates = 32}, false, 8},
	{&count_min_ops, {.width = 4096, .candidates = 128}, false, 8},
	{&simple_hash_ops, {.width = 512}, false, 8}, {&reversible_ops, {.width = 1024}, false, 1},
	{&flow_table_ops, {.width = 8192}, true, 2},
	{&flow_table_ops, {.width = 32}, false, 4}, /* sheds */
	{&iblt_ops, {.width = 8192}, true, 2},
	{&iblt_ops, {.width = 128}, false, 2}, /* cannot be decoded */
};

static void check_missing_case(
	const struct missing_case *of, enum sketch_metric metric, uint64_t seed)
{
	struct sketch_params params = of->params;
	struct epoch epoch;

	params.metric = metric;
	params.seed = seed;
	open_epoch_of(of->ops, &epoch, params, 10000);
	feed(&epoch, 20000, seed % 2 == 0 ? BY_FLOW : BY_PACKET);
	for (uint32_t top = 0; top <= 100; top += 50) {
		epoch.input.wanted = top;
		epoch.input.smallest = 1;
		collect(&epoch);
		assert_int_equal(merger_shed(epoch.merger).packets == 0 &&
					 merger_undecoded(epoch.merger).flows == 0,
			of->exact || (of->ops->caps & SKETCH_EXACT) == 0);
		check_missing(&epoch, top, 0, of->exact);
		epoch.input.smallest = rank_smallest(metric, &epoch.ledger, 0.002);
		collect(&epoch);
		check_missing(&epoch, top, 0.002, of->exact);
	}
	close_epoch(&epoch);
}

static void test_no_missing_key_has_more(void **state)
{
	(void)state;
	for (size_t c = 0; c < sizeof(missing_cases) / sizeof(missing_cases[0]); c++)
		for (uint64_t seed = 1; seed <= missing_cases[c].seeds; seed++) {
			check_missing_case(&missing_cases[c], SKETCH_PACKETS, seed);
			check_missing_case(&missing_cases[c], SKETCH_BYTES, seed);
		}
}

/* In a wide sketch, the bound is not above the last row. */
static void test_missing_keys_have_less_than_rows(void **state)
{
	const struct sketch_ops *const wide[] = {&count_min_ops, &simple_hash_ops, &reversible_ops};

	(void)state;
	for (uint32_t o = 0; o < 3; o++) {
		struct report_measurement top;
		struct epoch epoch;

		open_epoch_of(wide[o], &epoch, (struct sketch_params){0}, 30000);
		feed(&epoch, 200000, BY_PACKET);
		epoch.input.wanted = 100;
		collect(&epoch);
		top = rank(&epoch, 100, 0);
		assert_true(top.unlisted_packets.high <= top.rows[99].packets.value);
		assert_true(top.unlisted_packets.high > top.rows[99].packets.value / 2);
		free(top.rows);
		close_epoch(&epoch);
	}
}

/* All lost packets may belong to one unseen key. */
static void test_loss_widens_missing_keys(void **state)
{
	struct report_measurement without, with, unknown;
	struct epoch epoch;

	(void)state;
	open_epoch_of(&flow_table_ops, &epoch, (struct sketch_params){0}, 200);
	feed(&epoch, 20000, BY_PACKET);
	collect(&epoch);
	without = rank(&epoch, 0, 0);
	epoch.ledger.nic_missed = 7;
	epoch.ledger.largest_frame = 9000;
	epoch.ledger.unseen = 5;
	epoch.ledger.unseen_bytes = 100;
	epoch.input.left_out[2] = (struct key_sample_counts){.counted = 11, .counted_bytes = 1000};
	epoch.input.left_out[4] = (struct key_sample_counts){.counted = 10, .counted_bytes = 2000};
	collect(&epoch);
	with = rank(&epoch, 0, 0);
	epoch.input.loss_known = false;
	collect(&epoch);
	unknown = rank(&epoch, 0, 0);
	assert_int_equal(without.unlisted_packets.high, 0);
	assert_int_equal(without.unlisted_bytes.high, 0);
	assert_int_equal(with.unlisted_packets.high, 7 + 5 + 11);
	assert_int_equal(with.unlisted_bytes.high, 7 * 9000 + 100 + 2000);
	assert_false(unknown.unlisted_packets.high_known);
	assert_false(unknown.unlisted_bytes.high_known);
	free(without.rows);
	free(with.rows);
	free(unknown.rows);
	close_epoch(&epoch);
}

/* --- a sketch whose keys are recovered once, from the merged counters --- */

static void check_recovered_top(enum sketch_metric metric, enum split split)
{
	struct report_measurement top;
	const uint64_t *truth;
	struct epoch epoch;
	uint32_t *flows;

	open_epoch_of(&reversible_ops, &epoch, (struct sketch_params){.metric = metric}, 30000);
	feed(&epoch, 200000, split);
	epoch.input.wanted = 100;
	collect(&epoch);
	assert_true(merger_unrecovered(epoch.merger) > 0);
	top = rank(&epoch, 100, 0);
	flows = flows_by_truth(&epoch);
	truth = metric == SKETCH_PACKETS ? epoch.stream.packets : epoch.stream.bytes;
	assert_int_equal(top.nb_rows, 100);
	assert_false(top.incomplete);
	assert_false(top.distinct_exact);
	for (uint32_t i = 0; i < top.nb_rows; i++) {
		const struct report_row *row = &top.rows[i];
		bool packets = metric == SKETCH_PACKETS;
		const struct report_figure *measured = packets ? &row->packets : &row->bytes;
		const struct report_figure *other = packets ? &row->bytes : &row->packets;

		/* Ties are ordered by the unknown metric, so only true counts are compared. */
		assert_int_equal(truth[zipf_flow(&row->key)], truth[flows[i]]);
		assert_holds(measured, truth[flows[i]]);
		assert_false(other->known);
		assert_false(other->high_known);
	}
	/* One row more than found: such a flow may exist. */
	free(top.rows);
	top = rank(&epoch, merger_nb_flows(epoch.merger) + 1, 0);
	assert_true(top.incomplete);
	free(flows);
	free(top.rows);
	close_epoch(&epoch);
}

static void test_recovered_top_is_the_truth(void **state)
{
	(void)state;
	for (enum split split = 0; split < SPLITS; split++) {
		check_recovered_top(SKETCH_PACKETS, split);
		check_recovered_top(SKETCH_BYTES, split);
	}
}

static void test_recovery_stops_at_the_threshold(void **state)
{
	struct report_measurement over;
	struct epoch epoch;
	uint64_t smallest;
	uint32_t expected = 0;

	(void)state;
	open_epoch_of(&reversible_ops, &epoch, (struct sketch_params){0}, 30000);
	feed(&epoch, 200000, BY_PACKET);
	smallest = rank_smallest(SKETCH_PACKETS, &epoch.ledger, 0.001);
	assert_int_equal(smallest, 200);
	assert_int_equal(rank_smallest(SKETCH_BYTES, &epoch.ledger, 0), 1);
	epoch.input.smallest = smallest;
	collect(&epoch);
	assert_int_equal(merger_unrecovered(epoch.merger), smallest - 1);
	over = rank(&epoch, 0, 0.001);
	for (uint32_t f = 0; f < epoch.stream.nb_flows; f++)
		expected += epoch.stream.packets[f] >= smallest;
	assert_int_equal(over.nb_rows, expected);
	assert_false(over.incomplete);
	free(over.rows);
	/* A lower threshold than the one searched for is reported as incomplete. */
	over = rank(&epoch, 0, 0.0005);
	assert_true(over.incomplete);
	free(over.rows);
	close_epoch(&epoch);
}

/* More keys than a small sketch can recover. */
static void test_recovery_says_that_it_gave_up(void **state)
{
	struct report_measurement top;
	struct epoch epoch;

	(void)state;
	open_epoch_of(&reversible_ops, &epoch, (struct sketch_params){.width = 1024}, 400000);
	for (uint32_t f = 0; f < epoch.stream.nb_flows; f += BURST_MAX) {
		static struct key_burst burst;

		for (uint32_t i = 0; i < BURST_MAX; i++)
			zipf_append(&epoch.stream, &burst, f + i);
		count_burst(&epoch, f / BURST_MAX % PARTS, &burst);
	}
	epoch.input.wanted = 100;
	collect(&epoch);
	top = rank(&epoch, 100, 0);
	assert_true(top.incomplete);
	free(top.rows);
	close_epoch(&epoch);
}

/* --- keys whose records ended before the epoch ended --- */

static bool no_more_memory;

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return no_more_memory ? NULL : __real_aligned_alloc(alignment, size);
}

struct merge_step {
	struct merger *merger;
	uint32_t max;
};

static void take_expired(const struct sketch_candidate *candidate, void *arg)
{
	const struct merge_step *taking = arg;

	merger_add_expired(taking->merger, candidate, taking->max);
}

/* Feeds one packet per ns; exported records are added for at most `max` keys. */
static void feed_and_take(struct epoch *epoch, uint32_t nb_packets, uint32_t max)
{
	static struct key_burst burst[PARTS];
	struct merge_step taking = {epoch->merger, max};

	for (uint32_t i = 0; i < nb_packets; i++) {
		uint32_t flow = zipf_draw(&epoch->stream), part = flow % PARTS;

		zipf_append(&epoch->stream, &burst[part], flow);
		burst[part].time[burst[part].n - 1] = i;
		if (burst[part].n < BURST_MAX)
			continue;
		count_burst(epoch, part, &burst[part]);
		flow_table_ops.expired(epoch->part[part], take_expired, &taking);
	}
	for (uint32_t part = 0; part < PARTS; part++) {
		count_burst(epoch, part, &burst[part]);
		flow_table_ops.expired(epoch->part[part], take_expired, &taking);
	}
	collect(epoch);
}

/* Returns the number of flows with low != high. */
static uint32_t assert_all_hold(const struct epoch *epoch)
{
	uint32_t inexact = 0;

	for (uint32_t i = 0; i < merger_nb_flows(epoch->merger); i++) {
		struct merge_flow flow = merger_flow(epoch->merger, i);
		uint32_t f = zipf_flow(&flow.key);

		assert_holds(&flow.packets, epoch->stream.packets[f]);
		assert_holds(&flow.bytes, epoch->stream.bytes[f]);
		assert_int_equal(flow.packets.low, flow.packets.value);
		assert_true(flow.record.known && flow.record.first <= flow.record.last);
		inexact += flow.packets.low != flow.packets.high;
	}
	return inexact;
}

/* All keys are exact; also in the next epoch, which keeps nothing of the first. */
static void test_expired_records_add_up(void **state)
{
	struct epoch epoch;
	bool exact;

	(void)state;
	open_epoch_of(&flow_table_ops, &epoch,
		(struct sketch_params){.width = 2048, .idle_timeout = 1000}, 4000);
	for (int round = 0; round < 2; round++) {
		feed_and_take(&epoch, 30000, UINT32_MAX);
		assert_int_equal(merger_nb_flows(epoch.merger), true_flows(&epoch));
		assert_int_equal(assert_all_hold(&epoch), 0);
		assert_int_equal(merger_distinct_keys(epoch.merger, &exact), true_flows(&epoch));
		assert_true(exact);
		assert_int_equal(merger_unrecovered(epoch.merger), 0);
		assert_int_equal(merger_forgotten(epoch.merger).packets, 0);
		start_over(&epoch);
	}
	close_epoch(&epoch);
}

/* The first keys are exact; the others have a bound and are reported as incomplete. */
static void test_forgotten_keys(void **state)
{
	enum { MAX = 100 };

	(void)state;
	for (enum sketch_metric metric = 0; metric <= SKETCH_BYTES; metric++) {
		struct report_measurement all;
		struct epoch epoch;
		uint64_t missing = 0;
		bool exact;

		open_epoch_of(&flow_table_ops, &epoch,
			(struct sketch_params){
				.width = 2048, .idle_timeout = 1000, .metric = metric},
			4000);
		feed_and_take(&epoch, 30000, MAX);
		assert_int_equal(assert_all_hold(&epoch), merger_nb_flows(epoch.merger) - MAX);
		all = rank(&epoch, 0, 0);
		assert_true(all.incomplete);
		for (uint32_t f = 0; f < epoch.stream.nb_flows; f++)
			missing += epoch.stream.packets[f];
		for (uint32_t r = 0; r < all.nb_rows; r++)
			missing -= all.rows[r].packets.value;
		assert_true(missing > 0);
		assert_int_equal(all.forgotten_packets, missing);
		assert_int_equal(merger_unrecovered(epoch.merger),
			metric == SKETCH_PACKETS ? missing : merger_forgotten(epoch.merger).bytes);
		merger_distinct_keys(epoch.merger, &exact);
		assert_false(exact);
		free(all.rows);
		close_epoch(&epoch);
	}
}

/* A key may be shed before and after it was listed: its bound includes all shed packets. */
static void test_expired_and_shed(void **state)
{
	struct epoch epoch;

	(void)state;
	open_epoch_of(&flow_table_ops, &epoch,
		(struct sketch_params){.width = 32, .idle_timeout = 300}, 4000);
	feed_and_take(&epoch, 30000, UINT32_MAX);
	assert_true(merger_shed(epoch.merger).packets > 1000);
	assert_true(merger_nb_flows(epoch.merger) > PARTS * 64);
	assert_int_equal(assert_all_hold(&epoch), merger_nb_flows(epoch.merger));
	close_epoch(&epoch);
}

/* A stored key stays stored: all packets shed by its part are of other keys. */
static void test_shed_beside_listed(void **state)
{
	static struct key_burst burst;
	struct epoch epoch;

	(void)state;
	open_epoch_of(&flow_table_ops, &epoch, (struct sketch_params){.width = 32}, 4000);
	burst.n = 0;
	for (uint32_t i = 0; i < 30000; i++) {
		zipf_append(&epoch.stream, &burst, zipf_draw(&epoch.stream));
		if (burst.n == BURST_MAX)
			count_burst(&epoch, 0, &burst);
	}
	count_burst(&epoch, 0, &burst);
	collect(&epoch);
	assert_true(merger_shed(epoch.merger).packets > 1000);
	assert_in_range(merger_nb_flows(epoch.merger), 32, 100);
	assert_int_equal(assert_all_hold(&epoch), 0);
	close_epoch(&epoch);
}

static void add_expired_key(struct merger *merger, uint32_t flow)
{
	const struct hash_key hash_key = {0};
	struct sketch_candidate candidate = {.key = zipf_key(flow), .packets = 1, .bytes = 60};

	candidate.hash = hash_one(&hash_key, &candidate.key);
	merger_add_expired(merger, &candidate, UINT32_MAX);
}

/* Without memory for new keys, known keys are still counted. */
static void test_expired_without_memory(void **state)
{
	const struct ledger ledger = {.smallest_frame = FRAME_MIN, .largest_frame = FRAME_MAX};
	struct sketch_params params = {.width = 2048, .idle_timeout = 1000};
	struct merger *merger;
	uint32_t nb_keys = 0;

	(void)state;
	assert_null(flow_table_ops.check(&params));
	merger = merger_create(&flow_table_ops, &params);
	assert_non_null(merger);
	add_expired_key(merger, nb_keys++);
	no_more_memory = true;
	while (merger_forgotten(merger).packets == 0)
		add_expired_key(merger, nb_keys++);
	for (uint32_t f = 0; f + 1 < nb_keys; f++)
		add_expired_key(merger, f);
	no_more_memory = false;
	assert_int_equal(merger_forgotten(merger).packets, 1);
	assert_int_equal(merger_collect(merger,
				 &(struct merge_input){.ledger = &ledger, .loss_known = true}),
		0);
	assert_int_equal(merger_nb_flows(merger), nb_keys - 1);
	for (uint32_t i = 0; i < merger_nb_flows(merger); i++)
		assert_int_equal(merger_flow(merger, i).packets.low, 2);
	merger_destroy(merger);
}

/* Keys taken for an epoch that was not collected are not in the next one. */
static void test_expired_and_dropped(void **state)
{
	struct epoch epoch;

	(void)state;
	open_epoch_of(&flow_table_ops, &epoch,
		(struct sketch_params){.width = 2048, .idle_timeout = 1000}, 4000);
	add_expired_key(epoch.merger, 1);
	merger_drop_expired(epoch.merger);
	feed_and_take(&epoch, 3000, UINT32_MAX);
	assert_int_equal(assert_all_hold(&epoch), 0);
	close_epoch(&epoch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intervals_hold),
		cmocka_unit_test(test_no_figure_exceeds_the_epoch),
		cmocka_unit_test(test_top_is_the_truth),
		cmocka_unit_test(test_lazy_is_exact),
		cmocka_unit_test(test_threshold),
		cmocka_unit_test(missing_bytes),
		cmocka_unit_test(test_small_epoch_is_exact),
		cmocka_unit_test(test_distinct_keys_do_not_tell_the_parts),
		cmocka_unit_test(test_distinct_keys_are_estimated),
		cmocka_unit_test(test_loss_widens),
		cmocka_unit_test(test_saturation),
		cmocka_unit_test(test_bounds_around_the_guard),
		cmocka_unit_test(test_packets_without_bytes),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_merger_forgets),
		cmocka_unit_test(test_refuses_other_parts),
		cmocka_unit_test(test_no_missing_key_has_more),
		cmocka_unit_test(test_missing_keys_have_less_than_rows),
		cmocka_unit_test(test_loss_widens_missing_keys),
		cmocka_unit_test(test_recovered_top_is_the_truth),
		cmocka_unit_test(test_recovery_stops_at_the_threshold),
		cmocka_unit_test(test_recovery_says_that_it_gave_up),
		cmocka_unit_test(test_expired_records_add_up),
		cmocka_unit_test(test_forgotten_keys),
		cmocka_unit_test(test_expired_and_shed),
		cmocka_unit_test(test_shed_beside_listed),
		cmocka_unit_test(test_expired_without_memory),
		cmocka_unit_test(test_expired_and_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
