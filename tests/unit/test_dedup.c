/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Weights of records, compared with simple references: random interleavings of the records of 1 to
 * 6 observation points, lost records, totals, both sides of a switch, a full table, timeouts, every
 * method. No record adds more packets than it stands for.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/router_names.h"
#include "collect/dedup/dedup.h"
#include "collect/dedup/estimate.h"

#define FLOWS     60
#define OBSERVERS 6
#define EXPORTERS 16
#define SECOND    INT64_C(1000000000)
#define START     (INT64_C(1700000000) * SECOND)
#define TIMEOUT   (60 * SECOND)

/* A flow cache and its results, by flow. */
struct bed {
	struct dedup *dedup;
	struct key_burst burst;
	struct key_weights weights;
	struct dedup_counts counts;
	struct record_counts records[EXPORTERS];
	struct observation waiting[BURST_MAX];
	uint32_t flow_of[BURST_MAX], nb_waiting, cut;
	uint64_t packets[FLOWS], bytes[FLOWS], received;
	int64_t time;
	struct key_extra extra[FLOWS]; /* routers of the flow settled last */
};

static struct bed *bed_create_for(struct dedup_params params)
{
	struct bed *bed = aligned_alloc(64, (sizeof(*bed) + 63) / 64 * 64);

	params.exporters = EXPORTERS;
	params.timeout = TIMEOUT;
	params.seed = 42;
	params.allocator = sketch_allocator_malloc;
	assert_non_null(bed);
	memset(bed, 0, sizeof(*bed));
	bed->dedup = dedup_create(&params);
	assert_non_null(bed->dedup);
	bed->burst.weights = &bed->weights;
	bed->cut = BURST_MAX;
	bed->time = START;
	return bed;
}

static struct bed *bed_create(enum dedup_method method, uint64_t flows, bool paths)
{
	return bed_create_for(
		(struct dedup_params){.method = method, .flows = flows, .paths = paths});
}

static void bed_destroy(struct bed *bed)
{
	dedup_destroy(bed->dedup);
	free(bed);
}

static void flush(struct bed *bed)
{
	dedup_burst(
		bed->dedup, bed->waiting, bed->nb_waiting, &bed->burst, &bed->counts, bed->records);
	assert_int_equal(bed->burst.n, bed->nb_waiting);
	for (uint32_t i = 0; i < bed->nb_waiting; i++) {
		struct key key = key_burst_get(&bed->burst, i);

		assert_int_equal(key.family, bed->waiting[i].family);
		assert_memory_equal(&key.v4, &bed->waiting[i].key4, sizeof(key.v4));
		assert_true(bed->weights.packets[i] <=
			    bed->waiting[i].packets * bed->waiting[i].sampling);
		assert_true(bed->weights.packets[i] > 0 || bed->weights.bytes[i] == 0);
		if (bed->weights.packets[i] == bed->waiting[i].packets &&
			!(bed->waiting[i].flags & OBSERVATION_SINCE_START))
			assert_true(bed->weights.bytes[i] == bed->waiting[i].bytes ||
				    bed->waiting[i].bytes >= UINT64_C(1) << 49);
		bed->packets[bed->flow_of[i]] += bed->weights.packets[i];
		bed->bytes[bed->flow_of[i]] += bed->weights.bytes[i];
	}
	assert_true(bed->counts.measured <= bed->counts.received);
	bed->nb_waiting = 0;
}

/* Returns the flow's number from the last byte of the source, as report() sets it. */
static uint32_t flow_of_key(const struct key *key)
{
	return key->family == KEY_IPV6 ? key->v6.src_ip[15] : key->v4.src_ip[3];
}

/* Counts deferred flows. Returns their number. */
static uint32_t settle(struct bed *bed)
{
	uint32_t flows = 0, n;

	flush(bed);
	dedup_learn(bed->dedup, bed->time, true, &bed->counts);
	while ((n = dedup_settle(bed->dedup, &bed->burst, &bed->counts)) > 0) {
		assert_in_range(n, 1, BURST_MAX);
		assert_int_equal(n, bed->burst.n);
		for (uint32_t i = 0; i < n; i++) {
			struct key key = key_burst_get(&bed->burst, i);

			assert_true(bed->weights.packets[i] > 0);
			assert_true(bed->weights.bytes[i] <=
				    bed->weights.packets[i] * bed->counts.largest_frame);
			bed->packets[flow_of_key(&key)] += bed->weights.packets[i];
			bed->bytes[flow_of_key(&key)] += bed->weights.bytes[i];
			bed->extra[flow_of_key(&key)] = bed->burst.extra[i];
		}
		flows += n;
	}
	assert_true(bed->counts.measured <= bed->counts.received);
	return flows;
}

static void ignore_path(void *arg, const struct path_row *row)
{
	(void)arg;
	(void)row;
}

static void end_epoch(struct bed *bed)
{
	settle(bed);
	dedup_end_epoch(bed->dedup, bed->time, ignore_path, NULL);
}

/*
 * Creates a record. Flows of even number are IPv4; all flows of a family lie between two prefixes.
 */
static struct observation report(uint32_t flow, uint32_t exporter, uint64_t packets, uint64_t bytes)
{
	struct observation observation;

	memset(&observation, 0, sizeof(observation));
	observation.family = flow % 2 ? KEY_IPV6 : KEY_IPV4;
	if (flow % 2) {
		observation.key6.src_ip[0] = 0x20;
		observation.key6.src_ip[15] = (uint8_t)flow;
		observation.key6.proto = 6;
	} else {
		observation.key4.src_ip[0] = 10;
		observation.key4.src_ip[3] = (uint8_t)flow;
		observation.key4.src_port[0] = (uint8_t)(flow >> 8);
		observation.key4.proto = 6;
	}
	observation.exporter = exporter;
	observation.sampling = 1;
	observation.next = EXPORTER_NONE;
	observation.packets = packets;
	observation.bytes = bytes;
	return observation;
}

static void give(struct bed *bed, uint32_t flow, struct observation observation)
{
	observation.time = bed->time;
	bed->flow_of[bed->nb_waiting] = flow % FLOWS;
	bed->waiting[bed->nb_waiting++] = observation;
	if (bed->nb_waiting >= bed->cut)
		flush(bed);
}

/*
 * Observation points of one flow path see all packets, and report the packets since their last
 * record at random times. After every record a flow has all packets reported so far, wherever an
 * observation point joins.
 */
static void test_best_is_the_most(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 60; seed++) {
		struct bed *bed = bed_create(DEDUP_BEST, 1000, seed % 2);
		static uint64_t passed[FLOWS], told[FLOWS][OBSERVERS], most[FLOWS];
		static int64_t since[FLOWS][OBSERVERS];
		uint32_t observers = 1 + seed % OBSERVERS;
		struct random random;

		memset(passed, 0, sizeof(passed));
		memset(told, 0, sizeof(told));
		memset(most, 0, sizeof(most));
		random_init(&random, seed);
		bed->cut = seed % 3 ? 1 : 1 + (uint32_t)random_below(&random, BURST_MAX);
		for (uint32_t flow = 0; flow < FLOWS; flow++)
			for (uint32_t k = 0; k < OBSERVERS; k++)
				since[flow][k] = START;
		for (uint32_t i = 0; i < 6000; i++) {
			uint32_t flow = (uint32_t)random_below(&random, FLOWS);
			uint32_t k = (uint32_t)random_below(&random, observers);
			uint64_t packets;
			struct observation o;

			passed[flow] += random_below(&random, 20);
			packets = passed[flow] - told[flow][k];
			o = report(flow, k, packets, packets * 100);
			o.flags = OBSERVATION_FIRST | OBSERVATION_LAST;
			o.first = (uint32_t)((bed->time - since[flow][k]) / 1000000);
			o.input = (uint32_t)random_below(&random, 3);
			told[flow][k] = passed[flow];
			since[flow][k] = bed->time;
			most[flow] = passed[flow];
			give(bed, flow, o);
			bed->time += (int64_t)random_below(&random, 20000000);
			if (bed->nb_waiting > 0)
				continue;
			assert_int_equal(bed->packets[flow], most[flow]);
			assert_int_equal(bed->bytes[flow], most[flow] * 100);
		}
		flush(bed);
		for (uint32_t flow = 0; flow < FLOWS; flow++)
			assert_int_equal(bed->packets[flow], most[flow]);
		settle(bed);
		assert_int_equal(bed->counts.new_packets, 0);
		assert_int_equal(bed->counts.duplicate_packets, 0);
		bed_destroy(bed);
	}
}

/* Reports `packets` that passed from `first_s` to `last_s` seconds after the start, at `at_s`. */
static void pass_late(struct bed *bed, uint32_t flow, uint32_t exporter, uint64_t packets,
	uint32_t first_s, uint32_t last_s, uint32_t at_s)
{
	struct observation o = report(flow, exporter, packets, packets * 100);

	bed->time = START + at_s * SECOND;
	o.flags = OBSERVATION_FIRST | OBSERVATION_LAST;
	o.first = (at_s - first_s) * 1000;
	o.last = (at_s - last_s) * 1000;
	give(bed, flow, o);
	flush(bed);
}

