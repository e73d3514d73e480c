/* SPDX-License-Identifier: BSD-3-Clause */

/* Exporters of every convention, whose datagrams are lost, repeated and reordered by the test. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "flow_protocols/sequence.h"

#define MESSAGES 4000
#define SECOND   1000000000LL
#define START    (1700000000 * SECOND)

struct sent {
	struct datagram_header header;
	struct decode_result result;
	uint64_t contents;
};

struct exporter {
	enum flow_protocol protocol;
	enum sequence_convention convention;
	uint32_t number;
	uint32_t sent; /* messages since the start */
	int64_t time, started;
	bool steady; /* same number of records in each message */
};

struct totals {
	uint64_t lost, lost_units, recovered, repeated, restarts, recognized, jumped, withdrawn,
		maybe;
};

static struct random random_state;

static uint32_t below(uint32_t bound)
{
	return (uint32_t)random_below(&random_state, bound);
}

static uint32_t units_of(enum sequence_convention convention, const struct sent *sent)
{
	switch (convention) {
	case SEQUENCE_MESSAGES: return 1;
	case SEQUENCE_RECORDS:
	case SEQUENCE_RECORDS_AFTER: return sent->result.data_records;
	case SEQUENCE_FLOWS:
	case SEQUENCE_FLOWS_AFTER: return sent->result.records;
	default: return 0;
	}
}

/* Makes the next message: sometimes with options, or with templates only. */
static struct sent make(struct exporter *exporter)
{
	bool ipfix = exporter->protocol == FLOW_PROTOCOL_IPFIX,
	     sflow = exporter->protocol == FLOW_PROTOCOL_SFLOW;
	bool v5 = exporter->protocol == FLOW_PROTOCOL_NETFLOW5;
	struct sent sent = {.header.protocol = exporter->protocol};
	bool after = exporter->convention == SEQUENCE_RECORDS_AFTER ||
		     exporter->convention == SEQUENCE_FLOWS_AFTER;
	uint32_t units;

	exporter->time += 100000 + (int64_t)below(20000000);
	sent.result.records = exporter->steady ? 20 : 1 + below(30);
	if (!v5 && !exporter->steady && below(20) == 0)
		sent.result.options = 1 + below(5);
	if (!v5 && !exporter->steady && below(30) == 0)
		sent.result.records = sent.result.options = 0;
	sent.result.data_records = sent.result.records + sent.result.options;
	units = units_of(exporter->convention, &sent);
	if (after)
		exporter->number += units;
	sent.header.sequence = exporter->number;
	if (!after)
		exporter->number += units;
	sent.header.count = ipfix ? 0 : sent.result.data_records;
	sent.header.total = 60 + 40 * sent.result.data_records + exporter->sent % 7;
	if (!ipfix)
		sent.header.uptime = (uint32_t)((exporter->time - exporter->started) / 1000000) + 1;
	if (!sflow)
		sent.header.exported = exporter->time / SECOND * SECOND;
	sent.header.came = exporter->time;
	sent.contents = random_next(&random_state);
	exporter->sent++;
	return sent;
}

static void add(struct totals *totals, const struct sequence_result *result)
{
	totals->lost += result->lost;
	totals->lost_units += result->lost_units;
	totals->recovered += result->recovered;
	totals->jumped += result->jumped;
	totals->withdrawn += result->withdrawn;
	totals->recognized += result->recognized;
	totals->maybe += result->maybe_lost;
}

static struct datagram_header header_of(const struct sent *sent)
{
	struct datagram_header header = sent->header;

	header.body = (const uint8_t *)&sent->contents;
	header.body_len = sizeof(sent->contents);
	return header;
}

static enum sequence_fit fit_of(const struct sequence *sequence, const struct sent *sent)
{
	struct datagram_header header = header_of(sent);

	return sequence_fit(sequence, &header);
}

static void give(struct sequence *sequence, const struct sent *sent, struct totals *totals)
{
	struct datagram_header header = header_of(sent);
	enum sequence_fit fit = sequence_fit(sequence, &header);
	struct sequence_result result;

	if (fit == SEQUENCE_REPEATED) {
		totals->repeated++;
		return;
	}
	if (fit <= SEQUENCE_ANEW) {
		struct sequence before = *sequence;

		totals->restarts++;
		sequence_init_like(sequence, &before);
	}
	result = sequence_end(sequence, &header, &sent->result, true);
	add(totals, &result);
}

