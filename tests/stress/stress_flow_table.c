/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several threads on one flow table: keys that all threads insert at once, chains that grow
 * concurrently, a pool that runs empty. Keys and links are plain memory before they are published,
 * so that ThreadSanitizer reports a reader that comes too early. In the end every packet is in an
 * entry of its key or in the count of shed packets.
 */

#include "feeders.h"
#include "report/merge/merge.h"
#include "sketch/flow_table/flow_table.h"

#define FLOWS   2000
#define PACKETS 40000 /* per thread */

/* Every packet has the flag and a time of its thread. */
static void append(struct feeder *feeder, struct key_burst *burst, uint32_t i)
{
	feeder_append_new_first(feeder, burst, i);
	burst->time[burst->n - 1] = (int64_t)i * FEEDERS_MAX + feeder->id;
	burst->tcp_flags[burst->n - 1] = (uint8_t)(1u << feeder->id);
}

struct sums {
	uint64_t packets[FLOWS], bytes[FLOWS];
	int64_t first[FLOWS], last[FLOWS];
	uint8_t tcp_flags[FLOWS];
	uint32_t entries[FLOWS];
};

static void add_candidate(const struct sketch_candidate *candidate, void *arg)
{
	struct sums *sums = arg;
	uint32_t f = zipf_flow(&candidate->key);
	struct key key = zipf_key(f);

	assert_true(f < FLOWS);
	assert_true(key_equal(&candidate->key, &key));
	assert_true(candidate->packets > 0);
	assert_true(candidate->first <= candidate->last);
	sums->packets[f] += candidate->packets;
	sums->bytes[f] += candidate->bytes;
	sums->tcp_flags[f] |= candidate->tcp_flags;
	sums->entries[f]++;
}

/* The intervals of the listed keys contain the true counts. */
static void check_bounds(const struct feeders *feeders)
{
	struct ledger ledger = {.smallest_frame = FRAME_MIN, .largest_frame = FRAME_MAX};
	struct merger *merger = merger_create(&flow_table_ops, &feeders->sketch->params);

	assert_non_null(merger);
	for (uint32_t f = 0; f < feeders->nb_flows; f++) {
		ledger.measured += feeders_packets(feeders, f);
		ledger.bytes += feeders_bytes(feeders, f);
	}
	ledger.offered = ledger.received = ledger.measured;
	assert_int_equal(merger_collect(merger,
				 &(struct merge_input){
					 .parts = &feeders->sketch,
					 .nb_parts = 1,
					 .ledger = &ledger,
					 .loss_known = true,
					 .confidence = 0.999,
				 }),
		0);
	for (uint32_t i = 0; i < merger_nb_flows(merger); i++) {
		struct merge_flow flow = merger_flow(merger, i);
		uint64_t packets = feeders_packets(feeders, zipf_flow(&flow.key));
		uint64_t bytes = feeders_bytes(feeders, zipf_flow(&flow.key));

		assert_in_range(packets, flow.packets.low, flow.packets.high);
		assert_in_range(bytes, flow.bytes.low, flow.bytes.high);
	}
	merger_destroy(merger);
}

static void run_threads(struct sketch_params params, uint32_t nb_threads)
{
	static struct sums got;
	struct feeders feeders = {
		.sketch = feeders_sketch(&flow_table_ops, params),
		.nb_threads = nb_threads,
		.nb_flows = FLOWS,
		.nb_packets = PACKETS,
		.exponent = 0.8,
		.append = append,
	};
	struct sketch *sketch = feeders.sketch;
	bool all = params.width >= FLOWS;
	uint64_t missing_packets = 0, missing_bytes = 0;
	struct sketch_shed shed;

	feeders_run(&feeders);
	got = (struct sums){0};
	flow_table_ops.candidates(sketch, add_candidate, &got);
	for (uint32_t f = 0; f < FLOWS; f++) {
		uint64_t packets = feeders_packets(&feeders, f);
		uint64_t bytes = feeders_bytes(&feeders, f);
		uint8_t flags = 0;

		for (uint32_t t = 0; t < nb_threads; t++)
			flags |= (uint8_t)((feeders.feeder[t].stream.packets[f] > 0) << t);
		/* A key may have two entries: one first in its bucket, one later in the chain. */
		assert_true(got.entries[f] <= 2);
		assert_true(got.packets[f] <= packets && got.bytes[f] <= bytes);
		if (all)
			assert_int_equal(got.tcp_flags[f], flags);
		missing_packets += packets - got.packets[f];
		missing_bytes += bytes - got.bytes[f];
	}
	shed = flow_table_ops.shed(sketch);
	assert_int_equal(shed.packets, missing_packets);
	assert_int_equal(shed.bytes, missing_bytes);
	assert_int_equal(all, shed.packets == 0);
	check_bounds(&feeders);
	feeders_close(&feeders);
	flow_table_ops.destroy(sketch);
}

static void run_policy(enum sketch_atomic atomic)
{
	for (uint32_t nb_threads = 2; nb_threads <= FEEDERS_MAX; nb_threads++) {
		struct sketch_params params = {
			.width = 4096, .atomic = atomic, .writers = nb_threads};

		run_threads(params, nb_threads);
		params.width = 64; /* long chains, and a pool that runs empty */
		run_threads(params, nb_threads);
		/*
		 * Buckets that are empty when the pool runs out: threads that meet there may shed.
		 */
		params.width = FLOWS / 2;
		run_threads(params, nb_threads);
	}
}

int main(void)
{
	return sharing_tests(run_policy);
}