static void pass_flow(struct bed *bed, uint32_t flow, uint32_t exporter, uint64_t packets,
	uint32_t first_s, uint32_t last_s)
{
	pass_late(bed, flow, exporter, packets, first_s, last_s, last_s);
}

static void pass(
	struct bed *bed, uint32_t exporter, uint64_t packets, uint32_t first_s, uint32_t last_s)
{
	pass_flow(bed, 0, exporter, packets, first_s, last_s);
}

/* A flow that moves to another router and back counts immediately at each one. */
static void test_reroutes(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);
	uint64_t truth = 0;

	(void)state;
	for (uint32_t t = 0; t < 900; t += 10) {
		uint32_t router = t / 300 % 2;
		uint64_t packets = 1000 + t;

		pass(bed, router, packets, t, t + 10);
		truth += packets;
		/* At a change, the records of both routers are adjacent. */
		assert_in_range(bed->packets[0], truth - truth / 50, truth);
	}
	settle(bed);
	assert_int_equal(bed->counts.duplicate_packets, 0);
	/* Missing packets are in doubt, so the bounds include them. */
	assert_true(bed->packets[0] + bed->counts.new_packets >= truth);
	bed_destroy(bed);
}

/* An observation point that sees only part of the packets: its records may be of other packets. */
static void test_parts(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);
	uint64_t truth = 0;

	(void)state;
	for (uint32_t t = 0; t < 600; t += 10) {
		pass(bed, 0, 700, t, t + 10);
		pass(bed, 1, 300, t, t + 10);
		truth += 1000;
	}
	settle(bed);
	assert_in_range(bed->packets[0], truth * 7 / 10, truth);
	assert_true(bed->packets[0] + bed->counts.new_packets >= truth * 9 / 10);
	bed_destroy(bed);
}

/*
 * Packets are sprayed over two paths, and each exporter sees about half of each flow, at the same
 * times: most counts differ, so that all duplicates are in doubt, also those of flow 0, whose
 * exporters report no times.
 */
static void test_sprayed(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 1000, false);
	struct random random;
	uint64_t truth = 0;

	(void)state;
	random_init(&random, 5);
	for (uint32_t t = 0; t < 50; t += 10)
		for (uint32_t flow = 0; flow < FLOWS; flow++)
			for (uint32_t k = 0; k < 2; k++) {
				uint64_t packets = 400 + random_below(&random, 200);
				struct observation o =
					report(flow, flow == 0 ? 2 + k : k, packets, packets * 100);

				bed->time = START + (t + 10) * SECOND;
				if (flow > 0) {
					o.flags = OBSERVATION_FIRST | OBSERVATION_LAST;
					o.first = 10000;
				}
				give(bed, flow, o);
				truth += packets;
			}
	settle(bed);
	assert_true(bed->counts.measured <= truth);
	assert_true(bed->counts.measured + bed->counts.new_packets >= truth);
	assert_true(bed->counts.bytes + bed->counts.new_bytes >= truth * 100);
	bed_destroy(bed);
}

/* Asserts that the flow's packets and bytes, whenever they were counted, lie within the bounds. */
static void assert_bounds(const struct bed *bed, uint64_t packets, uint64_t bytes)
{
	const struct dedup_counts *counts = &bed->counts;

	assert_true(bed->packets[0] <= packets + counts->duplicate_packets);
	assert_true(packets <= bed->packets[0] + counts->new_packets);
	assert_true(bed->bytes[0] <= bytes + counts->duplicate_bytes);
	assert_true(bytes <= bed->bytes[0] + counts->new_bytes);
}

/* The flow moves to a path with another exporter, whose count is by chance that of the first one. */
static void test_joins_in_the_middle(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);

	(void)state;
	pass(bed, 0, 128, 0, 40);
	pass(bed, 1, 127, 20, 60); /* 64 of them before 40 s, 63 after */
	settle(bed);
	assert_bounds(bed, 191, 19100);
	assert_true(bed->counts.new_packets > 0);
	bed_destroy(bed);
}

/* An exporter that reports the flow from its first packet on raises no doubt, late as it may be. */
static void test_joins_from_the_start(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);

	(void)state;
	for (uint32_t t = 0; t < 40; t += 10)
		pass(bed, 0, 32, t, t + 10);
	pass(bed, 1, 128, 0, 40);
	settle(bed);
	assert_int_equal(bed->packets[0], 128);
	assert_int_equal(bed->counts.new_packets + bed->counts.duplicate_packets, 0);
	bed_destroy(bed);
}

/*
 * A flow moves to another exporter while the first one's record is late: it counts when it arrives.
 * If the flow did not move, late records of a pause, or of packets before the first one, are in
 * doubt: clocks may differ, and a replay changes the times of arrival.
 */
static void test_late_reports(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);

	(void)state;
	pass(bed, 0, 10, 0, 10);
	pass(bed, 1, 20, 30, 40);
	assert_int_equal(bed->packets[0], 30);
	pass(bed, 2, 40, 15, 25); /* in the gap */
	assert_int_equal(bed->packets[0], 70);
	pass(bed, 3, 40, 15, 25); /* its duplicate: the gap is filled */
	assert_int_equal(bed->packets[0], 70);
	pass(bed, 4, 50, 0, 25); /* sees all packets so far */
	assert_int_equal(bed->packets[0], 70);
	settle(bed);
	assert_bounds(bed, 70, 7000);
	bed_destroy(bed);
	bed = bed_create(DEDUP_BEST, 100, false);
	pass(bed, 0, 10, 20, 30);
	pass(bed, 0, 20, 50, 60);
	pass(bed, 1, 40, 35, 45); /* in a pause of the flow */
	pass(bed, 2, 50, 0, 10);  /* before its first packet */
	settle(bed);
	assert_int_equal(bed->packets[0], 30);
	assert_bounds(bed, 120, 12000);
	bed_destroy(bed);
}

/*
 * A flow changes its path and then also the others may have: until two timeouts later, all flows
 * with duplicates are in doubt.
 */
static void test_changes_of_path(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);

	(void)state;
	for (uint32_t t = 0; t < 400; t += 10) {
		uint64_t new_packets = bed->counts.new_packets;
		uint64_t duplicates = bed->counts.duplicate_packets;

		pass_flow(bed, 2, 0, 100, t, t + 9);
		pass_flow(bed, 2, 1, 100, t, t + 9);
		if (t < 40)
			pass(bed, t < 20 ? 0 : 1, 50, t, t + 9);
		settle(bed);
		new_packets = bed->counts.new_packets - new_packets;
		duplicates = bed->counts.duplicate_packets - duplicates;
		if (t >= 20 && t < 20 + 2 * TIMEOUT / SECOND) {
			assert_int_equal(new_packets, 100);
			assert_in_range(duplicates, 100, 150);
		} else if (t < 20 || t >= 300) {
			assert_int_equal(new_packets + duplicates, 0);
		}
	}
	assert_int_equal(bed->packets[2], 4000);
	assert_int_equal(bed->packets[0], 200);
	bed_destroy(bed);
}

/*
 * The network drops one packet of each tenth record between two exporters, and flows pause: no flow
 * changed its path.
 */
static void test_drops_between_exporters(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);

	(void)state;
	for (uint32_t t = 0; t < 600; t += 10)
		for (uint32_t flow = 2; flow < 22; flow++) {
			uint32_t first = (t / 10 + flow) % 2; /* exporter that reports first */

			for (uint32_t k = 0; k < 2; k++) {
				uint32_t exporter = k == 0 ? first : 1 - first;
				bool drops = exporter == 1 && (t / 10 + flow) % 10 == 0;

				pass_flow(bed, flow, exporter, drops ? 99 : 100, t, t + 9);
			}
		}
	settle(bed);
	assert_int_equal(bed->packets[2], 6000);
	assert_int_equal(bed->counts.new_packets + bed->counts.duplicate_packets, 0);
	bed_destroy(bed);
}

/*
 * A flow that changes its path again and again: a late record may be of any of its gaps. Other flows
 * of a large network do not change, and are exact.
 */
static void test_flapping(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 1000, false);
	uint64_t truth = 0;

	(void)state;
	for (uint32_t t = 0; t < 400; t += 20) {
		for (uint32_t flow = 2; flow < FLOWS; flow++)
			for (uint32_t k = 0; k < 4; k++)
				pass_flow(bed, flow, k, 10, t, t + 9);
		for (uint32_t k = 0; k < 2; k++)
			pass(bed, t / 20 % 2, 5, t + 10 * k, t + 10 * k + 9);
		truth += 10;
	}
	/* An exporter with a long timeout: packets of which others reported a part. */
	pass(bed, 3, truth + 7, 1, 399);
	settle(bed);
	assert_int_equal(bed->packets[2], 200);
	assert_bounds(bed, truth, truth * 100);
	assert_bounds(bed, truth + truth + 7, (truth + truth + 7) * 100);
	assert_true(bed->counts.new_packets <= 2 * truth);
	bed_destroy(bed);
}