static const struct exporter exporters[] = {
	{FLOW_PROTOCOL_NETFLOW5, SEQUENCE_RECORDS, 0, 0, START, START - 1000 * SECOND, false},
	{FLOW_PROTOCOL_NETFLOW5, SEQUENCE_MESSAGES, 5, 0, START, START, false},
	{FLOW_PROTOCOL_NETFLOW9, SEQUENCE_MESSAGES, UINT32_MAX - 100, 0, START,
		START - 4294900 * SECOND, false},
	{FLOW_PROTOCOL_NETFLOW9, SEQUENCE_RECORDS, 0, 0, START, START, false},
	{FLOW_PROTOCOL_IPFIX, SEQUENCE_RECORDS, UINT32_MAX - 5000, 0, START, START, false},
	{FLOW_PROTOCOL_IPFIX, SEQUENCE_RECORDS, 0, 0, START, START, true},
	{FLOW_PROTOCOL_IPFIX, SEQUENCE_RECORDS_AFTER, 0, 0, START, START, false},
	{FLOW_PROTOCOL_IPFIX, SEQUENCE_MESSAGES, 0, 0, START, START, false},
	{FLOW_PROTOCOL_IPFIX, SEQUENCE_FLOWS, 0, 0, START, START, false},
	{FLOW_PROTOCOL_IPFIX, SEQUENCE_FLOWS_AFTER, 0, 0, START, START, false},
	{FLOW_PROTOCOL_IPFIX, SEQUENCE_CONSTANT, 0, 0, START, START, false},
	{FLOW_PROTOCOL_SFLOW, SEQUENCE_MESSAGES, 1, 0, START, START, false},
};

#define EXPORTERS (sizeof(exporters) / sizeof(exporters[0]))

static void nothing_is_lost(void **state)
{
	(void)state;
	for (size_t e = 0; e < EXPORTERS; e++) {
		struct exporter exporter = exporters[e];
		struct totals totals = {0};
		struct sequence sequence;

		sequence_init(&sequence, exporter.protocol);
		for (uint32_t i = 0; i < MESSAGES; i++) {
			struct sent sent = make(&exporter);

			give(&sequence, &sent, &totals);
		}
		if (sequence.convention != exporter.convention || totals.lost != 0 ||
			totals.lost_units != 0 || totals.recovered != 0 || totals.repeated != 0 ||
			totals.restarts != 0)
			fail_msg("exporter %zu: %s, lost %lu, recovered %lu, repeated %lu, "
				 "restarts %lu",
				e, sequence_convention_words[sequence.convention], totals.lost,
				totals.recovered, totals.repeated, totals.restarts);
	}
}

/* After a start without losses, every lost unit is reported, and no more. */
static void what_is_lost_is_told(void **state)
{
	(void)state;
	for (size_t e = 0; e < EXPORTERS; e++) {
		struct exporter exporter = exporters[e];
		uint64_t lost = 0, lost_units = 0, least;
		struct totals totals = {0};
		struct sequence sequence;

		sequence_init(&sequence, exporter.protocol);
		for (uint32_t i = 0; i < MESSAGES; i++) {
			struct sent sent = make(&exporter);
			uint32_t units = units_of(exporter.convention, &sent);

			if (i > 200 && i + 200 < MESSAGES && below(10) == 0) {
				lost_units += units;
				lost += units != 0;
				continue;
			}
			give(&sequence, &sent, &totals);
		}
		least = lost_units;
		/*
		 * If options are not counted, few messages show this; until one does, the minimum
		 * is reported.
		 */
		if (exporter.convention == SEQUENCE_FLOWS ||
			exporter.convention == SEQUENCE_FLOWS_AFTER)
			least -= least / 50;
		if (sequence.convention != exporter.convention || totals.lost_units < least ||
			totals.lost_units > lost_units || totals.restarts != 0 ||
			totals.repeated != 0 || totals.recovered != 0)
			fail_msg("exporter %zu: %s, lost units %lu of %lu, restarts %lu, repeated "
				 "%lu, recovered %lu",
				e, sequence_convention_words[sequence.convention],
				totals.lost_units, lost_units, totals.restarts, totals.repeated,
				totals.recovered);
		/* In datagrams: exact if messages are counted, otherwise from the mean size. */
		if (exporter.convention == SEQUENCE_MESSAGES || exporter.steady)
			assert_int_equal(totals.lost, lost);
		else
			assert_in_range(totals.lost, lost * 9 / 10, lost * 11 / 10 + 1);
	}
}

