/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tune/measure/bench_pass.h"
#include "bench/baselines.h"
#include "bench/bench_rounds.h"
#include "bench/common.h"
#include "tune/measure/setup.h"
#include "tune/tune_choice.h"
#include "tune/measure/workload.h"
#include "rx/packet/parse.h"
#include "rx/generate/synthetic.h"
#include "sketch/measurement.h"

#define EXACT(a, b)                                                                                \
	assert_true((a) == (b)) /* floating-point values that must be equal bit for bit */

static void statistics_are_exact(void **state)
{
	static const double odd[] = {5, 1, 4, 2, 3}, even[] = {8, 1, 4, 2}, one[] = {7};
	struct bench_stats stats = bench_stats_of(odd, 5);

	(void)state;
	EXACT(stats.median, 3);
	EXACT(stats.min, 1);
	EXACT(stats.max, 5);
	EXACT(odd[0], 5); /* the input is unchanged */
	stats = bench_stats_of(even, 4);
	EXACT(stats.median, 3);
	EXACT(stats.min, 1);
	EXACT(stats.max, 8);
	stats = bench_stats_of(one, 1);
	EXACT(stats.median, 7);
	EXACT(stats.min, 7);
	EXACT(stats.max, 7);
}

static void rounds_are_compared_pair_by_pair(void **state)
{
	/* A disturbance of the third round affects both, so no ratio shows it. */
	static const double values[] = {4, 6, 400, 8}, others[] = {2, 2, 200, 0};
	struct bench_stats ratio = bench_stats_ratio(values, others, 3);
	struct bench_stats difference = bench_stats_difference(values, others, 3);

	(void)state;
	EXACT(ratio.median, 2);
	EXACT(ratio.min, 2);
	EXACT(ratio.max, 3);
	EXACT(difference.median, 4);
	EXACT(difference.min, 2);
	EXACT(difference.max, 200);
	EXACT(bench_stats_ratio(values, others, 4).min, 0); /* division by zero */
}

static struct workload *create(uint64_t flows, bool random, uint64_t packets)
{
	struct workload_spec spec = {.flows = flows,
		.zipf_e6 = 1050000,
		.random = random,
		.packets = packets,
		.seed = 7};
	struct workload *workload = workload_create(&spec, 1);

	assert_non_null(workload);
	return workload;
}

/* The workload holds the packets of the generator, counted by comparing each with all others. */
static void workload_holds_the_generators_keys(void **state)
{
	enum { PACKETS = 4096 };
	struct workload *workload = create(300, false, PACKETS);
	char error[SOURCE_ERROR_MAX];
	struct synthetic_spec spec;
	struct source_packet packet;
	struct source *source;
	uint64_t distinct = 0, heaviest = 0;

	(void)state;
	assert_true(synthetic_parse("flows=300,zipf=1.05,packets=4096,seed=7", &spec, error));
	source = generate_open(&spec, error);
	assert_non_null(source);
	for (uint64_t i = 0; i < PACKETS; i++) {
		struct parsed parsed;
		uint64_t count = 0;
		bool first = true;

		assert_int_equal(source->next(source, &packet), 1);
		assert_int_equal(parse_packet(packet.data, packet.captured, packet.link, &parsed),
			PARSE_IPV4);
		assert_memory_equal(&workload->keys[i], &parsed.key4, sizeof(parsed.key4));
		for (uint64_t j = 0; j < PACKETS; j++)
			if (memcmp(&workload->keys[i], &workload->keys[j],
				    sizeof(workload->keys[0])) == 0) {
				first &= j >= i;
				count++;
			}
		assert_int_equal(workload_truth(workload, &workload->keys[i]), count);
		distinct += first;
		heaviest = count > heaviest ? count : heaviest;
	}
	source->close(source);
	assert_int_equal(workload->distinct, distinct);
	assert_in_range(workload->distinct, WORKLOAD_TOP + 1, WORKLOAD_TOP_MOST);
	assert_int_equal(workload->nb_top, workload->distinct); /* fewer than WORKLOAD_TOP */
	assert_int_equal(workload->top[0].packets, heaviest);
	for (uint32_t i = 1; i < workload->nb_top; i++)
		assert_true(workload->top[i - 1].packets >= workload->top[i].packets);
	assert_int_equal(workload_truth(workload, &(struct key4){.proto = 253}), 0);
	workload_destroy(workload);
}