/* After a loss, an exporter's position is unknown: its count lacks the lost packets. */
static void test_position_after_loss(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);
	struct observation o;

	(void)state;
	pass(bed, 0, 100, 0, 10);
	/* Its record of 70 packets, 10 to 20 s, is lost. */
	pass(bed, 1, 170, 0, 20);
	o = report(0, 0, 80, 8000);
	bed->time = START + 30 * SECOND;
	o.flags = OBSERVATION_FIRST | OBSERVATION_LAST | OBSERVATION_AFTER_LOSS;
	o.first = 10500; /* begins before the front */
	give(bed, 0, o);
	flush(bed);
	settle(bed);
	assert_bounds(bed, 250, 25000);
	assert_bounds(bed, 245, 24500);
	bed_destroy(bed);
}

/* The bytes of a part of a record are unknown: its packets may have any size. */
static void test_bytes_of_parts(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);
	struct observation o;

	(void)state;
	pass(bed, 0, 100, 0, 10); /* 100 bytes each */
	/* A new exporter: 50 of these, and 50 of 1500 bytes later. */
	o = report(0, 1, 100, 50 * 100 + 50 * 1500);
	bed->time = START + 11 * SECOND;
	o.flags = OBSERVATION_FIRST | OBSERVATION_LAST;
	o.first = 6000;
	give(bed, 0, o);
	flush(bed);
	settle(bed);
	assert_bounds(bed, 150, 100 * 100 + 50 * 1500);
	bed_destroy(bed);
}

/*
 * Active timeouts of 60, 10 and 7 s, clocks that differ by less than 2 s: each packet counts once.
 */
static void test_timeouts(void **state)
{
	const uint32_t timeouts[] = {60, 10, 7};
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);
	struct random random;

	(void)state;
	random_init(&random, 3);
	for (uint32_t t = 1; t <= 840; t++) {
		for (uint32_t k = 0; k < 3; k++) {
			struct observation o = report(0, k, 50 * timeouts[k], 5000 * timeouts[k]);

			if (t % timeouts[k] != 0)
				continue;
			bed->time = START + t * SECOND +
				    (int64_t)random_below(&random, (uint64_t)SECOND);
			o.flags = OBSERVATION_FIRST | OBSERVATION_LAST;
			o.first = timeouts[k] * 1000;
			give(bed, 0, o);
		}
	}
	settle(bed);
	assert_int_equal(bed->packets[0], 840 * 50);
	assert_int_equal(bed->counts.new_packets, 0);
	bed_destroy(bed);
}

/*
 * The true traffic of every flow, reported by observation points that all lose records except one.
 */
static void test_one_heard_whole(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 60; seed++) {
		struct bed *best = bed_create(DEDUP_BEST, 1000, false);
		struct bed *none = bed_create(DEDUP_NONE, 1000, false);
		uint32_t observers = 1 + seed % OBSERVERS;
		uint64_t truth[FLOWS] = {0}, lost = 0, sum = 0;
		bool totals = seed % 4 == 3;
		struct random random;

		random_init(&random, 1000 + seed);
		for (uint32_t round = 0; round < 30; round++) {
			for (uint32_t flow = 0; flow < FLOWS; flow++) {
				uint64_t packets = 1 + random_below(&random, 50);

				truth[flow] += packets;
				for (uint32_t k = 0; k < observers; k++) {
					bool drop = k != flow % observers &&
						    random_below(&random, 10) < 3;
					uint64_t said = totals ? truth[flow] : packets;
					struct observation o = report(flow, k, said, said * 64);

					o.flags = totals ? OBSERVATION_TOTALS : 0;
					o.side = (uint8_t)(k % 3);
					lost += drop ? packets : 0;
					if (drop)
						continue;
					give(best, flow, o);
					give(none, flow, o);
				}
				sum += packets;
			}
			best->time += SECOND;
			none->time += SECOND;
		}
		flush(best);
		flush(none);
		for (uint32_t flow = 0; flow < FLOWS; flow++) {
			assert_int_equal(best->packets[flow], truth[flow]);
			assert_int_equal(best->bytes[flow], truth[flow] * 64);
		}
		assert_int_equal(best->counts.measured, sum);
		assert_int_equal(none->counts.measured, none->counts.received);
		if (!totals)
			assert_int_equal(none->counts.measured, observers * sum - lost);
		assert_true(best->counts.sampling >= 1 && best->counts.sampling <= 1);
		assert_int_equal(best->counts.smallest_frame, 64);
		assert_int_equal(best->counts.largest_frame, 64);
		bed_destroy(best);
		bed_destroy(none);
	}
}

/* A switch that reports each flow at both input and output; its totals restart. */
static void test_both_sides_and_totals(void **state)
{
	const uint64_t totals[] = {10, 25, 25, 40, 7, 9};
	uint64_t truth = 0, last = 0;

	(void)state;
	for (uint32_t method = 0; method < DEDUP_EDGE; method++) {
		struct bed *bed = bed_create(method, 100, false);

		truth = last = 0;
		for (uint32_t i = 0; i < 6; i++) {
			truth += totals[i] < last ? totals[i] : totals[i] - last;
			last = totals[i];
			for (uint32_t side = OBSERVED_INGRESS; side <= OBSERVED_EGRESS; side++) {
				struct observation o = report(2, 3, totals[i], totals[i] * 80);

				o.flags = OBSERVATION_TOTALS;
				o.side = (uint8_t)side;
				give(bed, 2, o);
			}
			flush(bed);
			if (method == DEDUP_WINDOW)
				bed->time += TIMEOUT / 2;
		}
		assert_int_equal(bed->counts.received, 2 * truth);
		if (method != DEDUP_WINDOW)
			assert_int_equal(bed->packets[2], truth);
		bed_destroy(bed);
	}
}

/*
 * A flow of more than 4 GB whose total of bytes has 32 bits; then another flow with the same key.
 */
static void test_totals_of_32_bits(void **state)
{
	static const struct {
		uint64_t packets, bytes; /* totals */
		uint64_t truth, truth_bytes;
	} rows[] = {
		{3000000, 4200000000, 3000000, 4200000000},
		{3100000, 4340000000 % (1ULL << 32), 3100000, 4340000000},
		{3100000, 4340000000 % (1ULL << 32), 3100000, 4340000000},
		{6000000, 8400000000 % (1ULL << 32), 6000000, 8400000000},
		{6200000, 8680000000 % (1ULL << 32), 6200000, 8680000000},
		{5, 400, 6200005, 8680000400},
		{7, 300, 6200012, 8680000700}, /* more packets; bytes did not wrap */
		{50000, 75000000, 6250005, 8755000400},
		{200000, 12000000, 6450005, 8767000400}, /* packets of 64 bytes; not of 28 KB */
		{6000000, 8400000000, 12250005, 17155000400},
		{9000000, 6000000000, 21250005, 23155000400}, /* more than 32 bits */
	};
	struct bed *bed = bed_create(DEDUP_NONE, 100, false);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct observation o = report(2, 3, rows[i].packets, rows[i].bytes);

		o.flags = OBSERVATION_TOTALS;
		give(bed, 2, o);
		flush(bed);
		assert_int_equal(bed->packets[2], rows[i].truth);
		assert_int_equal(bed->bytes[2], rows[i].truth_bytes);
	}
	bed_destroy(bed);
}

#define ENDED   OBSERVATION_ENDED
#define TOTAL   OBSERVATION_TOTALS
#define SESSION OBSERVATION_SESSION

/* Successive flows with the same key; `fresh`: new packets of each record. */
static void test_sessions(void **state)
{
	static const struct {
		uint32_t flags, age_s, silence_s; /* before the record */
		uint64_t packets, fresh;
	} rows[] = {
		/* Updates, and a last record with the sum. */
		{0, 0, 1, 30, 30},
		{0, 0, 1, 10, 10},
		{0, 0, 1, 5, 5},
		{SESSION | ENDED, 0, 1, 45, 0},
		/* A session without updates; a session whose last update was lost. */
		{SESSION | ENDED, 0, 1, 4, 4},
		{0, 0, 1, 20, 20},
		{SESSION | ENDED, 0, 1, 50, 30},
		/* A session whose beginning was missed: its updates exceed its sum. */
		{0, 0, 1, 9, 9},
		{SESSION | ENDED, 0, 1, 3, 3},
		/* Totals of flows that end: growing, then another flow with a larger total. */
		{TOTAL, 0, 1, 10, 10},
		{TOTAL | ENDED, 0, 1, 15, 5},
		{TOTAL | ENDED, 0, 1, 16, 16},
		{TOTAL | ENDED, 0, 1, 16, 16},
		/* The end was not reported; the next flow began after it. */
		{TOTAL, 1, 2, 20, 20},
		{TOTAL, 4, 3, 30, 10},
		{TOTAL, 1, 5, 40, 40},
		{TOTAL, 9, 5, 40, 0},
		/* Counters since the last record, or 0 if the exporter fills only totals. */
		{0, 0, 1, 7, 7},
	};
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);
	uint64_t truth = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct observation o = report(2, 3, rows[i].packets, rows[i].packets * 80);

		bed->time += rows[i].silence_s * SECOND;
		o.time = bed->time;
		o.flags = (uint16_t)rows[i].flags;
		o.first = rows[i].age_s * 1000;
		if (rows[i].age_s > 0)
			o.flags |= OBSERVATION_FIRST;
		give(bed, 2, o);
		flush(bed);
		truth += rows[i].fresh;
		assert_int_equal(bed->packets[2], truth);
		assert_int_equal(bed->bytes[2], truth * 80);
	}
	bed_destroy(bed);
}

