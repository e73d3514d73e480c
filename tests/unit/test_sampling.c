/* SPDX-License-Identifier: BSD-3-Clause */

/* The sampling interval of a record, from each source; the check of sample pools; socket losses. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "collect/exporters/losses.h"
#include "collect/exporters/sampling.h"

#define UNKNOWN SAMPLING_RATIO_UNKNOWN

static void learn(struct sampling *sampling, uint32_t scope, uint64_t id, uint32_t interval)
{
	struct option_record option = {
		.has = OPTION_RECORD_SAMPLING | scope,
		.sampler = id,
		.interface = (uint32_t)id,
		.template_id = (uint16_t)id,
		.part = id,
		.domain = (uint32_t)id,
		.sampling = interval,
	};

	sampling_learn(sampling, 0, &option, 1024);
}

static struct sampling_verdict ask(const struct sampling *sampling,
	const struct flow_record *record, enum flow_protocol protocol, uint32_t configured)
{
	return sampling_of(
		&(struct sampling_knowledge){
			.own = sampling, .configured = configured, .protocol = protocol},
		record);
}

static void expect(const struct sampling *sampling, const struct flow_record *record,
	enum flow_protocol protocol, uint32_t configured, uint32_t interval,
	enum sampling_source wanted)
{
	struct sampling_verdict verdict = ask(sampling, record, protocol, configured);

	assert_int_equal(verdict.interval, interval);
	assert_int_equal(verdict.source, wanted);
}

static void the_order_holds(void **state)
{
	struct sampling sampling = {.seed = 12345};
	struct flow_record record = {
		.has = FLOW_SAMPLER | FLOW_INPUT | FLOW_OUTPUT | FLOW_DIRECTION,
		.sampling = 10,
		.sampler = 7,
		.input = 3,
		.output = 4,
		.template_id = 256};
	struct flow_record silent = {0};

	(void)state;
	expect(&sampling, &silent, FLOW_PROTOCOL_NETFLOW9, 0, 1, SAMPLING_NONE);
	expect(&sampling, &silent, FLOW_PROTOCOL_NETFLOW9, 50, 50, SAMPLING_CONFIGURED);
	learn(&sampling, 0, 0, 20);
	expect(&sampling, &record, FLOW_PROTOCOL_NETFLOW9, 50, 20, SAMPLING_OPTIONS);
	expect(&sampling, &silent, FLOW_PROTOCOL_IPFIX, 50, 20, SAMPLING_OPTIONS);
	learn(&sampling, OPTION_RECORD_PART, 99, 22);
	expect(&sampling, &record, FLOW_PROTOCOL_IPFIX, 50, 22, SAMPLING_OPTIONS);
	learn(&sampling, OPTION_RECORD_TEMPLATE, 256, 25);
	expect(&sampling, &record, FLOW_PROTOCOL_IPFIX, 50, 25, SAMPLING_OPTIONS);
	expect(&sampling, &silent, FLOW_PROTOCOL_IPFIX, 50, 22, SAMPLING_OPTIONS);
	learn(&sampling, OPTION_RECORD_INTERFACE, 3, 30);
	learn(&sampling, OPTION_RECORD_INTERFACE, 4, 40);
	expect(&sampling, &record, FLOW_PROTOCOL_IPFIX, 0, 30, SAMPLING_OPTIONS);
	record.direction = FLOW_EGRESS;
	expect(&sampling, &record, FLOW_PROTOCOL_IPFIX, 0, 40, SAMPLING_OPTIONS);
	learn(&sampling, OPTION_RECORD_SAMPLER, 7, 70);
	expect(&sampling, &record, FLOW_PROTOCOL_IPFIX, 0, 70, SAMPLING_OPTIONS);
	learn(&sampling, OPTION_RECORD_SAMPLER, 7, 71);
	expect(&sampling, &record, FLOW_PROTOCOL_IPFIX, 0, 71, SAMPLING_OPTIONS);
	/* The interval in a record, header or sample takes precedence. */
	record.has |= FLOW_SAMPLING;
	expect(&sampling, &record, FLOW_PROTOCOL_IPFIX, 50, 10, SAMPLING_RECORD);
	expect(&sampling, &record, FLOW_PROTOCOL_NETFLOW5, 50, 10, SAMPLING_HEADER);
	expect(&sampling, &record, FLOW_PROTOCOL_SFLOW, 50, 10, SAMPLING_SAMPLE);
	sampling_forget(&sampling);
	expect(&sampling, &silent, FLOW_PROTOCOL_NETFLOW5, 50, 50, SAMPLING_CONFIGURED);
}