static void few_flows_are_all_top(void **state)
{
	struct workload *workload = create(10, false, 6400);
	uint64_t sum = 0;

	(void)state;
	assert_true(workload->nb_top <= 10);
	for (uint32_t i = 0; i < workload->nb_top; i++)
		sum += workload->top[i].packets;
	assert_int_equal(sum, 6400);
	assert_int_equal(workload->nb_top, workload->distinct);
	workload_destroy(workload);
}

static void random_headers_are_all_new(void **state)
{
	struct workload *workload = create(1, true, 64000);

	(void)state;
	assert_int_equal(workload->distinct, 64000);
	assert_false(bench_accuracy(workload, WORKLOAD_TOP, NULL, 0).known);
	workload_destroy(workload);
}

static void bursts_cover_the_workload_once(void **state)
{
	struct workload *workload = create(300, false, 640);
	struct key_burst burst;

	(void)state;
	assert_int_equal(workload_bursts(workload), 10);
	workload_burst_init(&burst);
	for (uint64_t b = 0; b < 10; b++) {
		workload_load(workload, b, &burst);
		assert_int_equal(burst.n, BURST_MAX);
		assert_memory_equal(burst.key4, workload->keys + b * BURST_MAX, sizeof(burst.key4));
	}
	workload_destroy(workload);
}

static void accuracy_is_exact(void **state)
{
	struct workload *workload = create(5000, false, 64000);
	struct bench_subject_flow flows[WORKLOAD_TOP];
	struct bench_accuracy accuracy;

	(void)state;
	for (uint32_t i = 0; i < WORKLOAD_TOP; i++)
		flows[i] = (struct bench_subject_flow){
			workload->keys[workload->top[i].first - 1], workload->top[i].packets};
	accuracy = bench_accuracy(workload, WORKLOAD_TOP, flows, WORKLOAD_TOP);
	assert_true(accuracy.known);
	EXACT(accuracy.recall, 1);
	EXACT(accuracy.precision, 1);
	EXACT(accuracy.relative_error, 0);
	EXACT(accuracy.top_error, 0);

	/* With a larger top than the list has. */
	assert_true(workload->distinct > WORKLOAD_TOP_MOST);
	accuracy = bench_accuracy(workload, WORKLOAD_TOP_MOST, flows, WORKLOAD_TOP);
	EXACT(accuracy.recall, 0.1);
	EXACT(accuracy.precision, 1);
	EXACT(accuracy.top_error, 0.9);

	accuracy = bench_accuracy(workload, WORKLOAD_TOP, flows, 50);
	EXACT(accuracy.recall, 0.5);
	EXACT(accuracy.precision, 1);
	EXACT(accuracy.top_error, 0.5);

	flows[0].packets *= 3;                                     /* 200 % too many */
	flows[1] = (struct bench_subject_flow){{.proto = 253}, 2}; /* a key that does not occur */
	accuracy = bench_accuracy(workload, WORKLOAD_TOP, flows, 4);
	EXACT(accuracy.recall, 0.03);
	EXACT(accuracy.precision, 0.75);
	EXACT(accuracy.relative_error, (2.0 + 2.0) / 4);
	EXACT(accuracy.top_error, (2.0 + 97) / 100);

	accuracy = bench_accuracy(workload, WORKLOAD_TOP, flows, 0);
	EXACT(accuracy.recall, 0);
	EXACT(accuracy.precision, 0);
	workload_destroy(workload);
}

/* Returns the packets of a list, and then the end. */
struct listed_source {
	struct source source;
	const struct source_packet *packets;
	uint32_t n, next;
};

static int listed_next(struct source *source, struct source_packet *packet)
{
	struct listed_source *listed = (struct listed_source *)source;

	if (listed->next == listed->n)
		return 0;
	*packet = listed->packets[listed->next++];
	return 1;
}

#define IPV4_HEADER(last) 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, last
#define ADDRESS6(last)    0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last
#define PORTS             0, 53, 0, 99, 0, 8, 0, 0