/* A missing counter in a counted record is reported as unknown. */
static void test_unknown_counts(void **state)
{
	static const uint16_t flags[] = {OBSERVATION_BYTES_UNKNOWN, OBSERVATION_PACKETS_UNKNOWN};

	(void)state;
	for (uint32_t method = 0; method < DEDUP_METHOD_COUNT; method++)
		for (uint32_t i = 0; i < 2; i++) {
			struct bed *bed = bed_create(method, 100, false);
			struct observation o = report(2, 3, 10, 800);

			give(bed, 2, o);
			flush(bed);
			assert_false(bed->counts.unknown || bed->counts.bytes_unknown);
			o = report(4, 3, 10, 800);
			o.flags = flags[i];
			give(bed, 4, o);
			flush(bed);
			assert_int_equal(bed->counts.bytes_unknown, i == 0);
			assert_int_equal(bed->counts.unknown, i == 1);
			bed_destroy(bed);
		}
}

static void test_exporter_and_window(void **state)
{
	struct bed *bed = bed_create(DEDUP_EXPORTER, 100, false);

	(void)state;
	give(bed, 0, report(0, 4, 10, 1000));
	give(bed, 0, report(0, 2, 12, 1200));
	give(bed, 0, report(0, 4, 5, 500));
	flush(bed);
	assert_int_equal(bed->packets[0], 15);
	assert_int_equal(bed->records[2].duplicate, 1);
	assert_int_equal(bed->records[4].counted, 2);
	bed_destroy(bed);
	bed = bed_create(DEDUP_WINDOW, 100, false);
	give(bed, 0, report(0, 4, 10, 1000));
	give(bed, 0, report(0, 2, 12, 1200));
	bed->time += TIMEOUT / 2;
	give(bed, 0, report(0, 2, 100, 1200));
	bed->time += TIMEOUT / 2 + SECOND;
	give(bed, 0, report(0, 2, 7, 700));
	flush(bed);
	assert_int_equal(bed->packets[0], 17);
	bed_destroy(bed);
}

/* Gives `packets` samples of flow 0, each of 100 bytes. */
static void give_samples(struct bed *bed, uint32_t exporter, uint32_t sampling, uint64_t packets)
{
	struct observation o = report(0, exporter, packets, packets * 100);

	o.flags = OBSERVATION_SAMPLE;
	o.sampling = sampling;
	give(bed, 0, o);
	flush(bed);
}

/*
 * The mean of two observation points is as coarse as the coarser one, in any order. It is known at
 * the end of the epoch.
 */
static void test_window_of_samples(void **state)
{
	(void)state;
	for (uint32_t order = 0; order < 2; order++) {
		struct bed *bed = bed_create(DEDUP_WINDOW, 100, false);

		for (uint32_t k = 0; k < 2; k++) {
			if (k == order)
				give_samples(bed, 4, 1000, 10);
			else
				give_samples(bed, 2, 10, 3000);
		}
		assert_int_equal(bed->packets[0], 0);
		assert_int_equal(settle(bed), 1);
		assert_int_equal(bed->packets[0], (10000 + 30000) / 2);
		assert_int_equal(bed->bytes[0], (10000 + 30000) / 2 * 100);
		assert_true(bed->counts.sampling >= 1000 && bed->counts.sampling <= 1000);
		assert_int_equal(bed->counts.duplicate_packets, 20000);
		assert_int_equal(bed->counts.new_packets, 20000);
		bed_destroy(bed);
	}
}

/* The mean of 3 and 2 packets is rounded down, so its packets look larger than any reported. */
static void test_window_of_rounded_means(void **state)
{
	struct bed *bed = bed_create(DEDUP_WINDOW, 100, false);

	(void)state;
	give_samples(bed, 4, 3, 1);
	give_samples(bed, 2, 2, 1);
	assert_int_equal(settle(bed), 1);
	assert_int_equal(bed->packets[0], 2);
	assert_int_equal(bed->bytes[0], 250);
	assert_true(bed->counts.largest_frame >= 125);
	bed_destroy(bed);
}

#define ARRIVALS     5
#define RECORD_FIRST 3 /* arrivals before it are samples */

/* Arrivals of a flow: samples of exporters 1 and 2, records of 3 and 4 that state all packets. */
static void arrive(
	struct bed *bed, uint32_t which, uint32_t sampling, uint64_t samples, uint64_t all)
{
	if (which < RECORD_FIRST)
		give_samples(bed, 1 + which % 2, sampling, samples);
	else
		pass_late(bed, 0, which, all, 0, 0, (uint32_t)((bed->time - START) / SECOND));
}

/* Counts of samples as the method has them, and what a record then adds. */
struct window_rule {
	uint64_t waiting[2], counted, from_samples;
	bool recorded;
};

static void rule_arrive(struct window_rule *rule, uint32_t which, uint64_t samples, uint64_t all)
{
	uint64_t covered = rule->from_samples < all ? rule->from_samples : all;

	if (rule->recorded)
		return;
	if (which < RECORD_FIRST) {
		rule->waiting[which % 2] += samples;
		return;
	}
	rule->recorded = true;
	rule->waiting[0] = rule->waiting[1] = 0;
	rule->counted += all - covered;
	rule->from_samples -= covered;
}

static void rule_end_epoch(struct window_rule *rule)
{
	uint32_t observers = (rule->waiting[0] > 0) + (rule->waiting[1] > 0);
	uint64_t mean = observers > 0 ? (rule->waiting[0] + rule->waiting[1]) / observers : 0;

	rule->waiting[0] = rule->waiting[1] = 0;
	rule->counted += mean;
	rule->from_samples += mean;
}

/*
 * One order of arrival, with ends of epochs after the arrivals in `ends`. Samples and records of the
 * same packets count once: exactly, if they are in one epoch, or when the next record arrives.
 */
static void check_order(
	const uint32_t *order, uint32_t ends, uint32_t sampling, uint64_t samples, uint64_t all)
{
	struct bed *bed = bed_create(DEDUP_WINDOW, 100, false);
	struct window_rule rule = {.recorded = false};
	bool apart = false, sampled = false;

	for (uint32_t i = 0; i < ARRIVALS; i++) {
		bool record = order[i] >= RECORD_FIRST;

		sampled |= !record && !rule.recorded;
		arrive(bed, order[i], sampling, samples, all);
		rule_arrive(&rule, order[i], samples * sampling, all);
		bed->time += 5 * SECOND;
		if (!(ends >> i & 1))
			continue;
		apart |= sampled && !rule.recorded;
		end_epoch(bed);
		rule_end_epoch(&rule);
		assert_int_equal(bed->packets[0], rule.counted);
	}
	end_epoch(bed);
	assert_int_equal(bed->packets[0], rule.counted);
	if (!apart)
		assert_int_equal(bed->packets[0], all);
	for (uint32_t i = 0; i < 2; i++) {
		bed->time += TIMEOUT + SECOND;
		pass_late(bed, 0, 3, 10 * all, 0, 0, (uint32_t)((bed->time - START) / SECOND));
		end_epoch(bed);
		assert_int_equal(bed->packets[0], all + 10 * (i + 1) * all);
		assert_int_equal(bed->bytes[0], bed->packets[0] * 100);
	}
	bed_destroy(bed);
}

/* Sets order[ARRIVALS] to a permutation, number < 5! */
static void permute(uint32_t *order, uint32_t number)
{
	for (uint32_t i = 0; i < ARRIVALS; i++)
		order[i] = i;
	for (uint32_t i = ARRIVALS; i > 1; number /= i--) {
		uint32_t k = number % i, other = order[i - 1];

		order[i - 1] = order[k];
		order[k] = other;
	}
}

/* Each order of arrival, each division into epochs, with samples of too few or too many packets. */
static void test_window_in_any_order(void **state)
{
	static const struct {
		uint32_t sampling;
		uint64_t samples, all;
	} cases[] = {{10, 4, 100}, {10, 30, 100}, {1, 50, 100}};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
		for (uint32_t number = 0; number < 120; number++) {
			uint32_t order[ARRIVALS];

			permute(order, number);
			for (uint32_t ends = 0; ends < 1 << ARRIVALS; ends++)
				check_order(order, ends, cases[c].sampling, cases[c].samples,
					cases[c].all);
		}
}

/*
 * A record arrives more than a timeout after the samples of its packets. Samples that wait for it
 * may be new. An exporter without a record for two timeouts is silent: samples count again.
 */