/* Domain 0's options for a part of another domain take precedence. */
static void a_part_of_another_domain_comes_first(void **state)
{
	struct sampling process = {0};
	const struct option_record option = {
		.has = OPTION_RECORD_SAMPLING | OPTION_RECORD_DOMAIN | OPTION_RECORD_PART,
		.domain = 7,
		.part = 5,
		.sampling = 100,
	};
	struct sampling own = {0};
	struct sampling_knowledge knowledge = {
		.own = &own, .process = &process, .domain = 7, .protocol = FLOW_PROTOCOL_IPFIX};
	const struct flow_record record = {.has = FLOW_PACKETS};

	(void)state;
	assert_true(sampling_learn(&process, 0, &option, 1024));
	assert_int_equal(sampling_of(&knowledge, &record).interval, 100);
	sampling_forget(&process);
}

/* Sampled with an unknown ratio: the record counts as it is, and the doubt shows it. */
static void an_unknown_ratio_is_doubted(void **state)
{
	struct sampling sampling = {.seed = 12345};
	struct flow_record silent = {.template_id = 300}, sampled = {.has = FLOW_SAMPLED};
	struct sampling_verdict verdict;

	(void)state;
	for (uint32_t protocol = 0; protocol < FLOW_PROTOCOL_COUNT; protocol++) {
		verdict = ask(&sampling, &sampled, (enum flow_protocol)protocol, 0);
		assert_int_equal(verdict.interval, 1);
		assert_int_equal(verdict.certainty, SAMPLING_RATIO);
		verdict = ask(&sampling, &sampled, (enum flow_protocol)protocol, 64);
		assert_int_equal(verdict.interval, 64);
		assert_int_equal(verdict.certainty, SAMPLING_SURE);
	}
	assert_int_equal(ask(&sampling, &silent, FLOW_PROTOCOL_SFLOW, 0).certainty, SAMPLING_RATIO);
	assert_int_equal(
		ask(&sampling, &silent, FLOW_PROTOCOL_NETFLOW5, 0).certainty, SAMPLING_SURE);
	/* Options with a ratio apply to a record that has only an algorithm. */
	learn(&sampling, 0, 0, 100);
	verdict = ask(&sampling, &sampled, FLOW_PROTOCOL_IPFIX, 0);
	assert_int_equal(verdict.interval, 100);
	assert_int_equal(verdict.certainty, SAMPLING_SURE);
	/* One template only. */
	learn(&sampling, OPTION_RECORD_TEMPLATE, 300, UNKNOWN);
	assert_int_equal(ask(&sampling, &silent, FLOW_PROTOCOL_IPFIX, 0).certainty, SAMPLING_RATIO);
	silent.template_id = 301;
	assert_int_equal(ask(&sampling, &silent, FLOW_PROTOCOL_IPFIX, 0).certainty, SAMPLING_SURE);
	sampling_forget(&sampling);
}