/* Two messages that change places: the loss is withdrawn. Some are repeated, up to 20 later. */
static void reordered_and_repeated(void **state)
{
	(void)state;
	for (size_t e = 0; e < EXPORTERS; e++) {
		struct exporter exporter = exporters[e];
		struct sent sent[MESSAGES];
		struct totals totals = {0};
		struct sequence sequence;
		uint64_t repeated = 0;

		sequence_init(&sequence, exporter.protocol);
		for (uint32_t i = 0; i < MESSAGES; i++)
			sent[i] = make(&exporter);
		for (uint32_t i = 200; i + 1 < MESSAGES; i += 2 + below(20)) {
			struct sent moved = sent[i];

			/* A message without units can change places undetected. */
			if (units_of(exporter.convention, &sent[i]) == 0 ||
				units_of(exporter.convention, &sent[i + 1]) == 0)
				continue;
			sent[i] = sent[i + 1];
			sent[i + 1] = moved;
		}
		for (uint32_t i = 0; i < MESSAGES; i++) {
			uint32_t before = i - below(20);

			give(&sequence, &sent[i], &totals);
			if (i < 300 || below(10) != 0 ||
				units_of(exporter.convention, &sent[before]) == 0)
				continue;
			give(&sequence, &sent[before], &totals);
			repeated++;
		}
		if (exporter.convention != SEQUENCE_CONSTANT)
			assert_int_equal(totals.repeated, repeated);
		assert_int_equal(totals.restarts, 0);
		if (exporter.convention == SEQUENCE_MESSAGES)
			assert_int_equal(totals.lost, totals.recovered);
		assert_true(totals.lost >= totals.recovered);
		assert_true(totals.lost - totals.recovered <= totals.lost / 2);
	}
}

static void restarts(void **state)
{
	(void)state;
	for (size_t e = 0; e < EXPORTERS; e++) {
		struct exporter exporter = exporters[e];
		struct totals totals = {0};
		struct sequence sequence;

		/* Undetectable. */
		if (exporter.protocol == FLOW_PROTOCOL_IPFIX &&
			exporter.convention == SEQUENCE_CONSTANT)
			continue;
		exporter.number = 1000000;
		sequence_init(&sequence, exporter.protocol);
		for (uint32_t life = 0; life < 10; life++) {
			for (uint32_t i = 0; i < 2000; i++) {
				struct sent sent = make(&exporter);

				give(&sequence, &sent, &totals);
			}
			if (totals.restarts != life || totals.lost != 0)
				fail_msg("exporter %zu: restarts %lu of %u, lost %lu", e,
					totals.restarts, life, totals.lost);
			exporter.time += 10 * SECOND;
			exporter.started = exporter.time;
			exporter.number = exporter.protocol == FLOW_PROTOCOL_SFLOW;
			exporter.sent = 0;
		}
	}
}

/* Records that could not be counted cause no false loss, for any losses after them. */
static void unknown_sets(void **state)
{
	(void)state;
	for (size_t e = 0; e < EXPORTERS; e++) {
		struct exporter exporter = exporters[e];
		struct totals totals = {0};
		struct sequence sequence;

		sequence_init(&sequence, exporter.protocol);
		for (uint32_t i = 0; i < MESSAGES; i++) {
			struct sent sent = make(&exporter);

			if (exporter.protocol != FLOW_PROTOCOL_NETFLOW5 &&
				(i < 300 || below(5) == 0)) {
				sent.result.unknown_sets = true;
				sent.result.data_records /= 2;
				sent.result.records /= 2;
				sent.result.options /= 2;
			}
			give(&sequence, &sent, &totals);
		}
		if (totals.lost != 0 || totals.restarts != 0)
			fail_msg("exporter %zu: lost %lu, restarts %lu", e, totals.lost,
				totals.restarts);
	}
}