static void test_window_of_slow_records(void **state)
{
	struct bed *bed = bed_create(DEDUP_WINDOW, 100, false);

	(void)state;
	give_samples(bed, 1, 10, 7);
	end_epoch(bed);
	assert_int_equal(bed->packets[0], 70);
	bed->time += TIMEOUT + 5 * SECOND;
	pass_late(bed, 0, 3, 100, 0, 0, 65);
	end_epoch(bed);
	assert_int_equal(bed->packets[0], 100);
	for (uint32_t i = 0; i < 4; i++) {
		bed->time += TIMEOUT / 2 - SECOND;
		bed->counts = (struct dedup_counts){0};
		give_samples(bed, 1, 10, 7);
		end_epoch(bed);
		assert_int_equal(bed->packets[0], 100);
		assert_int_equal(bed->counts.new_packets, 70);
		assert_true(bed->counts.new_bytes >= 7000);
		assert_true(bed->counts.sampling >= 10 && bed->counts.sampling <= 10);
	}
	bed->time += 5 * SECOND;
	give_samples(bed, 1, 10, 7);
	end_epoch(bed);
	assert_int_equal(bed->packets[0], 170);
	bed_destroy(bed);
}

/* With a full table of deferred flows, samples count at once, and records still cover them. */
static void test_window_without_room(void **state)
{
	struct bed *bed = bed_create(DEDUP_WINDOW, 1000, false);
	uint64_t sum = 0;

	(void)state;
	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t flow = 0; flow < 800; flow += 2) {
			struct observation o = report(flow, 1 + 2 * pass, 100, 10000);

			o.sampling = pass == 0 ? 10 : 1;
			o.packets = pass == 0 ? 5 : 100;
			give(bed, flow, o);
			flush(bed);
		}
	}
	end_epoch(bed);
	for (uint32_t flow = 0; flow < FLOWS; flow++)
		sum += bed->packets[flow];
	assert_int_equal(sum, 400 * 100);
	assert_int_equal(bed->counts.measured, 400 * 100);
	bed_destroy(bed);
}

/*
 * Records that enter at an edge count; without edges the lowest slot counts; a full table falls
 * back to edges.
 */
static void test_edge_and_full_table(void **state)
{
	struct bed *bed = bed_create(DEDUP_EDGE, 100, false);
	struct observation o = report(0, 3, 10, 1000);

	(void)state;
	give(bed, 0, report(0, 3, 10, 1000));
	give(bed, 0, report(0, 5, 10, 1000));
	give(bed, 0, report(0, 3, 10, 1000));
	flush(bed);
	assert_int_equal(bed->packets[0], 20);
	o.flags = OBSERVATION_EDGES | OBSERVATION_ENTERS;
	give(bed, 2, o);
	o.flags = OBSERVATION_EDGES;
	give(bed, 2, o);
	give(bed, 2, report(2, 1, 10, 1000));
	flush(bed);
	assert_int_equal(bed->packets[2], 10);
	bed_destroy(bed);

	bed = bed_create(DEDUP_BEST, 4, false);
	for (uint32_t flow = 0; flow < FLOWS; flow += 2) {
		o = report(flow, 3, 10, 1000);
		o.flags = OBSERVATION_EDGES | OBSERVATION_ENTERS;
		give(bed, flow, o);
		o.exporter = 4;
		o.flags = OBSERVATION_EDGES;
		give(bed, flow, o);
	}
	flush(bed);
	for (uint32_t flow = 0; flow < FLOWS; flow += 2)
		assert_int_equal(bed->packets[flow], 10);
	assert_int_equal(bed->records[3].edge_only, FLOWS / 2 - 4);
	assert_int_equal(bed->records[4].edge_only, FLOWS / 2 - 4);
	assert_int_equal(bed->records[4].duplicate, FLOWS / 2);
	/* After their timeout there is room again. */
	bed->time += TIMEOUT + SECOND;
	dedup_end_epoch(bed->dedup, bed->time, NULL, NULL);
	give(bed, 1, report(1, 9, 3, 300));
	flush(bed);
	assert_int_equal(bed->packets[1], 3);
	assert_int_equal(bed->records[9].edge_only, 0);
	bed_destroy(bed);
}

/* Without room there is no previous total, so the new packets are unknown and reported as such. */
static void test_totals_without_room(void **state)
{
	struct observation o;

	(void)state;
	for (uint32_t method = 0; method < DEDUP_METHOD_COUNT; method++) {
		struct bed *bed = bed_create(method, 4, false);

		for (uint32_t flow = 0; flow < 8; flow += 2) {
			o = report(flow, 3, 10, 1000);
			if (flow == 0 || method >= DEDUP_EDGE)
				o.flags = OBSERVATION_TOTALS;
			give(bed, flow, o);
		}
		flush(bed);
		assert_false(bed->counts.unknown);
		o = report(8, 3, 10, 1000);
		o.flags = OBSERVATION_TOTALS;
		give(bed, 8, o);
		flush(bed);
		assert_int_equal(bed->packets[8], 0);
		assert_int_equal(bed->records[3].edge_only, 1);
		assert_true(bed->counts.unknown);
		bed_destroy(bed);
	}
}

/* Edges are known before their first record. */
static void test_edges_are_known(void **state)
{
	struct bed *bed = bed_create_for(
		(struct dedup_params){.method = DEDUP_EDGE, .flows = 100, .edges = true});
	struct observation o = report(0, 3, 10, 1000);

	(void)state;
	give(bed, 0, o);
	o.exporter = 4;
	o.flags = OBSERVATION_EDGES | OBSERVATION_ENTERS;
	give(bed, 0, o);
	flush(bed);
	assert_int_equal(bed->packets[0], 10);
	assert_int_equal(bed->records[3].duplicate, 1);
	bed_destroy(bed);
}

/* More flows than entries, one after another: entries of ended flows are reused. */
static void test_entries_come_back(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 64, false);

	(void)state;
	for (uint32_t i = 0; i < 5000; i++) {
		struct observation o = report(0, i % 3, 2, 200);

		o.key4.dst_ip[2] = (uint8_t)(i / 3 >> 8);
		o.key4.dst_ip[3] = (uint8_t)(i / 3);
		give(bed, 0, o);
		bed->time += 2 * SECOND;
	}
	flush(bed);
	for (uint32_t k = 0; k < 3; k++)
		assert_int_equal(bed->records[k].edge_only, 0);
	assert_int_equal(bed->packets[0], 2 * 1667);
	bed_destroy(bed);
}

/* A record after the end of the epoch does not count again; one after the timeout is a new flow. */
static void test_epochs_and_timeout(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);

	(void)state;
	give(bed, 0, report(0, 1, 10, 1000));
	flush(bed);
	bed->time += TIMEOUT - SECOND;
	dedup_end_epoch(bed->dedup, bed->time, NULL, NULL);
	give(bed, 0, report(0, 2, 10, 1000));
	flush(bed);
	assert_int_equal(bed->packets[0], 10);
	bed->time += TIMEOUT + SECOND;
	give(bed, 0, report(0, 2, 4, 400));
	flush(bed);
	assert_int_equal(bed->packets[0], 14);
	/*
	 * The new exporter of the slot is another observation point: the larger of the two counts.
	 */
	dedup_forget_exporter(bed->dedup, 2);
	give(bed, 0, report(0, 2, 3, 300));
	give(bed, 0, report(0, 2, 3, 300));
	flush(bed);
	assert_int_equal(bed->packets[0], 16);
	bed_destroy(bed);
}

/* More observation points than an entry has room for, and more than a flow may have. */
static void test_many_observers(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, true);

	(void)state;
	for (uint32_t i = 0; i < 3 * EXPORTERS; i++) {
		struct observation o = report(0, i / 3, 10 + i, 1000 + 100 * i);

		o.side = (uint8_t)(i % 3);
		o.input = i;
		give(bed, 0, o);
	}
	flush(bed);
	/* 32 observation points are distinguished. Only one of the others is at an edge. */
	assert_true(bed->packets[0] >= 10 + 31);
	assert_int_equal(bed->records[EXPORTERS - 1].edge_only, 3);
	assert_int_equal(bed->records[9].edge_only, 0);
	bed_destroy(bed);
}

static uint64_t binomial(struct random *random, uint64_t packets, uint32_t interval)
{
	uint64_t taken = 0;

	for (uint64_t i = 0; i < packets; i++)
		taken += random_below(random, interval) == 0;
	return taken;
}

/*
 * Samples are duplicates while another exporter reports their flow unsampled. Once it is silent, they
 * may be new.
 */
static void test_unsampled_exporter_dies(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);

	(void)state;
	for (uint32_t t = 0; t < 60; t += 10) {
		uint64_t new_packets = bed->counts.new_packets;
		struct observation o = report(0, 1, 9, 900);

		if (t < 40)
			pass(bed, 0, 100, t, t + 9);
		bed->time = START + (t + 9) * SECOND;
		o.sampling = 10;
		give(bed, 0, o);
		settle(bed);
		new_packets = bed->counts.new_packets - new_packets;
		if (t < 40)
			assert_int_equal(new_packets, 0);
		else
			assert_in_range(new_packets, 90, 270);
	}
	assert_int_equal(bed->packets[0], 400);
	bed_destroy(bed);
}