/* Records do not name a line card: equal intervals are used, different ones leave a doubt. */
static void parts_that_differ_are_doubted(void **state)
{
	struct sampling sampling = {.seed = 12345};
	struct flow_record record = {0};
	struct sampling_verdict verdict;

	(void)state;
	learn(&sampling, OPTION_RECORD_PART, 1, 1000);
	learn(&sampling, OPTION_RECORD_PART, 2, 1000);
	verdict = ask(&sampling, &record, FLOW_PROTOCOL_NETFLOW9, 0);
	assert_int_equal(verdict.interval, 1000);
	assert_int_equal(verdict.certainty, SAMPLING_SURE);
	learn(&sampling, OPTION_RECORD_PART, 2, 10);
	verdict = ask(&sampling, &record, FLOW_PROTOCOL_NETFLOW9, 0);
	assert_int_equal(verdict.interval, 10);
	assert_int_equal(verdict.certainty, SAMPLING_PARTS);
	verdict = ask(&sampling, &record, FLOW_PROTOCOL_NETFLOW9, 500);
	assert_int_equal(verdict.interval, 500);
	assert_int_equal(verdict.certainty, SAMPLING_SURE);
	learn(&sampling, OPTION_RECORD_PART, 1, 10);
	verdict = ask(&sampling, &record, FLOW_PROTOCOL_NETFLOW9, 0);
	assert_int_equal(verdict.interval, 10);
	assert_int_equal(verdict.certainty, SAMPLING_SURE);
	learn(&sampling, OPTION_RECORD_PART, 1, UNKNOWN);
	assert_int_equal(
		ask(&sampling, &record, FLOW_PROTOCOL_NETFLOW9, 0).certainty, SAMPLING_PARTS);
	sampling_forget(&sampling);
}

/* Thousands of options need one pass over all parts, before the next records. */
static void parts_are_compared_before_records(void **state)
{
	struct sampling sampling = {.seed = 12345};
	struct flow_record record = {0};
	struct sampling_verdict verdict;

	(void)state;
	for (uint32_t round = 1; round < 100; round++) {
		uint32_t finest = sampling.of_parts;

		for (uint32_t i = 0; i < 300; i++) {
			learn(&sampling, OPTION_RECORD_PART, i, 1000 - round - i);
			assert_int_equal(sampling.of_parts, finest);
		}
		/* The result is also right before the pass. */
		verdict = ask(&sampling, &record, FLOW_PROTOCOL_NETFLOW9, 0);
		assert_int_equal(verdict.interval, 701 - round);
		assert_int_equal(verdict.certainty, SAMPLING_PARTS);
		sampling_settle(&sampling);
		assert_int_equal(sampling.of_parts, 701 - round);
		assert_true(sampling.parts_differ);
	}
	sampling_forget(&sampling);
}

/* Options of domain 0 apply only to the domain that they name. */
static void domain_0_describes_others(void **state)
{
	struct sampling own = {.seed = 12345}, process = {.seed = 54321};
	struct option_record option = {
		.has = OPTION_RECORD_SAMPLING | OPTION_RECORD_DOMAIN, .domain = 7, .sampling = 100};
	struct flow_record record = {.has = FLOW_INPUT, .input = 3, .template_id = 256};
	struct sampling_knowledge seven = {
		.own = &own, .process = &process, .domain = 7, .protocol = FLOW_PROTOCOL_IPFIX};
	struct sampling_knowledge eight = {
		.own = &own, .process = &process, .domain = 8, .protocol = FLOW_PROTOCOL_IPFIX};

	(void)state;
	assert_true(sampling_learn(&process, 0, &option, 1024));
	assert_int_equal(sampling_of(&seven, &record).interval, 100);
	assert_int_equal(sampling_of(&eight, &record).interval, 1);
	option.has |= OPTION_RECORD_INTERFACE;
	option.interface = 3;
	option.sampling = 200;
	assert_true(sampling_learn(&process, 0, &option, 1024));
	assert_int_equal(sampling_of(&seven, &record).interval, 200);
	assert_int_equal(sampling_of(&eight, &record).interval, 1);
	/* A domain describes itself with precedence over domain 0, and describes no other. */
	option = (struct option_record){
		.has = OPTION_RECORD_SAMPLING | OPTION_RECORD_DOMAIN, .domain = 7, .sampling = 5};
	assert_false(sampling_learn(&own, 8, &option, 1024));
	assert_int_equal(sampling_of(&seven, &record).interval, 200);
	assert_true(sampling_learn(&own, 7, &option, 1024));
	assert_int_equal(sampling_of(&seven, &record).interval, 5);
	sampling_forget(&own);
	sampling_forget(&process);
}

/*
 * Learns an option of domain 0 about parts, samplers or flows of a domain. interval 0: flow
 * selection.
 */