/*
 * Two records in each message; if messages are counted, a lost one looks as if records were
 * counted.
 */
static void two_records_each(void **state)
{
	struct totals totals = {0};
	struct sequence sequence;

	(void)state;
	sequence_init(&sequence, FLOW_PROTOCOL_NETFLOW9);
	for (uint32_t i = 0; i < 12; i++) {
		struct sent sent = {
			.header = {.protocol = FLOW_PROTOCOL_NETFLOW9,
				.sequence = i,
				.uptime = 1000 + i},
			.result = {.records = 2, .data_records = 2},
		};

		if (i != 6)
			give(&sequence, &sent, &totals);
	}
	assert_int_equal(totals.lost, 1);
}

/* Sends messages with these sequence numbers and this number of records each. */
static struct totals give_numbers(
	enum flow_protocol protocol, const uint32_t *numbers, uint32_t n, uint32_t records)
{
	struct totals totals = {0};
	struct sequence sequence;

	sequence_init(&sequence, protocol);
	for (uint32_t i = 0; i < n; i++) {
		struct sent sent = {
			.header = {.protocol = protocol, .sequence = numbers[i], .total = 100 + i},
			.result = {.records = records, .data_records = records},
		};

		give(&sequence, &sent, &totals);
	}
	return totals;
}

#define GIVE(protocol, records, ...)                                                               \
	give_numbers(protocol, (const uint32_t[]){__VA_ARGS__},                                    \
		sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), records)

/* A loss right after a convention is recognized, with a gap that fits another one by chance. */
static void lost_right_after_recognized(void **state)
{
	struct totals totals = GIVE(FLOW_PROTOCOL_NETFLOW9, 2, 1, 2, 3, 4, 6);

	(void)state;
	assert_int_equal(totals.lost, 1);
	assert_int_equal(totals.lost_units, 1);
	totals = GIVE(FLOW_PROTOCOL_NETFLOW9, 2, 1, 2, 3, 4, 6, 7, 8, 10, 11);
	assert_int_equal(totals.lost, 2);
	/* A lost record, or a number that jumps: no more than that. */
	totals = GIVE(FLOW_PROTOCOL_IPFIX, 10, 10, 20, 30, 40, 51, 52);
	assert_int_equal(totals.lost, 1);
	assert_int_equal(totals.lost_units, 1);
	totals = GIVE(FLOW_PROTOCOL_IPFIX, 10, 10, 20, 30, 40, 60, 70);
	assert_int_equal(totals.lost, 1);
	assert_int_equal(totals.lost_units, 10);
}

/* Before a convention is recognized, a gap counts if all possible ones agree on it. */
static void lost_before_it_is_recognized(void **state)
{
	struct totals totals = GIVE(FLOW_PROTOCOL_NETFLOW9, 10, 1, 2, 13, 14, 15, 16);

	(void)state;
	assert_int_equal(totals.lost, 10);
	totals = GIVE(FLOW_PROTOCOL_IPFIX, 10, 10, 20, 50, 60, 70);
	assert_int_equal(totals.lost, 2);
	assert_int_equal(totals.lost_units, 20);
	totals = GIVE(FLOW_PROTOCOL_NETFLOW9, 10, 1, 2, 4, 3, 5, 6); /* late */
	assert_int_equal(totals.lost, 1);
	assert_int_equal(totals.recovered, 1);
	/* If messages count, 8 are missing; if records count, none: until it is known, none. */
	totals = GIVE(FLOW_PROTOCOL_NETFLOW9, 9, 1, 10);
	assert_int_equal(totals.lost, 0);
	totals = GIVE(FLOW_PROTOCOL_NETFLOW9, 9, 1, 17);
	assert_int_equal(totals.lost, 0);
}