/*
 * A flow moves from an unsampled exporter, which lives on, to a sampled one. Until samples count
 * again, all of them since its last record are in doubt.
 */
static void test_moves_to_samples(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);
	uint64_t truth = 0, settled;

	(void)state;
	for (uint32_t t = 0; t < 90; t++) {
		struct observation o = report(0, 1, 10, 1000);

		settled = bed->packets[0] + bed->counts.new_packets;
		pass_flow(bed, 2, 0, 100, t, t + 1);
		if (t < 30 && t % 3 == 2)
			pass(bed, 0, 300, t - 2, t + 1);
		o.sampling = 10;
		give(bed, 0, o);
		truth += 100;
		if (t % 10 != 9)
			continue;
		end_epoch(bed);
		settled = bed->packets[0] + bed->counts.new_packets - settled;
		if (t >= 40)
			assert_true(bed->packets[0] + bed->counts.new_packets >= truth);
		if (t >= 60)
			assert_int_equal(settled, 1000);
	}
	assert_int_equal(bed->counts.duplicate_packets, 0);
	bed_destroy(bed);
}

/* Packets of random sizes on random paths: all records of an exporter that counts have their bytes. */
static void test_bytes_of_whole_records(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 300; seed++) {
		struct bed *bed = bed_create(DEDUP_BEST, 100, false);
		struct random random;
		uint32_t since[3] = {0};

		random_init(&random, seed);
		for (uint32_t t = 1; t < 200; t += 1 + (uint32_t)random_below(&random, 9)) {
			uint32_t k = (uint32_t)random_below(&random, 3);
			uint64_t packets = 1 + random_below(&random, 100);
			uint64_t bytes = packets * (60 + random_below(&random, 1440));
			struct observation o = report(0, k, packets, bytes);

			bed->time = START + t * SECOND;
			o.flags = OBSERVATION_FIRST | OBSERVATION_LAST;
			o.first = (t - since[k]) * 1000;
			o.last = (uint32_t)random_below(&random, o.first);
			since[k] = t;
			give(bed, 0, o);
			flush(bed);
		}
		bed_destroy(bed);
	}
}

/* Permanent flows: active timeouts end records at any packet, and counts need not meet. */
static void test_counts_of_long_flows(void **state)
{
	const uint32_t timeouts[] = {10, 7};
	struct bed *bed = bed_create(DEDUP_BEST, 1000, false);

	(void)state;
	for (uint32_t t = 1; t < 400; t++)
		for (uint32_t i = 0; i < 2 * (FLOWS - 2); i++) {
			uint32_t flow = 2 + i / 2, k = i % 2;
			struct observation o =
				report(flow, k, 100 * timeouts[k], 10000 * timeouts[k]);

			if (t % timeouts[k] != 0)
				continue;
			bed->time = START + t * SECOND;
			o.flags = OBSERVATION_FIRST | OBSERVATION_LAST | OBSERVATION_CUT_TIMES;
			o.first = timeouts[k] * 1000;
			give(bed, flow, o);
		}
	settle(bed);
	assert_int_equal(bed->packets[2], 39900);
	assert_int_equal(bed->counts.new_packets + bed->counts.duplicate_packets, 0);
	bed_destroy(bed);
}

/*
 * Times are in whole seconds, and each of two exporters sees half of a flow: no record contradicts
 * another. The counts of ended flows differ, so duplicates are in doubt. With equal counts, they are
 * not.
 */
static void test_counts_must_meet(void **state)
{
	for (uint32_t sprayed = 0; sprayed < 2; sprayed++) {
		struct bed *bed = bed_create(DEDUP_BEST, 1000, false);
		struct random random;
		uint64_t truth = 0;

		(void)state;
		random_init(&random, 7);
		for (uint32_t flow = 0; flow < FLOWS; flow++) {
			uint64_t packets = 1000 + random_below(&random, 100);

			for (uint32_t k = 0; k < 2; k++) {
				struct observation o;

				if (sprayed)
					packets = 400 + random_below(&random, 200);
				o = report(flow, k, packets, packets * 100);
				bed->time = START + 10 * SECOND + k;
				o.flags = OBSERVATION_FIRST | OBSERVATION_LAST |
					  OBSERVATION_CUT_TIMES;
				o.first = 10000;
				o.last = 5000;
				give(bed, flow, o);
				truth += sprayed || k == 0 ? packets : 0;
			}
		}
		settle(bed);
		assert_true(bed->counts.measured + bed->counts.new_packets >= truth);
		if (!sprayed)
			assert_int_equal(
				bed->counts.new_packets + bed->counts.duplicate_packets, 0);
		bed_destroy(bed);
	}
}

/* An observation point that does not sample has the exact count, before and after samples. */
static void test_sampled_and_not(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);
	struct observation o = report(0, 1, 1, 500);

	(void)state;
	o.sampling = 100;
	give(bed, 0, o);
	flush(bed);
	assert_int_equal(bed->packets[0], 0);
	assert_int_equal(settle(bed), 1);
	assert_int_equal(bed->packets[0], 100);
	give(bed, 0, report(0, 2, 90, 45000));
	flush(bed);
	assert_int_equal(bed->packets[0], 100);
	give(bed, 0, report(0, 2, 60, 30000));
	give(bed, 0, o);
	flush(bed);
	assert_int_equal(bed->packets[0], 150);
	assert_int_equal(bed->bytes[0], 75000);
	/* The exact one times out: samples count again. */
	bed->time += TIMEOUT - SECOND;
	give(bed, 0, o);
	flush(bed);
	assert_int_equal(bed->packets[0], 150);
	bed->time += 2 * SECOND;
	give(bed, 0, o);
	end_epoch(bed);
	assert_int_equal(bed->packets[0], 250);
	bed_destroy(bed);
}

/* Creates a sample of a flow with its own prefixes; all count as flow 0. */
static struct observation sample(uint32_t flow, uint32_t exporter, uint32_t interval)
{
	struct observation o = report(0, exporter, 1, 500);

	o.key4.dst_ip[0] = (uint8_t)(flow >> 16);
	o.key4.dst_ip[1] = (uint8_t)(flow >> 8);
	o.key4.dst_ip[2] = (uint8_t)flow;
	o.sampling = interval;
	return o;
}

/* There is room for 500 deferred flows: others count at once. Deferred flows do not time out. */
static void test_held_flows(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 8000, false);

	(void)state;
	for (uint32_t flow = 0; flow < 600; flow++) {
		for (uint32_t i = 0; i < 5; i++)
			give(bed, 0, sample(flow, 3, 10));
	}
	flush(bed);
	assert_int_equal(bed->packets[0], 100 * 50);
	bed->time += TIMEOUT / 2;
	assert_int_equal(settle(bed), 500);
	assert_int_equal(bed->packets[0], 600 * 50);
	assert_int_equal(settle(bed), 0);
	assert_int_equal(bed->counts.received, 600 * 50);
	assert_int_equal(bed->records[3].counted, 3000);
	assert_int_equal(bed->counts.duplicate_packets, 0);
	dedup_end_epoch(bed->dedup, bed->time, NULL, NULL);
	bed_destroy(bed);
}

/* An exact record ends the use of samples. */
static void test_held_and_exact(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);
	struct observation o = report(0, 1, 3, 1500);

	(void)state;
	o.sampling = 100;
	give(bed, 0, o);
	give(bed, 0, report(0, 2, 90, 45000));
	give(bed, 0, o);
	flush(bed);
	assert_int_equal(bed->packets[0], 90);
	assert_int_equal(settle(bed), 0);
	assert_int_equal(bed->packets[0], 90);
	assert_int_equal(bed->bytes[0], 45000);
	bed_destroy(bed);
}

static struct observation on_the_way(uint32_t flow, uint32_t k)
{
	struct observation o = report(flow, k, 10, 1000);

	o.next = k < 12 ? k + 1 : EXPORTER_NONE;
	return o;
}

static void assert_routers(const struct key_extra *extra, uint32_t ingress, uint32_t egress)
{
	assert_int_equal(extra->ingress[0] << 8 | extra->ingress[1], ingress);
	assert_int_equal(extra->egress[0] << 8 | extra->egress[1], egress);
}

/* Flow 1 passes 10, 11 and 12; known once all of them reported, and then immediately. */
static void test_routers(void **state)
{
	(void)state;
	for (uint32_t first = 10; first <= 12; first++) {
		struct bed *bed = bed_create_for(
			(struct dedup_params){.method = DEDUP_BEST, .flows = 100, .routes = true});

		for (uint32_t k = 0; k < 3; k++)
			give(bed, 1, on_the_way(1, 10 + (first + k) % 3));
		flush(bed);
		assert_int_equal(bed->packets[1], 0);
		assert_int_equal(settle(bed), 1);
		assert_int_equal(bed->packets[1], 10);
		assert_int_equal(bed->counts.received, 30);
		assert_int_equal(bed->counts.measured, 10);
		assert_routers(&bed->extra[1], 10, 12);
		end_epoch(bed);
		give(bed, 3, on_the_way(3, first));
		flush(bed);
		assert_int_equal(bed->packets[3], 10);
		assert_routers(&bed->burst.extra[0], 10, 12);
		assert_int_equal(settle(bed), 0);
		bed_destroy(bed);
	}
}