static void describe(
	struct sampling *process, uint32_t domain, uint32_t scope, uint64_t id, uint32_t interval)
{
	struct option_record option = {
		.has = OPTION_RECORD_DOMAIN | scope |
		       (interval > 0 ? OPTION_RECORD_SAMPLING : OPTION_RECORD_FLOWS),
		.domain = domain,
		.part = id,
		.sampler = id,
		.sampling = interval,
	};

	assert_true(sampling_learn(process, 0, &option, 1024));
}

/* Parts are compared within their own domain, also after a restart of the collector. */
static void domain_0_describes_parts_of_others(void **state)
{
	struct sampling none = {.seed = 1}, process = {.seed = 54321}, read = {.seed = 6};
	struct flow_record record = {.template_id = 256};
	uint8_t *bytes = malloc(SAMPLING_BYTES_MAX);
	const struct sampling *knowing[] = {&process, &read};

	(void)state;
	assert_non_null(bytes);
	describe(&process, 0, OPTION_RECORD_PART, 1, 100);
	describe(&process, 7, OPTION_RECORD_PART, 1, 1000);
	describe(&process, 8, OPTION_RECORD_PART, UINT64_C(1) << 40, 20);
	describe(&process, 8, OPTION_RECORD_PART, UINT64_C(2) << 40, 30);
	describe(&process, 9, OPTION_RECORD_PART, 1, 5);
	describe(&process, 9, OPTION_RECORD_PART, 2, 6);
	describe(&process, 9, OPTION_RECORD_PART, 1, 6);
	assert_true(sampling_read(&read, bytes, sampling_write(&process, bytes), 1024));
	for (uint32_t i = 0; i < 2; i++) {
		static const struct {
			uint32_t domain, interval;
			enum sampling_certainty certainty;
		} wanted[] = {{7, 1000, SAMPLING_SURE}, {8, 20, SAMPLING_PARTS},
			{9, 6, SAMPLING_SURE}, {10, 1, SAMPLING_SURE}};

		expect(knowing[i], &record, FLOW_PROTOCOL_IPFIX, 0, 100, SAMPLING_OPTIONS);
		assert_int_equal(
			ask(knowing[i], &record, FLOW_PROTOCOL_IPFIX, 0).certainty, SAMPLING_SURE);
		for (uint32_t w = 0; w < 4; w++) {
			struct sampling_verdict verdict = sampling_of(
				&(struct sampling_knowledge){
					.own = &none,
					.process = knowing[i],
					.domain = wanted[w].domain,
					.protocol = FLOW_PROTOCOL_IPFIX,
				},
				&record);

			assert_int_equal(verdict.interval, wanted[w].interval);
			assert_int_equal(verdict.certainty, wanted[w].certainty);
		}
	}
	sampling_forget(&process);
	sampling_forget(&read);
	free(bytes);
}

/* Samplers and selected flows of another domain raise no doubt about domain 0. */
static void domain_0_is_not_what_it_describes(void **state)
{
	struct sampling own = {.seed = 1}, process = {.seed = 54321};
	struct flow_record record = {.template_id = 256};
	struct sampling_knowledge zero = {.own = &process, .protocol = FLOW_PROTOCOL_IPFIX};
	struct sampling_knowledge seven = {
		.own = &own, .process = &process, .domain = 7, .protocol = FLOW_PROTOCOL_IPFIX};
	struct sampling_knowledge eight = {
		.own = &own, .process = &process, .domain = 8, .protocol = FLOW_PROTOCOL_IPFIX};

	(void)state;
	describe(&process, 7, OPTION_RECORD_SAMPLER, 3, 50);
	describe(&process, 8, 0, 0, 0);
	assert_false(sampling_has_samplers(&zero));
	assert_true(sampling_has_samplers(&seven));
	assert_false(sampling_has_samplers(&eight));
	assert_int_equal(sampling_of(&zero, &record).certainty, SAMPLING_SURE);
	assert_int_equal(sampling_of(&seven, &record).certainty, SAMPLING_SURE);
	assert_int_equal(sampling_of(&eight, &record).certainty, SAMPLING_FLOWS);
	process.turned_away = true;
	assert_int_equal(sampling_of(&seven, &record).certainty, SAMPLING_TOO_MANY);
	sampling_forget(&process);
}