/* Losses that are possible but not known: before the first message, or in an unknown unit. */
static void maybe_lost(void **state)
{
	(void)state;
	assert_int_equal(GIVE(FLOW_PROTOCOL_NETFLOW9, 9, 0, 1, 2, 3, 4).maybe, 0);
	assert_int_equal(GIVE(FLOW_PROTOCOL_IPFIX, 9, 9, 18, 27, 36, 45).maybe, 0);
	assert_int_equal(GIVE(FLOW_PROTOCOL_NETFLOW9, 9, 3, 4, 5).maybe, 1);
	assert_int_equal(GIVE(FLOW_PROTOCOL_IPFIX, 9, 90, 99, 108).maybe, 1);
	/* An exporter that has run for long. */
	assert_int_equal(GIVE(FLOW_PROTOCOL_IPFIX, 9, 900000, 900009).maybe, 0);
	/* Messages or records are missing, or it counts records. */
	assert_int_equal(GIVE(FLOW_PROTOCOL_NETFLOW9, 9, 0, 9).maybe, 1);
	/* Known losses are not in this count. */
	assert_int_equal(GIVE(FLOW_PROTOCOL_NETFLOW9, 9, 0, 1, 2, 3, 4, 7, 8).maybe, 0);
}

/*
 * Short sessions that lose a quarter from the second message on: nearly all losses are reported,
 * and no more.
 */
static void lost_from_the_beginning(void **state)
{
	(void)state;
	for (size_t e = 0; e < EXPORTERS; e++) {
		struct totals totals = {0};
		uint64_t lost = 0;

		for (uint32_t life = 0; life < 200; life++) {
			struct exporter exporter = exporters[e];
			struct sequence sequence;

			sequence_init(&sequence, exporter.protocol);
			for (uint32_t i = 0; i < 60; i++) {
				struct sent sent = make(&exporter);

				if (i > 0 && i < 59 && below(4) == 0)
					lost += units_of(exporter.convention, &sent);
				else
					give(&sequence, &sent, &totals);
			}
		}
		if (totals.lost_units > lost || totals.lost_units < lost * 94 / 100 ||
			totals.restarts != 0)
			fail_msg("exporter %zu: lost units %lu of %lu, restarts %lu", e,
				totals.lost_units, lost, totals.restarts);
	}
}

/*
 * Messages with templates only, malformed or not, have the sequence number and possibly the length
 * of the one before.
 */
static void malformed_templates(void **state)
{
	struct totals totals = {0};
	struct sequence sequence;

	(void)state;
	sequence_init(&sequence, FLOW_PROTOCOL_IPFIX);
	for (uint32_t i = 0; i < 20; i++) {
		struct sent sent = {
			.header = {.protocol = FLOW_PROTOCOL_IPFIX,
				.sequence = i < 8 ? 3 * i : 24,
				.total = 100,
				.exported = START},
		};

		if (i < 8)
			sent.result.records = sent.result.data_records = 3;
		else
			sent.result.fault = i % 2 == 0 ? DECODE_TEMPLATE_ROOM : DECODE_FINE;
		give(&sequence, &sent, &totals);
	}
	assert_int_equal(totals.repeated, 0);
	assert_int_equal(totals.lost, 0);
}

struct life {
	int64_t exported, came; /* ms since the last message */
	int64_t before, after;  /* uptimes in ms */
	uint32_t number;        /* sequence number; that of the last message is 5000 */
	enum sequence_fit fit;
};

#define HOUR INT64_C(3600000)
#define DAY  (24 * HOUR)