struct told {
	uint32_t rows;
	struct path_row last;
};

static void tell(void *arg, const struct path_row *row)
{
	struct told *told = arg;

	told->rows++;
	told->last = *row;
}

static void test_paths(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, true);
	struct told told = {0};

	(void)state;
	for (uint32_t k = 3; k-- > 0;) {
		struct observation o = report(1, k, 10, 1000);

		o.input = k + 1;
		o.output = k + 10;
		o.next = k < 2 ? k + 1 : EXPORTER_NONE;
		give(bed, 1, o);
	}
	flush(bed);
	dedup_end_epoch(bed->dedup, bed->time, tell, &told);
	assert_int_equal(told.rows, 1);
	assert_int_equal(told.last.key.family, KEY_IPV6);
	assert_int_equal(told.last.key.v6.src_ip[15], 1);
	assert_int_equal(told.last.nb_hops, 3);
	assert_true(told.last.ordered);
	assert_false(told.last.changed);
	assert_int_equal(told.last.observers, 3);
	assert_int_equal(told.last.packets, 10);
	assert_int_equal(told.last.bytes, 1000);
	for (uint32_t k = 0; k < 3; k++) {
		assert_int_equal(told.last.hops[k].exporter, k);
		assert_int_equal(told.last.hops[k].input, k + 1);
		assert_int_equal(told.last.hops[k].output, k + 10);
	}
	/*
	 * Without records: no row. Another interface: changed, with the packets of this epoch only.
	 */
	dedup_end_epoch(bed->dedup, bed->time, tell, &told);
	assert_int_equal(told.rows, 1);
	bed->time += SECOND;
	struct observation o = report(1, 1, 4, 400);
	o.input = 77;
	o.next = 2;
	give(bed, 1, o);
	flush(bed);
	dedup_end_epoch(bed->dedup, bed->time, tell, &told);
	assert_int_equal(told.rows, 2);
	assert_true(told.last.changed);
	assert_int_equal(told.last.observers, 1);
	assert_int_equal(told.last.nb_hops, 3);
	assert_int_equal(told.last.hops[1].input, 77);
	assert_int_equal(told.last.packets, 4);
	bed_destroy(bed);
}

/*
 * Sampled packets of 64 and of 1500 bytes in one record: its mean is near 64, and steps of that
 * size would be too narrow. Bounds of 1 % on either side.
 */
static void check_mixed_sizes(bool held)
{
	const uint64_t small = 98000, large = 2000, truth = small * 64 + large * 1500;
	uint32_t missed = 0;
	struct random random;

	random_init(&random, 5);
	for (uint32_t seed = 0; seed < 300; seed++) {
		struct bed *bed = bed_create(held ? DEDUP_BEST : DEDUP_NONE, 100, false);
		uint64_t n_small = binomial(&random, small, 100);
		uint64_t n_large = binomial(&random, large, 100);
		struct observation o =
			report(0, 1, n_small + n_large, n_small * 64 + n_large * 1500);
		struct estimate_bounds bounds;

		o.sampling = 100;
		give(bed, 0, o);
		assert_int_equal(settle(bed), held);
		assert_int_equal(bed->counts.largest_frame, 1514);
		assert_true(bed->counts.smallest_frame < 150);
		bounds = estimate_bound(
			bed->bytes[0], bed->counts.sampling, bed->counts.largest_frame, log(100));
		missed += truth < bounds.low || truth > bounds.high;
		bed_destroy(bed);
	}
	assert_true(missed <= 6);
}

static void test_mixed_sizes(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, false);
	struct observation o = report(0, 1, 1, 64);

	(void)state;
	check_mixed_sizes(true);
	check_mixed_sizes(false);
	/* A record of one packet reports its size; sizes of unsampled packets do not matter. */
	o.sampling = 100;
	give(bed, 0, o);
	give(bed, 1, report(1, 1, 10, 800));
	settle(bed);
	assert_int_equal(bed->counts.largest_frame, 80);
	o = report(3, 1, 10, 90000);
	o.sampling = 100;
	give(bed, 3, o);
	settle(bed);
	assert_int_equal(bed->counts.largest_frame, 9000);
	bed_destroy(bed);
}

/* A slot's new exporter does not inherit the routes of the old one. */
static void test_routers_of_before(void **state)
{
	struct bed *bed = bed_create_for(
		(struct dedup_params){.method = DEDUP_BEST, .flows = 100, .routes = true});
	struct observation o = on_the_way(1, 10);

	(void)state;
	for (uint32_t k = 10; k <= 12; k++)
		give(bed, 1, on_the_way(1, k));
	settle(bed);
	assert_routers(&bed->extra[1], 10, 12);
	end_epoch(bed);
	dedup_forget_exporter(bed->dedup, 12);
	o.packets = 15;
	give(bed, 3, on_the_way(3, 11));
	settle(bed);
	assert_routers(&bed->extra[3], 11, 11);
	give(bed, 1, o);
	give(bed, 1, o);
	settle(bed);
	assert_int_equal(bed->packets[1], 40);
	assert_routers(&bed->extra[1], 10, 11);
	/* No exporter that saw the flow remains. */
	end_epoch(bed);
	give(bed, 5, on_the_way(5, 10));
	flush(bed);
	assert_routers(&bed->burst.extra[0], 10, 11);
	o = on_the_way(7, 13);
	o.key6.dst_ip[0] = 1;
	give(bed, 7, o);
	flush(bed);
	dedup_forget_exporter(bed->dedup, 13);
	settle(bed);
	assert_int_equal(bed->packets[7], 10);
	assert_routers(&bed->extra[7], ROUTER_UNKNOWN, ROUTER_UNKNOWN);
	bed_destroy(bed);
}

/* The new exporter in the slot of the old one is the ingress of the flow. */
static void test_paths_of_before(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, true);
	struct told told = {0};
	const uint32_t way[] = {12, 10, 11};
	struct observation o;

	(void)state;
	for (uint32_t k = 10; k <= 12; k++)
		give(bed, 1, on_the_way(1, k));
	flush(bed);
	dedup_forget_exporter(bed->dedup, 12);
	dedup_end_epoch(bed->dedup, bed->time, tell, &told);
	assert_int_equal(told.last.nb_hops, 2);
	assert_int_equal(told.last.hops[1].exporter, 11);
	o = on_the_way(1, 12);
	o.next = 10;
	give(bed, 1, o);
	flush(bed);
	dedup_end_epoch(bed->dedup, bed->time, tell, &told);
	assert_int_equal(told.last.nb_hops, 3);
	assert_true(told.last.ordered);
	for (uint32_t h = 0; h < 3; h++)
		assert_int_equal(told.last.hops[h].exporter, way[h]);
	/* A next hop that is no longer an exporter is forgotten. */
	o = on_the_way(1, 10);
	o.next = EXPORTER_NONE;
	give(bed, 1, o);
	flush(bed);
	dedup_end_epoch(bed->dedup, bed->time, tell, &told);
	assert_false(told.last.ordered && told.last.hops[2].exporter == 11 &&
		     told.last.hops[1].exporter == 10);
	bed_destroy(bed);
}

/*
 * An exporter whose flows keep moving from one pair of interfaces to another: unused pairs are
 * freed.
 */
static void test_pairs_come_back(void **state)
{
	struct bed *bed = bed_create(DEDUP_BEST, 100, true);
	struct told told = {0};

	(void)state;
	for (uint32_t epoch = 0; epoch < 10; epoch++) {
		for (uint32_t pair = 1; pair <= 2000; pair++) {
			struct observation o = report(0, 3, 1, 100);

			o.input = pair;
			o.output = 1000 + epoch;
			give(bed, 0, o);
		}
		flush(bed);
		dedup_end_epoch(bed->dedup, bed->time, ignore_path, NULL);
		struct observation o = report(0, 3, 1, 100);
		o.input = 77;
		o.output = epoch;
		give(bed, 0, o);
		flush(bed);
		dedup_end_epoch(bed->dedup, bed->time, tell, &told);
		assert_int_equal(told.last.hops[0].input, 77);
		assert_int_equal(told.last.hops[0].output, epoch);
	}
	bed_destroy(bed);
}

/*
 * Records of absurd size, again and again: no counter wraps, and no record adds more than it holds.
 */