static void workload_takes_packets_of_a_source(void **state)
{
	static const uint8_t one[] = {IPV4_HEADER(2), PORTS}, two[] = {IPV4_HEADER(3), PORTS};
	static const uint8_t six[] = {0x60, 0, 0, 0, 0, 8, 17, 64, ADDRESS6(1), ADDRESS6(2), PORTS};
	static const uint8_t arp[] = {0, 1};
#define PACKET(bytes)                                                                              \
	{                                                                                          \
		.data = bytes, .captured = sizeof(bytes), .link = LINK_RAW                         \
	}
	static const struct source_packet packets[] = {
		PACKET(one), PACKET(six), PACKET(arp), PACKET(two), PACKET(six), PACKET(one)};
	struct listed_source listed = {{.next = listed_next}, packets, 6, 0};
	struct workload_intake intake;
	struct key_burst burst;
	char error[SOURCE_ERROR_MAX];
	struct workload *workload = workload_read(&listed.source, 1000, 1, &intake, error);

	(void)state;
	assert_non_null(workload);
	assert_int_equal(intake.ipv4, 3);
	assert_int_equal(intake.ipv6, 2);
	assert_int_equal(intake.others, 1);
	assert_int_equal(workload->distinct, 3);
	/* One burst that is not full: keys 1 6 2 6 1. */
	assert_int_equal(workload->spec.packets, 5);
	assert_int_equal(workload_truth(workload, &workload->keys[0]), 2);
	assert_int_equal(workload_truth(workload, &workload->keys[1]), 2);
	assert_int_equal(workload_truth(workload, &workload->keys[2]), 1);
	assert_int_equal(workload_bursts(workload), 1);
	workload_burst_init(&burst);
	workload_load(workload, 0, &burst);
	assert_int_equal(burst.n, 5);
	assert_memory_equal(burst.key4, workload->keys, 5 * sizeof(burst.key4[0]));
	assert_int_equal(workload->keys[1].proto, 17);
	assert_int_equal(workload->keys[1].dst_port[1], 99);
	workload_destroy(workload);

	listed = (struct listed_source){{.next = listed_next}, packets + 2, 1, 0};
	assert_null(workload_read(&listed.source, 1000, 1, &intake, error));
	assert_non_null(strstr(error, "none of 1 packets has a key"));
}

static void tune_chooses_by_its_rule(void **state)
{
	struct tune_score scores[] = {
		{.fits = true, .comparable = false, .pps = 90, .threads = 9},
		{.fits = false, .comparable = true, .pps = 80, .threads = 2},
		{.fits = true, .comparable = true, .pps = 40, .threads = 2, .memory = 1},
		{.fits = true, .comparable = true, .pps = 50, .threads = 3, .memory = 9},
		{.fits = true,
			.comparable = true,
			.pps = 49,
			.threads = 3,
			.memory = 8,
			.error = 0.2},
		{.fits = true,
			.comparable = true,
			.pps = 49,
			.threads = 3,
			.memory = 8,
			.error = 0.1},
		{.fits = true,
			.comparable = true,
			.pps = 49,
			.threads = 3,
			.memory = 8,
			.error = 0.1},
		{.fits = true, .comparable = true, .pps = 48, .threads = 2, .memory = 1},
		{.fits = true, .comparable = true},
	};
	const uint32_t n = sizeof(scores) / sizeof(scores[0]);

	(void)state;
	assert_int_equal(tune_choose(scores, n), 5);
	scores[7].pps = 48.6; /* same speed with fewer threads */
	assert_int_equal(tune_choose(scores, n), 7);
	assert_int_equal(tune_choose(scores, 1), 0); /* no other candidate */
	assert_int_equal(tune_choose(scores + 1, 1), 1);
	assert_int_equal(tune_choose(scores + 8, 1), 1);
	assert_int_equal(tune_choose(scores, 0), 0);
}

/* A subject that skips one packet in 64, or none. */
struct faulty {
	_Atomic uint64_t counted;
	uint32_t less;
};

static uint32_t forgets;

static void *faulty_open(const struct bench_subject *subject, const struct bench_rounds *setup)
{
	struct faulty *faulty = calloc(1, sizeof(*faulty));

	(void)subject;
	(void)setup;
	faulty->less = forgets;
	return faulty;
}

static void faulty_feed(void *arg, uint32_t thread, const struct key_burst *burst)
{
	struct faulty *faulty = arg;

	(void)thread;
	faulty->counted += burst->n - faulty->less;
}

static size_t faulty_memory(const void *arg)
{
	(void)arg;
	return sizeof(struct faulty);
}

static bool faulty_total(const void *arg, uint64_t *total)
{
	const struct faulty *faulty = arg;

	*total = faulty->counted;
	return true;
}

static const struct bench_subject_ops faulty_ops = {
	.open = faulty_open,
	.feed = faulty_feed,
	.memory = faulty_memory,
	.total = faulty_total,
	.close = free,
};

