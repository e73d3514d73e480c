/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Flow states compared with a simple model of the rules in FLOWTABLE.md: for any burst sizes, with
 * reduced flows, with weights, and with room for few flows.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "make_sketch.h"
#include "sketch/flow_table/flow_detail.h"
#include "sketch/flow_table/flow_table.h"
#include "zipf_stream.h"

#define FLOWS   300
#define PACKETS 30000
#define SEED    7
#define MS      1000000
#define SECOND  INT64_C(1000000000)

struct packet {
	uint32_t flow, length;
	int64_t time;
	uint8_t flags;
	struct key_tcp tcp;
};

static struct packet packets[PACKETS];

/* Bursts, pauses, decreasing times, and segments that are late, early or repeated. */
static void make_packets(uint64_t seed)
{
	static uint32_t due[FLOWS];
	uint64_t state = seed;
	int64_t now = SECOND;

	for (uint32_t p = 0; p < PACKETS; p++) {
		uint64_t draw = zipf_random(&state), of = zipf_random(&state);
		struct packet *packet = &packets[p];
		bool same = p > 0 && draw % 100 < 60;

		packet->flow =
			same ? packets[p - 1].flow : (uint32_t)(of % FLOWS * (of >> 32) % FLOWS);
		now += same ? (int64_t)(draw >> 8 & 0xfff) : (int64_t)(draw >> 8 & 0x7ffff);
		if ((draw >> 40) % 2000 == 0)
			now += 2 * SECOND;
		packet->time = now - (draw >> 50 & 31 ? 0 : 5 * MS);
		packet->length = 60 + (uint32_t)(of >> 8 & 1023);
		packet->flags = (uint8_t)(of >> 20 & 15 ? 16 : of >> 24 & 7);
		packet->tcp = (struct key_tcp){
			.sequence = due[packet->flow] +
				    (of >> 28 & 3 ? 0 : (uint32_t)(of >> 30 & 511) - 256),
			.payload = (uint32_t)(of >> 40 & 127) * (of >> 47 & 1),
			.window = (uint16_t)(of >> 50 & 3),
			.known = (of >> 52 & 63) != 0,
		};
		due[packet->flow] = packet->tcp.sequence + packet->tcp.payload;
	}
}

/* ---- Model */

struct model_flow {
	uint64_t packets, back; /* packets counted; of these, before its return to counts only */
	int64_t last;
	enum flow_depth own, looked;
	struct flow_figures figures;
	int64_t window;
	uint64_t in_window, window_bytes;
	bool in_burst, deep, refused;
	uint32_t due, hole, hole_length;
};

struct model {
	struct sketch_deep deep;
	struct flow_states states;
	uint32_t room;
	uint64_t total, weight, refused, state_packets[FLOW_STATES];
	struct model_flow flows[FLOWS];
};

static struct model model;

static void model_start(struct sketch_deep deep, uint64_t weight)
{
	const struct flow_states identity = FLOW_STATES_IDENTITY;

	memset(&model, 0, sizeof(model));
	model.deep = deep;
	model.states = identity;
	model.room = deep.flows;
	model.weight = weight;
	for (uint32_t f = 0; f < FLOWS; f++)
		model.flows[f].figures = FLOW_FIGURES_NONE;
}

static bool model_rate(
	struct model_flow *flow, const struct packet *packet, int64_t gap, int64_t now)
{
	struct flow_figures *figures = &flow->figures;
	uint64_t counted = (uint64_t)(gap < SECOND ? gap : SECOND);

	figures->packets++;
	figures->gaps += counted;
	if (counted < figures->gap_min)
		figures->gap_min = counted;
	if (flow->looked == FLOW_COUNT || now - flow->window >= MS) {
		flow->window = now;
		flow->in_window = flow->window_bytes = 0;
		flow->in_burst = false;
	}
	flow->in_window++;
	flow->window_bytes += packet->length;
	if (flow->window_bytes > figures->peak_bytes)
		figures->peak_bytes = flow->window_bytes;
	if (flow->in_burst || flow->in_window % 16 != 0 ||
		(double)flow->in_window * (double)figures->gaps <=
			4.0 * MS * (double)figures->packets)
		return false;
	flow->in_burst = true;
	figures->bursts++;
	return true;
}