static void test_absurd_sizes(void **state)
{
	(void)state;
	for (uint32_t method = 0; method < DEDUP_METHOD_COUNT; method++) {
		struct bed *bed = bed_create(method, 100, true);
		struct random random;

		random_init(&random, method);
		for (uint32_t i = 0; i < 2000; i++) {
			struct observation o = report(0, i % 3, UINT64_C(1) << 38, UINT64_MAX);

			o.flags = random_below(&random, 2) ? OBSERVATION_TOTALS : 0;
			o.sampling = random_below(&random, 2) ? 1 : 2;
			o.packets -= random_below(&random, 1 << 20);
			give(bed, 0, o);
		}
		flush(bed);
		bed_destroy(bed);
	}
}

static void test_memory(void **state)
{
	struct dedup_params params = {.flows = 1000000, .exporters = 1000, .paths = true};

	(void)state;
	assert_true(dedup_memory(&params) <= 256 << 20);
	for (uint32_t method = 0; method < DEDUP_METHOD_COUNT; method++) {
		assert_non_null(dedup_word(method));
		assert_non_null(dedup_suits(method));
	}
	assert_null(dedup_word(DEDUP_METHOD_COUNT));
	assert_string_equal(dedup_word(DEDUP_BEST), "best");
	assert_string_equal(dedup_word(DEDUP_WINDOW), "window");
	assert_string_equal(dedup_word(DEDUP_NONE), "none");
}

/*
 * The only exporter of a flow reports without a pause after its last gap. So the gap does not lie
 * before its last record, and late records of another exporter are duplicates.
 */
static void test_gap_of_one_observer(void **state)
{
	(void)state;
	for (uint32_t paths = 0; paths < 2; paths++) {
		struct bed *bed = bed_create(DEDUP_BEST, 1000, paths);

		for (uint32_t flow = 2; flow < FLOWS; flow++)
			for (uint32_t k = 0; k < 2; k++)
				pass_flow(bed, flow, k, 100, 0, 9);
		pass_flow(bed, 0, 0, 100, 0, 10);
		pass_flow(bed, 0, 0, 100, 20, 25);
		pass_flow(bed, 0, 0, 100, 25, 40);
		pass_late(bed, 0, 1, 100, 0, 10, 41);
		pass_late(bed, 0, 1, 40, 20, 22, 41);
		pass_late(bed, 0, 1, 160, 22, 40, 41);
		settle(bed);
		assert_int_equal(bed->packets[0], 300);
		assert_int_equal(bed->counts.duplicate_packets, 0);
		bed_destroy(bed);
	}
}

/* Times in ms after START. */
struct timed_record {
	uint32_t exporter;
	uint64_t packets, bytes;
	uint32_t first, last, at; /* first and last 0: without times */
};

static void take_timed(struct bed *bed, const struct timed_record *records, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct timed_record *r = &records[i];
		struct observation o = report(0, r->exporter, r->packets, r->bytes);

		bed->time = START + r->at * (SECOND / 1000);
		if (r->last > 0) {
			o.flags = OBSERVATION_FIRST | OBSERVATION_LAST;
			o.first = r->at - r->first;
			o.last = r->at - r->last;
		}
		give(bed, 0, o);
		flush(bed);
	}
	settle(bed);
}

/* The code for common records counts as that for all records does. */
static void test_common_as_general(void **state)
{
	/* A record without times after a gap; then another exporter's late ones. */
	static const struct timed_record gap[] = {
		{0, 164, 16400, 0, 8000, 8000},
		{0, 78, 7800, 18000, 20000, 20000},
		{0, 243, 24300, 0, 0, 27500},
		{0, 77, 7700, 0, 0, 35200},
		{1, 77, 7700, 27000, 35000, 36500},
		{1, 243, 24300, 20000, 27000, 39100},
	};
	/* The bytes of a part of a late record are unknown. */
	static const struct timed_record late[] = {
		{0, 80, 8000, 0, 3000, 3000},
		{2, 80, 8000, 0, 3000, 3000},
		{0, 20, 2000, 3000, 5000, 5000},
		{1, 50, 50000, 10000, 15000, 15000},
		{2, 50, 60000, 3000, 9000, 15500},
		{2, 50, 50000, 10000, 15000, 15500},
		{2, 50, 5000, 15000, 18000, 18000},
	};
	static const struct {
		const struct timed_record *records;
		uint32_t n;
	} cases[] = {{gap, sizeof(gap) / sizeof(gap[0])}, {late, sizeof(late) / sizeof(late[0])}};

	(void)state;
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bed *common = bed_create(DEDUP_BEST, 1000, false);
		struct bed *general = bed_create(DEDUP_BEST, 1000, true);

		common->cut = general->cut = 1;
		take_timed(common, cases[i].records, cases[i].n);
		take_timed(general, cases[i].records, cases[i].n);
		assert_int_equal(common->packets[0], general->packets[0]);
		assert_int_equal(common->bytes[0], general->bytes[0]);
		bed_destroy(common);
		bed_destroy(general);
	}
}

/* A sample, or an unsampled record, of any observer at one of two interfaces. */
static struct observation random_sample(struct random *random, uint32_t flow, uint32_t unsampled)
{
	uint32_t k = (uint32_t)random_below(random, OBSERVERS);
	uint64_t packets = 1 + random_below(random, 3) % 2;
	struct observation o =
		report(flow, k, packets, packets * (100 + random_below(random, 900)));

	o.sampling = k < unsampled ? 1 : 10 << k % 2;
	o.input = 1 + (random_below(random, 100) == 0);
	o.ttl = (uint8_t)(64 - k);
	if (random_below(random, 8) == 0) {
		o.flags = OBSERVATION_FIRST | OBSERVATION_LAST;
		o.first = 1000;
		o.last = (uint32_t)random_below(random, 1000);
	}
	return o;
}

/* The code for samples of known observers counts as that for all records does. */
static void test_sampled_as_general(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 12; seed++) {
		uint64_t flows = seed % 3 == 0 ? FLOWS / 2 : 1000;
		struct bed *common = bed_create(DEDUP_BEST, flows, false);
		struct bed *general = bed_create(DEDUP_BEST, flows, true);
		struct random random;

		random_init(&random, seed);
		for (uint32_t i = 0; i < 5000; i++) {
			uint32_t flow = (uint32_t)random_below(&random, FLOWS);
			struct observation o = random_sample(&random, flow, seed % 4 == 1);

			give(common, flow, o);
			give(general, flow, o);
			common->time += SECOND / 100;
			general->time = common->time;
			if (i % 200 > 0)
				continue;
			end_epoch(common);
			end_epoch(general);
			assert_memory_equal(
				common->packets, general->packets, sizeof(common->packets));
			assert_memory_equal(common->bytes, general->bytes, sizeof(common->bytes));
			assert_memory_equal(
				&common->counts, &general->counts, sizeof(common->counts));
			assert_memory_equal(
				common->records, general->records, sizeof(common->records));
		}
		bed_destroy(common);
		bed_destroy(general);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_best_is_the_most),
		cmocka_unit_test(test_gap_of_one_observer),
		cmocka_unit_test(test_common_as_general),
		cmocka_unit_test(test_sampled_as_general),
		cmocka_unit_test(test_reroutes),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_sprayed),
		cmocka_unit_test(test_joins_in_the_middle),
		cmocka_unit_test(test_joins_from_the_start),
		cmocka_unit_test(test_late_reports),
		cmocka_unit_test(test_changes_of_path),
		cmocka_unit_test(test_drops_between_exporters),
		cmocka_unit_test(test_flapping),
		cmocka_unit_test(test_position_after_loss),
		cmocka_unit_test(test_bytes_of_parts),
		cmocka_unit_test(test_timeouts),
		cmocka_unit_test(test_one_heard_whole),
		cmocka_unit_test(test_both_sides_and_totals),
		cmocka_unit_test(test_totals_of_32_bits),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_unknown_counts),
		cmocka_unit_test(test_exporter_and_window),
		cmocka_unit_test(test_window_of_samples),
		cmocka_unit_test(test_window_of_rounded_means),
		cmocka_unit_test(test_window_in_any_order),
		cmocka_unit_test(test_window_of_slow_records),
		cmocka_unit_test(test_window_without_room),
		cmocka_unit_test(test_edge_and_full_table),
		cmocka_unit_test(test_totals_without_room),
		cmocka_unit_test(test_edges_are_known),
		cmocka_unit_test(test_entries_come_back),
		cmocka_unit_test(test_epochs_and_timeout),
		cmocka_unit_test(test_many_observers),
		cmocka_unit_test(test_unsampled_exporter_dies),
		cmocka_unit_test(test_moves_to_samples),
		cmocka_unit_test(test_bytes_of_whole_records),
		cmocka_unit_test(test_counts_must_meet),
		cmocka_unit_test(test_counts_of_long_flows),
		cmocka_unit_test(test_sampled_and_not),
		cmocka_unit_test(test_held_flows),
		cmocka_unit_test(test_held_and_exact),
		cmocka_unit_test(test_routers),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_mixed_sizes),
		cmocka_unit_test(test_routers_of_before),
		cmocka_unit_test(test_paths_of_before),
		cmocka_unit_test(test_pairs_come_back),
		cmocka_unit_test(test_absurd_sizes),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