static void bench_rounds_reject_a_kernel_that_counts_wrongly(void **state)
{
	static struct bench_rounds_result results[2];
	struct workload *workload = create(300, false, 6400);
	struct bench_rounds setup = {.workload = workload, .width = 1024, .seed = 1};
	const struct bench_subject subjects[] = {
		{.name = "faulty", .ops = &faulty_ops, .threads = 1},
		{.name = "crowd", .ops = &faulty_ops, .threads = 64},
	};
	static struct topology topology;
	char error[BENCH_PASS_ERROR_MAX];
	struct cpus cpus;
	uint32_t rounds;

	(void)state;
	topology_read(&topology, "");
	cpus_init(&cpus, &topology);
	cpus.n = cpus.n > 63 ? 63 : cpus.n;
	forgets = 0;
	assert_true(bench_rounds_run(&setup, &cpus, subjects, 2, 2, results, &rounds, error));
	assert_int_equal(rounds, 2);
	assert_null(results[0].last.missing);
	assert_string_equal(results[1].last.missing, "more threads than CPUs");
	forgets = 1;
	assert_false(bench_rounds_run(&setup, &cpus, subjects, 2, 2, results, &rounds, error));
	assert_non_null(strstr(error, "faulty"));
	assert_non_null(strstr(error, "fed 6400 packets and counted 6300"));
	workload_destroy(workload);
}

/* Subjects without EAL: each counts every packet of a small workload, in every sharing mode. */
static void our_contestants_count_every_packet(void **state)
{
	static struct bench_rounds_result results[64];
	struct bench_subject subjects[64] = {
		{.name = "floor", .ops = &bench_subject_floor, .threads = 1}};
	struct workload *workload = create(3000, false, 12800);
	struct bench_rounds setup = {.workload = workload, .width = 4096, .seed = 1};
	static struct topology topology;
	char error[BENCH_PASS_ERROR_MAX];
	struct cpus cpus;
	uint32_t n = 1, rounds;

	(void)state;
	topology_read(&topology, "");
	cpus_init(&cpus, &topology);
	assert_true(cpus.n > 0);
	for (uint32_t s = 0; sketches[s] != NULL; s++)
		for (uint32_t metric = SKETCH_PACKETS; metric <= SKETCH_BYTES; metric++)
			for (uint32_t shared = 0;
				shared < SHARING_COUNT && sketches[s]->update[shared] != NULL;
				shared++)
				subjects[n++] = (struct bench_subject){
					.name = sketches[s]->name,
					.ops = &bench_subject_sketch,
					.sketch = sketches[s],
					.sharing = (enum sketch_sharing)shared,
					.metric = (enum sketch_metric)metric,
					.threads = cpus.n > 1 ? 2 : 1,
				};
	if (!bench_rounds_run(&setup, &cpus, subjects, n, 2, results, &rounds, error))
		fail_msg("%s", error);
	for (uint32_t c = 1; c < n; c++) {
		assert_null(results[c].last.missing);
		assert_true(results[c].last.accuracy.recall > 0.9);
		assert_true(results[c].last.accuracy.precision > 0.9);
	}
	workload_destroy(workload);
}

/* The plan must use the subject's locked sketch, not the registered sketch of the same name. */
static void a_plan_has_the_contestants_sketch(void **state)
{
	static struct topology topology;
	static struct config from, config;
	static struct plan plan;
	const struct sketch_ops locked = *sketch_find("count-min");
	const struct bench_subject subject = {.sketch = &locked, .sharing = SHARING_SHARED};
	char error[PLAN_TEXT_MAX];

	(void)state;
	topology_read(&topology, "");
	setup_run_config(&config, &from, &subject);
	for (uint64_t width = 1024; width <= 4096; width *= 2) {
		edit_measurement_options(&config.measurements[0])->width = width;
		if (!setup_plan(&plan, &config, &subject, &topology, error))
			fail_msg("%s", error);
		assert_ptr_equal(plan.measurements[0].ops, &locked);
		assert_int_equal(plan.measurements[0].params.width, width);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statistics_are_exact),
		cmocka_unit_test(rounds_are_compared_pair_by_pair),
		cmocka_unit_test(workload_holds_the_generators_keys),
		cmocka_unit_test(few_flows_are_all_top),
		cmocka_unit_test(random_headers_are_all_new),
		cmocka_unit_test(bursts_cover_the_workload_once),
		cmocka_unit_test(accuracy_is_exact),
		cmocka_unit_test(workload_takes_packets_of_a_source),
		cmocka_unit_test(tune_chooses_by_its_rule),
		cmocka_unit_test(bench_rounds_reject_a_kernel_that_counts_wrongly),
		cmocka_unit_test(our_contestants_count_every_packet),
		cmocka_unit_test(a_plan_has_the_contestants_sketch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