static void model_tcp(struct model_flow *flow, const struct packet *packet)
{
	uint32_t length = packet->tcp.payload + (packet->flags >> 1 & 1) + (packet->flags & 1);
	uint32_t seq = packet->tcp.sequence, into = seq - flow->hole;
	int32_t ahead = (int32_t)(seq - flow->due);

	flow->figures.tcp = true;
	flow->figures.zero_windows += packet->tcp.window == 0 && (packet->flags & 7) == 0;
	if (flow->looked != FLOW_TCP) {
		flow->due = seq + length;
		flow->hole_length = 0;
		return;
	}
	if (length > 0 && ahead < 0 && !(length == 1 && ahead == -1 && (packet->flags & 7) == 0)) {
		if (into >= flow->hole_length) {
			flow->figures.retransmitted++;
		} else {
			flow->figures.out_of_order++;
			if (into > 0) {
				flow->hole_length = into;
			} else {
				uint32_t filled =
					length < flow->hole_length ? length : flow->hole_length;

				flow->hole += filled;
				flow->hole_length -= filled;
			}
		}
	}
	if (ahead + (int32_t)length <= 0)
		return;
	if (ahead > 0) {
		flow->hole = flow->due;
		flow->hole_length = (uint32_t)ahead;
	}
	flow->due = seq + length;
}

static enum flow_depth model_map(const struct key_hash *hash, enum flow_depth state)
{
	bool below = (uint32_t)(hash->lo >> 32) < model.states.share;

	return (enum flow_depth)model.states.to[below][state];
}

/* Returns true if the flow has, or gets, room for more than counts. */
static bool model_deep(struct model_flow *flow, const struct key_hash *hash)
{
	if (flow->deep || flow->packets < model.deep.after ||
		model_map(hash, FLOW_RATE) == FLOW_COUNT)
		return flow->deep;
	flow->deep = model.room > 0;
	model.room -= flow->deep;
	model.refused += !flow->deep && !flow->refused;
	flow->refused = !flow->deep;
	if (flow->deep)
		flow->own = FLOW_RATE;
	return flow->deep;
}

static void model_add(const struct packet *packet, const struct key_hash *hash)
{
	struct model_flow *flow = &model.flows[packet->flow];
	int64_t before = flow->packets > 0 ? flow->last : packet->time;
	int64_t now = packet->time > before ? packet->time : before, gap = now - before;
	bool had = flow->deep, burst = false;
	enum flow_depth state = FLOW_COUNT, met = FLOW_COUNT;

	model.total += model.weight;
	if (model_deep(flow, hash)) {
		if (had && flow->own != FLOW_COUNT && gap > SECOND) {
			flow->own--;
			flow->back = flow->packets;
		} else if (had && flow->own == FLOW_COUNT &&
			   flow->packets - flow->back >= model.deep.after) {
			flow->own = FLOW_RATE;
		}
		met = flow->own;
		state = model_map(hash, flow->own);
		if (state == FLOW_TCP && !packet->tcp.known)
			state = FLOW_RATE;
		if (state >= FLOW_RATE)
			burst = model_rate(flow, packet, gap, now);
		if (state == FLOW_TCP)
			model_tcp(flow, packet);
		if (flow->own == FLOW_RATE && model.deep.deepest == FLOW_TCP &&
			packet->flow % 3 == 2 &&
			(burst || (double)(flow->packets + model.weight) >=
					  model.deep.share * (double)model.total))
			flow->own = FLOW_TCP;
	}
	flow->looked = state;
	flow->figures.state = (uint8_t)state;
	model.state_packets[met]++;
	flow->packets += model.weight;
	flow->last = now;
}