/* Selected flows have all their packets; the other flows are missing. */
static void flow_selection_is_not_packet_sampling(void **state)
{
	struct sampling sampling = {.seed = 12345};
	struct option_record option = {
		.has = OPTION_RECORD_FLOWS | OPTION_RECORD_SAMPLER, .sampler = 5};
	struct flow_record record = {.has = FLOW_SAMPLER, .sampler = 5}, silent = {0};
	struct sampling_verdict verdict;

	(void)state;
	assert_true(sampling_learn(&sampling, 0, &option, 1024));
	assert_false(sampling_learn(&sampling, 0, &option, 1024));
	verdict = ask(&sampling, &record, FLOW_PROTOCOL_IPFIX, 0);
	assert_int_equal(verdict.interval, 1);
	assert_int_equal(verdict.certainty, SAMPLING_FLOWS);
	/* Their packets may have been sampled before. */
	learn(&sampling, 0, 0, 100);
	verdict = ask(&sampling, &silent, FLOW_PROTOCOL_IPFIX, 0);
	assert_int_equal(verdict.interval, 100);
	assert_int_equal(verdict.certainty, SAMPLING_FLOWS);
	sampling_forget(&sampling);
	silent.has = FLOW_SELECTED;
	assert_int_equal(ask(&sampling, &silent, FLOW_PROTOCOL_IPFIX, 0).certainty, SAMPLING_FLOWS);
}

static void many_samplers_are_bounded(void **state)
{
	struct sampling sampling = {.seed = 12345};
	struct flow_record record = {.has = FLOW_SAMPLER};

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		learn(&sampling, OPTION_RECORD_SAMPLER, i, i + 2);
	assert_int_equal(sampling.capacity, 1024);
	for (uint32_t i = 0; i < 5000; i++) {
		record.sampler = i;
		if (i < 768) {
			expect(&sampling, &record, FLOW_PROTOCOL_IPFIX, 0, i + 2, SAMPLING_OPTIONS);
			continue;
		}
		expect(&sampling, &record, FLOW_PROTOCOL_IPFIX, 0, 1, SAMPLING_NONE);
		assert_int_equal(ask(&sampling, &record, FLOW_PROTOCOL_IPFIX, 0).certainty,
			SAMPLING_TOO_MANY);
	}
	sampling_forget(&sampling);
}