/* An exporter that restarted has an uptime below the time since its last message. */
static const struct life lives[] = {
	{1000, 1000, HOUR, HOUR + 1000, 5001, SEQUENCE_NEXT},
	{1000, 1000, UINT32_MAX - 500, 499, 5001, SEQUENCE_NEXT},
	{60000, 60000, UINT32_MAX - 500, 59499, 5001, SEQUENCE_NEXT},
	{20000, 20000, HOUR, 3000, 5001, SEQUENCE_RESTARTED},
	{20000, 20000, HOUR, 3000, 9000, SEQUENCE_RESTARTED},
	{20000, 20000, HOUR, 3000, 1, SEQUENCE_RESTARTED},
	{20000, 20000, 10 * DAY, 3000, 5001, SEQUENCE_RESTARTED},
	{20000, 20000, 30 * DAY, 3000, 5001, SEQUENCE_RESTARTED},
	{20000, 20000, 49 * DAY, 3000, 5001, SEQUENCE_RESTARTED},
	{0, 20000, HOUR, 3000, 5001, SEQUENCE_RESTARTED},      /* stalled clock */
	{20000, 0, HOUR, 3000, 5001, SEQUENCE_RESTARTED},      /* read quickly from a file */
	{-30 * DAY, 20000, HOUR, 3000, 1, SEQUENCE_RESTARTED}, /* clock not set yet */
	{HOUR, HOUR, 4000, 5000, 1, SEQUENCE_RESTARTED},
	{HOUR, HOUR, 4000, 5000, 5001, SEQUENCE_NEXT}, /* clock was set */
	{HOUR, 1000, 2 * HOUR, 2 * HOUR + 1000, 5001, SEQUENCE_NEXT},
	{-HOUR, 1000, 2 * HOUR, 2 * HOUR + 1000, 5001, SEQUENCE_NEXT},
	{1000, 1000, HOUR, HOUR - 2000, 4999, SEQUENCE_NEAR}, /* late */
	{1000, 1000, HOUR, 30 * HOUR, 5001, SEQUENCE_DOUBTFUL},
	{1000, 1000, HOUR, HOUR + 1000, 1, SEQUENCE_OFF},
	{1000, 1000, HOUR, HOUR + 1000, 1000005000, SEQUENCE_OFF},
	{1000, 1000, HOUR, HOUR + 1000, 9000, SEQUENCE_FAR},
	{1000, 1000, 0, 0, 1, SEQUENCE_ANEW},
	{-1000, 1000, 0, 0, 1, SEQUENCE_OFF},
	{1000, 1000, 0, 0, 2000005000, SEQUENCE_OFF},
	{1000, 1000, 0, 0, 5010, SEQUENCE_NEAR},
};

static void uptimes_tell_restarts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
		const struct life *life = &lives[i];
		struct sequence sequence;
		struct sent sent = {
			.header = {.protocol = FLOW_PROTOCOL_NETFLOW9,
				.sequence = 4990,
				.uptime = (uint32_t)life->before,
				.exported = START + 40 * DAY * INT64_C(1000000),
				.came = START},
			.result = {.records = 2, .data_records = 2},
		};
		struct totals totals = {0};
		enum sequence_fit fit;

		sequence_init(&sequence, FLOW_PROTOCOL_NETFLOW9);
		for (; sent.header.sequence <= 5000; sent.header.sequence++) {
			sent.contents = sent.header.sequence;
			give(&sequence, &sent, &totals);
		}
		sent.header.sequence = life->number;
		sent.header.uptime = (uint32_t)life->after;
		sent.header.exported += life->exported * 1000000;
		sent.header.came += life->came * 1000000;
		sent.contents = 1;
		fit = fit_of(&sequence, &sent);
		if (fit != life->fit)
			fail_msg("life %zu: %d instead of %d", i, (int)fit, (int)life->fit);
	}
}