/* ---- Flow table */

static struct sketch *sketch;
static struct hash_key hash_key;

static void make(struct sketch_deep deep, uint64_t idle_timeout)
{
	sketch = make_sketch(&flow_table_ops,
		(struct sketch_params){
			.width = 4096, .seed = SEED, .idle_timeout = idle_timeout, .deep = deep});
	hash_key_init(&hash_key, SEED);
}

static void append(struct key_burst *burst, const struct packet *packet, uint32_t shift)
{
	struct key key = zipf_key(packet->flow);
	struct key_hash hash = hash_one(&hash_key, &key);
	uint32_t i = burst->n;

	burst_append(burst, &key, &hash, packet->length);
	burst->time[i] = packet->time;
	burst->tcp_flags[i] = packet->flags;
	burst->tcp[i] = packet->tcp;
	if (shift == 0)
		return;
	burst->weights->packets[i] = UINT64_C(1) << shift;
	burst->weights->bytes[i] = (uint64_t)packet->length << shift;
	burst->weights->shift = shift;
}

/* Feeds packets [begin, end) in bursts of `of` packets. */
static void feed(uint32_t begin, uint32_t end, uint32_t of, uint32_t shift)
{
	static struct key_weights weights;
	static struct key_burst burst;

	burst.weights = &weights;
	while (begin < end) {
		for (burst.n = 0; begin < end && burst.n < of; begin++) {
			append(&burst, &packets[begin], shift);
			model_add(&packets[begin], &burst.hash[burst.n - 1]);
		}
		(shift > 0 ? sketch->ops->update_weighted : sketch->ops->update)[SHARING_SEPARATE](
			sketch, &burst);
	}
}

static void check_flow(const struct sketch_candidate *candidate, void *arg)
{
	uint32_t flow = zipf_flow(&candidate->key), *flows = arg;
	struct flow_figures got = candidate->figures, expected = model.flows[flow].figures;

	(*flows)++;
	assert_int_equal(candidate->packets, model.flows[flow].packets);
	assert_int_equal(got.state, expected.state);
	assert_int_equal(got.tcp, expected.tcp);
	assert_int_equal(got.packets, expected.packets);
	assert_int_equal(got.gaps, expected.gaps);
	assert_int_equal(got.gap_min, expected.gap_min);
	assert_int_equal(got.peak_bytes, expected.peak_bytes);
	assert_int_equal(got.bursts, expected.bursts);
	assert_int_equal(got.retransmitted, expected.retransmitted);
	assert_int_equal(got.out_of_order, expected.out_of_order);
	assert_int_equal(got.zero_windows, expected.zero_windows);
}

static void check(void)
{
	const uint64_t *state_packets = sketch->ops->state_packets(sketch);
	uint32_t flows = 0;

	sketch->ops->candidates(sketch, check_flow, &flows);
	assert_true(flows > FLOWS / 2);
	for (uint32_t state = 0; state < FLOW_STATES; state++)
		assert_int_equal(state_packets[state], model.state_packets[state]);
	assert_int_equal(sketch->ops->shed(sketch).details, model.refused);
}

static const struct sketch_deep all[] = {
	{.deepest = FLOW_TCP, .flows = FLOWS, .after = 16, .share = 0.01},
	{.deepest = FLOW_TCP, .flows = FLOWS, .after = 1, .share = 0},
	{.deepest = FLOW_TCP, .flows = FLOWS, .after = 5, .share = 1},
	{.deepest = FLOW_RATE, .flows = FLOWS, .after = 3},
	{.deepest = FLOW_TCP, .flows = 20, .after = 16, .share = 0.01},
};

#define ALL (sizeof(all) / sizeof(all[0]))

static void figures_are_the_model_s(void **state)
{
	static const uint32_t cuts[] = {1, 7, 64};

	(void)state;
	make_packets(1);
	for (size_t c = 0; c < ALL * 3; c++) {
		make(all[c / 3], 0);
		for (int again = 0; again < 2; again++) { /* also after a reset */
			model_start(all[c / 3], 1);
			feed(0, PACKETS, cuts[c % 3], 0);
			check();
			sketch->ops->reset(sketch);
		}
		sketch->ops->destroy(sketch);
	}
	assert_true(model.refused > 0);
}