/* Written as bytes and read back; truncated bytes or unknown values are refused. */
static void it_is_written_and_read(void **state)
{
	struct sampling sampling = {.seed = 12345}, read = {.seed = 54321}, none = {0};
	struct flow_record record = {.has = FLOW_SAMPLER | FLOW_INPUT, .input = 7};
	uint8_t *bytes = malloc(SAMPLING_BYTES_MAX);
	uint32_t len;

	(void)state;
	assert_non_null(bytes);
	assert_int_equal(sampling_write(&sampling, bytes), 0);
	for (uint32_t i = 0; i < 5000; i++)
		learn(&sampling, OPTION_RECORD_SAMPLER, UINT64_MAX - i, i + 2);
	len = sampling_write(&sampling, bytes);
	assert_int_equal(len, 768 * 16);
	sampling_forget(&sampling);
	learn(&sampling, 0, 0, 50);
	learn(&sampling, OPTION_RECORD_INTERFACE, 7, 70);
	learn(&sampling, OPTION_RECORD_SAMPLER, UINT64_MAX, 80);
	learn(&sampling, OPTION_RECORD_PART, 1, 11);
	learn(&sampling, OPTION_RECORD_PART, 2, 12);
	learn(&sampling, OPTION_RECORD_TEMPLATE, 300, UNKNOWN);
	learn(&sampling, OPTION_RECORD_DOMAIN, 9, 90);
	sampling_learn(&sampling, 0, &(struct option_record){.has = OPTION_RECORD_FLOWS}, 1024);
	len = sampling_write(&sampling, bytes);
	assert_int_equal(len, 8 * 16);
	assert_true(sampling_read(&read, bytes, len, 1024));
	expect(&read, &record, FLOW_PROTOCOL_IPFIX, 0, 70, SAMPLING_OPTIONS);
	record.sampler = UINT64_MAX;
	expect(&read, &record, FLOW_PROTOCOL_IPFIX, 0, 80, SAMPLING_OPTIONS);
	assert_true(read.selects_flows);
	record = (struct flow_record){.template_id = 300};
	assert_int_equal(ask(&read, &record, FLOW_PROTOCOL_IPFIX, 0).certainty, SAMPLING_RATIO);
	record.template_id = 301;
	expect(&read, &record, FLOW_PROTOCOL_IPFIX, 0, 11, SAMPLING_OPTIONS);
	assert_int_equal(ask(&read, &record, FLOW_PROTOCOL_IPFIX, 0).certainty, SAMPLING_PARTS);
	assert_int_equal(sampling_of(&(struct sampling_knowledge){.own = &none,
					     .process = &read,
					     .domain = 9,
					     .protocol = FLOW_PROTOCOL_IPFIX},
				 &record)
				 .interval,
		90);
	for (uint32_t cut = 1; cut < 16; cut++)
		assert_false(sampling_read(&read, bytes, len - cut, 1024));
	bytes[3] = 11;
	assert_false(sampling_read(&read, bytes, len, 1024));
	bytes[3] = 3;
	memset(bytes + 4, 0, 4);
	assert_false(sampling_read(&read, bytes, len, 1024));
	assert_true(sampling_read(&read, bytes, 0, 1024));
	sampling_forget(&sampling);
	sampling_forget(&read);
	free(bytes);
}

/* Also checks that the return value fits the result. */
static struct sampler_result check_sample(
	struct sampling_checks *checks, uint32_t breaks, const struct sampler_state *sampler)
{
	struct sampler_result result;
	bool any = sampling_check(checks, 1, breaks, sampler, &result);

	assert_true(any || (result.measured == 0 && result.lost == 0 && result.pool_interval == 0 &&
				   result.excess == 0));
	assert_true(!any || result.lost != 0 || result.pool_interval != 0);
	return result;
}

/*
 * Takes one of `real` packets at random and announces one of `said`. Returns the reported interval.
 */
static uint32_t run_sampler(uint64_t seed, uint32_t said, uint32_t real, uint32_t lost)
{
	struct sampling_checks *checks = sampling_checks_create();
	struct sampler_state sampler = {.source = 5,
		.sampling = said,
		.pool = UINT32_MAX - 9999,
		.sequence = UINT32_MAX - 100,
		.drops = UINT32_MAX};
	struct random random;
	uint32_t told = 0;

	random_init(&random, seed);
	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t now;

		do
			sampler.pool++;
		while (random_below(&random, real) != 0);
		if (lost != 0 && i % lost == 0)
			sampler.drops++;
		else
			sampler.sequence++;
		now = check_sample(checks, 0, &sampler).measured;
		assert_true(told == 0 || now == 0);
		told |= now;
	}
	sampling_checks_destroy(checks);
	return told;
}

static void a_pool_that_disagrees_is_told(void **state)
{
	uint32_t told;

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		assert_int_equal(run_sampler(seed, 100, 100, 0), 0);
		assert_int_equal(run_sampler(seed, 100, 100, 3), 0);
		told = run_sampler(seed, 1000, 512, 0);
		assert_in_range(told, 350, 750);
		told = run_sampler(seed, 100, 200, 4);
		assert_in_range(told, 150, 300);
	}
}

static void a_pool_that_stands_still_says_nothing(void **state)
{
	struct sampling_checks *checks = sampling_checks_create();
	struct sampler_state sampler = {.source = 1, .sampling = 100};

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		sampler.sequence++;
		assert_int_equal(check_sample(checks, 0, &sampler).measured, 0);
	}
	sampling_checks_destroy(checks);
}