/* A number that jumps ahead is a loss if this number of units can have been sent since. */
static void a_loss_is_bounded_by_the_rate(void **state)
{
	static const struct {
		int64_t every, pause; /* ms */
		uint32_t step;
		bool loss;
	} cases[] = {
		{1000, 1000, 1000, true}, /* a burst */
		{1000, 1000, 65000, true},
		{1000, 1000, 70000, false},
		{1000, HOUR, 70000, true},
		{1000, HOUR, 1000000, false},
		{1, HOUR, 3600000, true},
		{1, HOUR, 1000000000, false},
		{1, 100, 1000000000, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sequence sequence;
		struct totals totals = {0};
		struct sent sent = {
			.header = {.protocol = FLOW_PROTOCOL_NETFLOW9,
				.uptime = (uint32_t)HOUR,
				.came = START},
			.result = {.records = 3, .data_records = 3},
		};

		sequence_init(&sequence, FLOW_PROTOCOL_NETFLOW9);
		for (uint32_t j = 0; j < 6000; j++) {
			int64_t ms = j == 5000 ? cases[i].pause : cases[i].every;

			sent.header.came += ms * 1000000;
			sent.header.uptime += (uint32_t)ms;
			sent.header.sequence += j == 5000 ? cases[i].step + 1 : 1;
			sent.contents = j;
			give(&sequence, &sent, &totals);
		}
		if (totals.lost != (cases[i].loss ? cases[i].step : 0) ||
			totals.jumped != !cases[i].loss || totals.restarts != 0)
			fail_msg("case %zu: lost %lu, jumped %lu, restarts %lu", i, totals.lost,
				totals.jumped, totals.restarts);
	}
}

/* Forged headers between those of an exporter: it loses nothing by them. */
static void forged_headers(void **state)
{
	(void)state;
	for (size_t e = 0; e < EXPORTERS; e++) {
		struct exporter exporter = exporters[e];
		struct sequence sequence;
		struct totals totals = {0}, forged = {0};

		if (exporter.convention == SEQUENCE_CONSTANT)
			continue;
		exporter.number += 10000000;
		sequence_init(&sequence, exporter.protocol);
		for (uint32_t i = 0; i < MESSAGES; i++) {
			struct sent sent = make(&exporter);
			enum sequence_fit fit;

			fit = fit_of(&sequence, &sent);
			if (fit <= SEQUENCE_OFF || fit == SEQUENCE_REPEATED)
				fail_msg("exporter %zu, message %u: %d", e, i, (int)fit);
			give(&sequence, &sent, &totals);
			if (i < 300 || below(10) != 0)
				continue;
			sent.header.sequence +=
				5000 + (uint32_t)(random_next(&random_state) >> (32 + below(20)));
			sent.contents++;
			fit = fit_of(&sequence, &sent);
			if (fit > SEQUENCE_ANEW)
				give(&sequence, &sent, &forged);
		}
		if (totals.restarts + forged.jumped + totals.jumped != 0 ||
			totals.lost + forged.lost != totals.withdrawn)
			fail_msg("exporter %zu: restarts %lu, jumped %lu, lost %lu and %lu, "
				 "withdrawn %lu",
				e, totals.restarts, totals.jumped + forged.jumped, totals.lost,
				forged.lost, totals.withdrawn);
	}
}

/* A mirror that duplicates each message: one of the two counts, from the start. */
static void each_message_twice(void **state)
{
	(void)state;
	for (size_t e = 0; e < EXPORTERS; e++) {
		struct exporter exporter = exporters[e];
		struct sequence sequence;
		struct totals totals = {0};
		uint64_t sent_twice = 0;

		if (exporter.convention !=
			(exporter.protocol == FLOW_PROTOCOL_NETFLOW9 ||
						exporter.protocol == FLOW_PROTOCOL_SFLOW
					? SEQUENCE_MESSAGES
					: SEQUENCE_RECORDS))
			continue;
		sequence_init(&sequence, exporter.protocol);
		for (uint32_t i = 0; i < MESSAGES; i++) {
			struct sent sent = make(&exporter);

			give(&sequence, &sent, &totals);
			give(&sequence, &sent, &totals);
			sent_twice += exporter.convention == SEQUENCE_MESSAGES ||
				      sent.result.data_records != 0;
		}
		assert_int_equal(totals.repeated, sent_twice);
		assert_int_equal(totals.lost + totals.restarts + totals.jumped, 0);
	}
}

static int seed(void **state)
{
	(void)state;
	random_init(&random_state, 21);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_is_lost, seed),
		cmocka_unit_test_setup(what_is_lost_is_told, seed),
		cmocka_unit_test_setup(reordered_and_repeated, seed),
		cmocka_unit_test_setup(restarts, seed),
		cmocka_unit_test_setup(unknown_sets, seed),
		cmocka_unit_test(two_records_each),
		cmocka_unit_test(lost_right_after_recognized),
		cmocka_unit_test(lost_before_it_is_recognized),
		cmocka_unit_test(maybe_lost),
		cmocka_unit_test_setup(lost_from_the_beginning, seed),
		cmocka_unit_test(malformed_templates),
		cmocka_unit_test(uptimes_tell_restarts),
		cmocka_unit_test(a_loss_is_bounded_by_the_rate),
		cmocka_unit_test_setup(forged_headers, seed),
		cmocka_unit_test_setup(each_message_twice, seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