static void reduced_flows_are_sampled_less(void **state)
{
	static const struct flow_states steps[] = {
		{{{0, 1, 2}, {0, 1, 1}}, UINT32_C(1) << 31},
		{{{0, 0, 2}, {0, 0, 0}}, UINT32_C(1) << 30},
		{{{0, 0, 0}, {0, 1, 2}}, UINT32_C(3) << 29},
		FLOW_STATES_IDENTITY,
	};

	(void)state;
	make_packets(2);
	for (size_t c = 0; c < ALL; c++) {
		make(all[c], 0);
		model_start(all[c], 1);
		for (uint32_t part = 0; part < 8; part++) {
			sketch->ops->set_states(sketch, &steps[part % 4]);
			model.states = steps[part % 4];
			feed(part * PACKETS / 8, (part + 1) * PACKETS / 8, 64, 0);
		}
		check();
		sketch->ops->destroy(sketch);
	}
}

static void weights_leave_figures_of_what_was_looked_at(void **state)
{
	(void)state;
	make_packets(3);
	make(all[0], 0);
	model_start(all[0], 8);
	feed(0, PACKETS, 64, 3);
	check();
	sketch->ops->destroy(sketch);
}

static void take_expired(const struct sketch_candidate *candidate, void *arg)
{
	uint64_t *sums = arg;

	sums[0] += candidate->figures.packets;
	sums[1] += candidate->figures.packets > 0;
}

/* Ended records free their details: with room for 20, more than 20 flows are processed. */
static void details_are_given_back(void **state)
{
	uint64_t sums[2] = {0}; /* packets with details; records with such packets */

	(void)state;
	make_packets(4);
	make((struct sketch_deep){.deepest = FLOW_RATE, .flows = 20, .after = 1}, SECOND / 10);
	model_start(all[0], 1);
	for (uint32_t p = 0; p < PACKETS; p += 64) {
		feed(p, p + 64 < PACKETS ? p + 64 : PACKETS, 64, 0);
		sketch->ops->expired(sketch, take_expired, sums);
	}
	sketch->ops->candidates(sketch, take_expired, sums);
	assert_int_equal(sums[0], sketch->ops->state_packets(sketch)[FLOW_RATE]);
	assert_true(sums[1] > 10 * 20);
	assert_in_range(flow_table_ops.shed(sketch).details, 1, PACKETS);
	sketch->ops->destroy(sketch);
}

static void a_deep_flow_is_64_bytes_more(void **state)
{
	struct sketch_params params = {
		.width = 1 << 16, .deep = {.deepest = FLOW_RATE, .after = 1}};
	size_t eighth, more;

	(void)state;
	assert_null(flow_table_ops.check(&params));
	assert_int_equal(params.deep.flows, (1 << 16) / 8);
	eighth = flow_table_ops.memory(&params);
	params.deep.flows += 1000;
	more = flow_table_ops.memory(&params);
	assert_int_equal(more - eighth, 64 * 1000);
	params.deep.deepest = FLOW_COUNT;
	assert_true(eighth - flow_table_ops.memory(&params) < 64 * (1 << 16) / 8 + 1024);
	assert_null(flow_table_ops.state_packets((sketch = make_sketch(&flow_table_ops, params))));
	flow_table_ops.set_states(sketch, &(struct flow_states)FLOW_STATES_IDENTITY);
	flow_table_ops.destroy(sketch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_the_model_s),
		cmocka_unit_test(reduced_flows_are_sampled_less),
		cmocka_unit_test(weights_leave_figures_of_what_was_looked_at),
		cmocka_unit_test(details_are_given_back),
		cmocka_unit_test(a_deep_flow_is_64_bytes_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