/* Returns the next sample of a sampler, after `lost` samples counted as drops and `gap` others. */
static struct sampler_result next_sample(struct sampling_checks *checks,
	struct sampler_state *sampler, uint32_t breaks, uint32_t lost, uint32_t gap)
{
	sampler->drops += lost;
	sampler->sequence += gap + 1;
	sampler->pool += (lost + gap + 1) * sampler->sampling;
	return check_sample(checks, breaks, sampler);
}

static void samples_that_an_agent_lost_are_counted(void **state)
{
	struct sampling_checks *checks = sampling_checks_create();
	struct sampler_state sampler = {
		.source = 5, .sampling = 100, .drops = UINT32_MAX - 2, .sequence = UINT32_MAX - 3};
	struct sampler_state late;

	(void)state;
	/* Losses before the first sample may be old. */
	assert_int_equal(next_sample(checks, &sampler, 0, 9, 0).lost, 0);
	assert_int_equal(next_sample(checks, &sampler, 0, 0, 0).lost, 0);
	assert_int_equal(next_sample(checks, &sampler, 0, 7, 0).lost, 7);
	assert_int_equal(next_sample(checks, &sampler, 0, 0, 4).lost, 4);
	assert_int_equal(next_sample(checks, &sampler, 0, 2, 3).lost, 5);
	late = sampler;
	/* Samples missing in a lost datagram were not lost by the agent. */
	assert_int_equal(next_sample(checks, &sampler, 1, 2, 3).lost, 2);
	assert_int_equal(next_sample(checks, &sampler, 1, 0, 0).lost, 0);
	assert_int_equal(check_sample(checks, 2, &late).lost, 0);
	assert_int_equal(next_sample(checks, &sampler, 2, 1, 0).lost, 1);
	/* Another interval does not hide them. */
	sampler.sampling = 200;
	assert_int_equal(next_sample(checks, &sampler, 2, 6, 0).lost, 6);
	/* The check starts again after a restart, and if two samplers share a number. */
	sampler.sequence = sampler.drops = sampler.pool = 0;
	assert_int_equal(next_sample(checks, &sampler, 2, 0, 0).lost, 0);
	for (uint32_t i = 0; i < 50; i++) {
		sampler.sequence += i % 2 ? -50000U : 50001U;
		assert_int_equal(next_sample(checks, &sampler, 2, 0, 0).lost, 0);
	}
	sampling_checks_destroy(checks);
}

/* A pool has three times the announced packets: two thirds of them have no samples. */
static void packets_beyond_the_samples_are_counted(void **state)
{
	struct sampling_checks *checks = sampling_checks_create();
	struct sampler_state sampler = {.source = 5, .sampling = 100};
	int64_t excess = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		struct sampler_result result;

		sampler.pool += 200;
		result = next_sample(checks, &sampler, 0, 0, 0);
		excess += result.excess;
		assert_int_equal(result.pool_interval, i < 128 ? 0 : 300);
	}
	assert_in_range(excess, 800 * 200, 900 * 200);
	/* A pool with too few packets has none. */
	sampler = (struct sampler_state){.source = 6, .sampling = 100};
	for (uint32_t i = 0; i < 1000; i++) {
		struct sampler_result result;

		sampler.pool -= 50;
		result = next_sample(checks, &sampler, 0, 0, 0);
		assert_int_equal(result.excess, 0);
		assert_true(result.pool_interval == 0 ? i < 200 : result.pool_interval == 50);
	}
	sampling_checks_destroy(checks);
}

static struct reported_loss report(struct reported_losses *reported, uint64_t part, uint32_t has,
	uint64_t ignored, uint64_t flows, uint64_t packets)
{
	struct option_record option = {
		.has = OPTION_RECORD_PART,
		.part = part,
		.has_lost = (uint8_t)has,
		.lost = {ignored, ignored * 100, flows, packets, packets * 100},
	};

	return losses_reported(reported, &option);
}

static void check_reported(struct reported_loss loss, uint64_t packets, bool unknown)
{
	assert_int_equal(loss.packets, packets);
	assert_int_equal(loss.unknown, unknown);
}

static void losses_that_are_reported_grow(void **state)
{
	enum {
		ALL = (1 << LOSS_COUNTER_COUNT) - 1,
		FLOWS = 1 << LOSS_COUNTER_FLOWS,
		BYTES = 1 << LOSS_COUNTER_BYTES
	};
	struct reported_losses reported = {0};

	(void)state;
	check_reported(report(&reported, 1, ALL, 1000, 50, 500), 0, false);
	check_reported(report(&reported, 1, ALL, 1000, 50, 500), 0, false);
	check_reported(report(&reported, 1, ALL, 1003, 52, 520), 23, false);
	/* Each scope has its own counters. */
	check_reported(report(&reported, 2, ALL, 7, 0, 0), 0, false);
	check_reported(report(&reported, 1, ALL, 1004, 52, 520), 1, false);
	check_reported(report(&reported, 2, ALL, 9, 0, 0), 2, false);
	/* The exporter restarted. */
	check_reported(report(&reported, 2, ALL, 4, 0, 0), 4, false);
	/* Flows or bytes do not give the number of packets. */
	check_reported(report(&reported, 3, FLOWS, 0, 10, 0), 0, false);
	check_reported(report(&reported, 3, FLOWS, 0, 12, 0), 2, true);
	check_reported(report(&reported, 3, FLOWS, 0, 12, 0), 0, false);
	check_reported(report(&reported, 4, BYTES, 0, 0, 5), 0, false);
	check_reported(report(&reported, 4, BYTES, 0, 0, 6), 0, true);
	/* No room for more. */
	check_reported(report(&reported, 5, ALL, 1, 1, 1), 0, false);
	check_reported(report(&reported, 5, ALL, 2, 2, 2), 0, false);
	check_reported(report(&reported, 1, ALL, 1005, 52, 520), 1, false);
}

static void losses_add_up(void **state)
{
	struct exporter_loss losses[6];
	struct random random;

	(void)state;
	random_init(&random, 3);
	for (int i = 0; i < 100000; i++) {
		struct socket_loss socket = {
			.dropped = random_below(&random, 12), .counted = random_below(&random, 12)};
		uint64_t gaps = 0, here = 0, network = 0, left, earlier = socket.counted;
		uint64_t dropped = socket.dropped;
		uint32_t n = (uint32_t)random_below(&random, 7);

		for (uint32_t j = 0; j < n; j++) {
			losses[j] = (struct exporter_loss){.gaps = random_below(&random, 6)};
			gaps += losses[j].gaps;
		}
		left = losses_share(&socket, losses, n);
		for (uint32_t j = 0; j < n; j++) {
			assert_true(
				losses[j].lost_socket + losses[j].lost_network <= losses[j].gaps);
			here += losses[j].lost_socket;
			network += losses[j].lost_network;
		}
		assert_int_equal(here, dropped < gaps ? dropped : gaps);
		assert_int_equal(left, dropped - here);
		/* Gaps that are not network losses were counted as socket losses earlier. */
		assert_int_equal(
			gaps - here - network, earlier < gaps - here ? earlier : gaps - here);
		assert_int_equal(socket.counted, earlier - (gaps - here - network) + left);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_holds),
		cmocka_unit_test(a_part_of_another_domain_comes_first),
		cmocka_unit_test(an_unknown_ratio_is_doubted),
		cmocka_unit_test(parts_that_differ_are_doubted),
		cmocka_unit_test(parts_are_compared_before_records),
		cmocka_unit_test(domain_0_describes_others),
		cmocka_unit_test(domain_0_describes_parts_of_others),
		cmocka_unit_test(domain_0_is_not_what_it_describes),
		cmocka_unit_test(flow_selection_is_not_packet_sampling),
		cmocka_unit_test(many_samplers_are_bounded),
		cmocka_unit_test(it_is_written_and_read),
		cmocka_unit_test(a_pool_that_disagrees_is_told),
		cmocka_unit_test(a_pool_that_stands_still_says_nothing),
		cmocka_unit_test(samples_that_an_agent_lost_are_counted),
		cmocka_unit_test(packets_beyond_the_samples_are_counted),
		cmocka_unit_test(losses_that_are_reported_grow),
		cmocka_unit_test(losses_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
