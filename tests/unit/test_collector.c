/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The collector, with datagrams that the test writes: each column of its rows counts as it must,
 * and after each test its rows balance. `script` replaces the result of sequence numbers.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/router_names.h"
#include "base/units.h"
#include "collect/collector.h"
#include "collect/dedup/estimate.h"
#include "flow_protocols/sequence.h"

#define T0 (INT64_C(1700000000) * SECOND_NS)

/* Result for the next message's sequence number. */
static struct sequence_result script;
static enum sequence_fit fit = SEQUENCE_NEXT;
static uint32_t restarts; /* restarts of all exporters: older sequences do not continue */

const char *const sequence_convention_words[SEQUENCE_CONVENTION_COUNT] = {
	[SEQUENCE_UNSURE] = "unsure",
	[SEQUENCE_MESSAGES] = "messages",
	[SEQUENCE_RECORDS] = "records",
	[SEQUENCE_RECORDS_AFTER] = "records-after",
	[SEQUENCE_FLOWS] = "flows",
	[SEQUENCE_FLOWS_AFTER] = "flows-after",
	[SEQUENCE_CONSTANT] = "constant",
};

void sequence_init(struct sequence *sequence, enum flow_protocol protocol)
{
	*sequence = (struct sequence){
		.protocol = protocol, .convention = SEQUENCE_FLOWS, .missing = restarts};
}

void sequence_init_like(struct sequence *sequence, const struct sequence *before)
{
	sequence_init(sequence, before->protocol);
}

enum sequence_fit sequence_fit(
	const struct sequence *sequence, const struct datagram_header *header)
{
	(void)header;
	if (!sequence->started)
		return SEQUENCE_FAR;
	return sequence->missing == restarts ? fit : SEQUENCE_RESTARTED;
}

static bool is_copy;

bool sequence_take_copy(struct sequence *sequence, const struct datagram_header *header)
{
	(void)sequence;
	(void)header;
	return is_copy;
}

struct sequence_result sequence_end(struct sequence *sequence, const struct datagram_header *header,
	const struct decode_result *result, bool counted)
{
	struct sequence_result sequence_result = script;

	(void)header;
	(void)result;
	(void)counted;
	script = (struct sequence_result){0};
	fit = SEQUENCE_NEXT;
	sequence->started = true;
	return sequence_result;
}

#define SEEN_MAX 4096

static struct {
	struct collector *collector;
	struct observation seen[SEEN_MAX];
	uint32_t nb_seen, nb_said, nb_forgotten, nb_rows, nb_links;
	struct exporter_row rows[128];
	struct link_row links[64];
	char said[400];
	bool warning;
	int64_t alive; /* exporters with a later datagram are alive */
	uint64_t taken, records_seen;
} t;

static void on_observe(void *arg, const struct observation *observations, uint32_t n)
{
	(void)arg;
	assert_in_range(n, 1, 64);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(observations[i].sampling >= 1);
		assert_true(observations[i].packets > 0);
		t.records_seen++;
		if (t.nb_seen < SEEN_MAX)
			t.seen[t.nb_seen++] = observations[i];
	}
}

static void on_forget(void *arg, uint32_t exporter)
{
	(void)arg;
	(void)exporter;
	t.nb_forgotten++;
}

static void on_say(void *arg, bool warning, const char *line)
{
	(void)arg;
	t.nb_said++;
	t.warning = warning;
	snprintf(t.said, sizeof(t.said), "%s", line);
}

static void on_row(void *arg, const struct exporter_row *row)
{
	(void)arg;
	assert_true(t.nb_rows < 128);
	t.rows[t.nb_rows++] = *row;
}

static void on_link(void *arg, const struct link_row *row)
{
	(void)arg;
	assert_true(t.nb_links < 64);
	t.links[t.nb_links++] = *row;
}

static struct collector_params params(void)
{
	return (struct collector_params){
		.exporters_max = 8,
		.template_bytes = 8 * 65536,
		.waiting_bytes = 1 << 20,
		.observe = on_observe,
		.forget = on_forget,
		.log = on_say,
	};
}

static void start(const struct collector_params *with)
{
	char error[OPTION_WHY_MAX];

	memset(&t, 0, sizeof(t));
	script = (struct sequence_result){0};
	fit = SEQUENCE_NEXT;
	t.collector = collector_create(with, error);
	assert_non_null(t.collector);
}

/* Ends the epoch. Each datagram is in a row, and each record was counted or is unusable. */
static struct collector_epoch end_epoch(void)
{
	struct collector_epoch epoch;
	uint64_t datagrams = 0, records = 0, unusable = 0;

	t.nb_rows = t.nb_links = 0;
	epoch = collector_end_epoch(t.collector, t.alive, on_row, on_link, NULL);
	for (uint32_t i = 0; i < t.nb_rows; i++) {
		datagrams += t.rows[i].datagrams;
		records += t.rows[i].records;
		unusable += t.rows[i].unusable;
		assert_int_equal(t.rows[i].counts.counted, 0);
	}
	assert_int_equal(datagrams, t.taken);
	assert_int_equal(epoch.datagrams, t.taken);
	assert_int_equal(records, t.records_seen + unusable);
	t.taken = t.records_seen = 0;
	return epoch;
}

static void stop(void)
{
	end_epoch();
	collector_finish(t.collector);
	collector_destroy(t.collector);
}

/* The datagram under construction. */
static uint8_t data[2000];
static uint32_t len;

static void put(uint64_t number, uint32_t bytes)
{
	for (uint32_t i = bytes; i-- > 0;)
		data[len++] = (uint8_t)(number >> 8 * i);
}

static uint16_t source_port, destination_port;

static void send_at(uint32_t address, int64_t time, uint32_t socket)
{
	uint8_t *exact = malloc(len);
	struct datagram datagram = {.len = len,
		.data = exact,
		.time = time,
		.socket = socket,
		.src_port = source_port,
		.dst_port = destination_port};
	uint32_t wire = htonl(address);

	memcpy(exact, data, len);
	datagram.src.s6_addr[10] = datagram.src.s6_addr[11] = 0xff;
	memcpy(datagram.src.s6_addr + 12, &wire, 4);
	collector_take(t.collector, &datagram);
	collector_flush(t.collector);
	free(exact);
	t.taken++;
}

static void send_from(uint32_t address)
{
	send_at(address, T0, 0);
}

static void put_netflow5(uint32_t n, uint32_t packets, uint32_t bytes, uint32_t sampling)
{
	len = 0;
	put(5, 2), put(n, 2), put(1000, 4), put(T0 / SECOND_NS, 4), put(0, 4), put(0, 4);
	put(0, 2), put(sampling, 2);
	for (uint32_t i = 0; i < n; i++) {
		put(0x0a000001, 4), put(0x0a000002, 4), put(0x0a0000fe, 4); /* next hop */
		put(3, 2), put(4, 2), put(packets, 4), put(bytes, 4), put(500, 4), put(600, 4);
		put(1000 + i, 2), put(80, 2), put(0, 1), put(0x12, 1), put(6, 1), put(0, 1);
		put(0, 2), put(0, 2), put(0, 1), put(0, 1), put(0, 2);
	}
}

static void put_netflow9(uint32_t domain, uint32_t count)
{
	len = 0;
	put(9, 2), put(count, 2), put(1000, 4), put(T0 / SECOND_NS, 4), put(0, 4);
	put(domain, 4);
}

/* Fields: addresses, protocol, packets, bytes, sampler. */
static void put_template(void)
{
	static const uint16_t fields[][2] = {{8, 4}, {12, 4}, {4, 1}, {2, 4}, {1, 4}, {48, 1}};

	put(0, 2), put(4 + 4 + sizeof(fields), 2), put(256, 2), put(6, 2);
	for (size_t i = 0; i < 6; i++)
		put(fields[i][0], 2), put(fields[i][1], 2);
}

static void put_sampled(uint32_t n, uint32_t packets, uint32_t sampler)
{
	put(256, 2), put(4 + n * 18, 2);
	for (uint32_t i = 0; i < n; i++) {
		put(0x0a000001, 4), put(0x0a000002, 4), put(17, 1);
		put(packets, 4), put(packets * 100, 4), put(sampler, 1);
	}
}

static void put_data(uint32_t n, uint32_t packets)
{
	put_sampled(n, packets, 0);
}

/* Scope system; interval of sampler 7. */
static void put_options(uint32_t interval)
{
	put(1, 2), put(4 + 6 + 12 + 2, 2), put(257, 2), put(4, 2), put(8, 2);
	put(1, 2), put(4, 2), put(48, 2), put(1, 2), put(50, 2), put(4, 2), put(0, 2);
	put(257, 2), put(4 + 9 + 3, 2), put(1, 4), put(7, 1), put(interval, 4), put(0, 3);
}

/* Sends a NetFlow v5 record with its input interface and sampling interval. */
static void send_sampled(uint32_t address, int64_t time, uint8_t interface, uint32_t sampling)
{
	put_netflow5(1, 1, 100, sampling);
	data[24 + 13] = interface;
	send_at(address, time, 0);
}

/* Sends a datagram without records. */
static void send_nothing(uint32_t address, int64_t time)
{
	put_netflow5(0, 0, 0, 0);
	send_at(address, time, 0);
}

static void check_intervals(uint32_t finest, uint32_t coarsest)
{
	struct collector_epoch epoch = end_epoch();

	assert_int_equal(epoch.finest, finest);
	assert_int_equal(epoch.coarsest, coarsest);
	assert_false(epoch.losses_unknown);
}

/* The interval of an exporter also counts in epochs without its records, until it is silent. */
static void an_exporter_without_samples_counts(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	send_nothing(0x0a000001, T0);
	check_intervals(0, 0);
	send_sampled(0x0a000001, T0 + SECOND_NS, 3, 10000);
	send_sampled(0x0a000002, T0 + SECOND_NS, 3, 10);
	check_intervals(10, 10000);
	send_nothing(0x0a000001, T0 + 2 * SECOND_NS);
	check_intervals(10, 10000);
	t.alive = T0 + SECOND_NS;
	check_intervals(10000, 10000);
	t.alive = T0 + 2 * SECOND_NS;
	check_intervals(0, 0);
	send_sampled(0x0a000002, T0 + 18 * SECOND_NS, 3, 10);
	check_intervals(10, 10);
	send_nothing(0x0a000001, T0 + 19 * SECOND_NS);
	check_intervals(10, 10000);
	stop();
}

/*
 * The coarsest interval of an exporter is that of its interfaces, until the end of the epoch in which
 * one has another.
 */
static void the_coarsest_interface_counts(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	send_sampled(0x0a000001, T0, 3, 500);
	send_sampled(0x0a000001, T0, 4, 20);
	check_intervals(20, 500);
	send_sampled(0x0a000001, T0, 4, 20);
	check_intervals(20, 500);
	send_sampled(0x0a000001, T0, 3, 50);
	check_intervals(50, 500);
	send_sampled(0x0a000001, T0, 4, 20);
	check_intervals(20, 50);
	/*
	 * After a restart, the first records determine the interval. One message does not show a
	 * restart.
	 */
	restarts++;
	send_sampled(0x0a000001, T0, 4, 20);
	check_intervals(20, 50);
	send_sampled(0x0a000001, T0, 4, 20);
	check_intervals(20, 50);
	send_sampled(0x0a000001, T0, 4, 20);
	check_intervals(20, 20);
	stop();
}

/* Options, or the operator, define the sampling of an exporter that sent no record yet. */
static void intervals_that_no_record_had_count(void **state)
{
	struct exporter_rule rule;
	struct collector_params with = params();
	char why[OPTION_WHY_MAX];

	(void)state;
	assert_true(exporter_rule_parse("10.0.0.2,sampling=70", &rule, why));
	with.rules = &rule;
	with.nb_rules = 1;
	start(&with);
	send_nothing(0x0a000002, T0);
	check_intervals(70, 70);
	send_sampled(0x0a000002, T0, 3, 30);
	check_intervals(30, 30);
	stop();
	with.nb_rules = 0;
	start(&with);
	put_netflow9(1, 2);
	put_options(300);
	send_from(0x0a000001);
	check_intervals(300, 300);
	put_netflow9(1, 2);
	put_template();
	put_sampled(1, 5, 7);
	send_from(0x0a000001);
	check_intervals(300, 300);
	stop();
}

/*
 * An exporter with unknown sampling also leaves the bounds of epochs open in which it sends no
 * records.
 */
static void a_doubt_outlives_its_records(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	put_netflow9(1, 2);
	put_template();
	put_sampled(1, 5, 9);
	send_from(0x0a000001);
	assert_true(end_epoch().losses_unknown);
	put_netflow9(1, 0);
	send_from(0x0a000001);
	assert_true(end_epoch().losses_unknown);
	assert_false(end_epoch().losses_unknown);
	put_netflow9(1, 1);
	put_sampled(1, 5, 0);
	send_from(0x0a000001);
	assert_false(end_epoch().losses_unknown);
	put_netflow9(1, 0);
	send_from(0x0a000001);
	assert_false(end_epoch().losses_unknown);
	stop();
}

/* Sends an sFlow sample whose header is too short, by its numbers. */
static void send_sample(uint32_t datagram, uint32_t sequence, uint32_t interval, uint32_t drops)
{
	len = 0;
	put(5, 4), put(1, 4), put(0x0a000001, 4), put(0, 4), put(datagram, 4), put(1000, 4);
	put(1, 4);
	put(1, 4), put(32 + 40, 4);
	put(sequence, 4), put(3, 4), put(interval, 4), put(sequence * interval, 4);
	put(drops, 4), put(3, 4), put(4, 4), put(1, 4);
	put(3, 4), put(32, 4), put(100, 4), put(17, 4), put(0x0a000001, 4), put(0x0a000002, 4);
	put(1, 4), put(2, 4), put(0, 4), put(0, 4);
	send_from(0x0a000001);
}

static void check_lost(uint64_t packets, uint32_t interval, uint64_t in_row)
{
	struct collector_epoch epoch = end_epoch();

	assert_int_equal(epoch.lost_packets, packets);
	assert_int_equal(epoch.lost_interval, interval);
	assert_false(epoch.losses_unknown);
	assert_int_equal(t.rows[0].lost_agent, in_row);
}

static void samples_that_an_agent_lost_are_open(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	send_sample(1, 1, 500, 10);
	send_sample(2, 2, 500, 10);
	check_lost(0, 0, 0);
	send_sample(3, 3, 500, 14);
	check_lost(4 * 500, 500, 4);
	send_sample(4, 6, 500, 14);
	check_lost(2 * 500, 500, 2);
	/* Samples of a lost datagram. */
	send_sample(6, 9, 500, 15);
	check_lost(500, 500, 1);
	send_sample(7, 10, 500, 15);
	check_lost(0, 0, 0);
	stop();
}

static void send_copy(uint16_t port, bool copy, uint32_t datagram, uint32_t sequence)
{
	destination_port = port;
	is_copy = copy;
	if (fit == SEQUENCE_NEXT)
		fit = SEQUENCE_NEAR;
	send_sample(datagram, sequence, 500, 0);
	destination_port = 0;
	is_copy = false;
}

/* An agent's losses count once, at the first of its two collectors that sees them. */
static void copies_report_no_losses(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	for (uint32_t i = 1; i <= 2; i++) {
		send_copy(2055, false, i, i);
		send_copy(2056, true, i, i);
	}
	check_lost(0, 0, 0);
	send_copy(2055, false, 3, 6);
	send_copy(2056, true, 3, 6);
	check_lost(3 * 500, 500, 3);
	send_copy(2056, false, 4, 8);
	send_copy(2055, true, 4, 8);
	send_copy(2055, false, 5, 9);
	check_lost(500, 500, 1);
	stop();
}

/* Scope: an exporting process. Reports packets and flows that were not sent. */
static void send_reported(uint32_t process, uint64_t packets, uint32_t interval)
{
	len = 0;
	put(10, 2), put(0, 2), put(T0 / SECOND_NS, 4), put(0, 4), put(0, 4);
	put(3, 2), put(4 + 6 + 12 + 2, 2), put(300, 2), put(3, 2), put(1, 2);
	put(144, 2), put(4, 2), put(167, 2), put(8, 2), put(166, 2), put(4, 2), put(0, 2);
	put(300, 2), put(4 + 16, 2), put(process, 4), put(packets, 8), put(packets / 10, 4);
	if (interval > 0) {
		put(3, 2), put(4 + 6 + 8 + 2, 2), put(301, 2), put(2, 2), put(1, 2);
		put(143, 2), put(4, 2), put(34, 2), put(4, 2), put(0, 2);
		put(301, 2), put(4 + 8, 2), put(1, 4), put(interval, 4);
	}
	data[2] = (uint8_t)(len >> 8);
	data[3] = (uint8_t)len;
	send_from(0x0a000001);
}

static void losses_of_an_exporter_are_open(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	send_reported(1, 70, 0);
	send_reported(2, 30, 0);
	check_lost(0, 0, 0);
	send_reported(1, 75, 0);
	send_reported(2, 30, 0);
	check_lost(5, 0, 5);
	/* Lost samples stand for more packets. */
	send_reported(2, 31, 200);
	send_reported(2, 33, 0);
	check_lost(1 + 2 * 200, 200, 3);
	stop();
}

#define TIMES (OBSERVATION_FIRST | OBSERVATION_LAST)

static void a_record_becomes_an_observation(void **state)
{
	struct collector_params with = params();
	struct collector_epoch epoch;
	struct exporter_rule rules[2];
	char why[OPTION_WHY_MAX], name[ROUTER_NAME_MAX];
	const struct observation *seen = t.seen;

	(void)state;
	assert_true(exporter_rule_parse("10.0.0.200=r1,edge=3", &rules[0], why));
	assert_true(exporter_rule_parse("10.0.0.254=r2,edge=4", &rules[1], why));
	with.rules = rules;
	with.nb_rules = 2;
	with.link_overhead = 14;
	start(&with);
	put_netflow5(2, 10, 1000, 100);
	send_from(0x0a0000fe);
	send_from(0x0a0000c8);
	assert_int_equal(t.nb_seen, 4);
	assert_int_equal(seen[0].exporter, 0);
	assert_int_equal(seen[0].next, 0); /* itself is the next hop */
	assert_int_equal(seen[0].flags & ~TIMES, OBSERVATION_EDGES | OBSERVATION_LEAVES);
	assert_int_equal(seen[3].exporter, 1);
	assert_int_equal(seen[3].next, 0);
	assert_int_equal(seen[3].flags & ~TIMES, OBSERVATION_EDGES | OBSERVATION_ENTERS);
	assert_int_equal(seen[3].input, 3);
	assert_int_equal(seen[3].output, 4);
	assert_int_equal(seen[3].sampling, 100);
	assert_int_equal(seen[3].packets, 10);
	assert_int_equal(seen[3].bytes, 1140);
	assert_int_equal(seen[3].time, T0);
	assert_int_equal(seen[3].family, KEY_IPV4);
	assert_int_equal(seen[3].key4.src_port[0] << 8 | seen[3].key4.src_port[1], 1001);
	assert_int_equal(seen[3].extra.in_port[1], 1);
	assert_int_equal(seen[3].extra.tcp_flags[0], 0x12);
	router_name_get(1, name);
	assert_string_equal(name, "r1");
	/* A sender that is not on the list is refused. */
	send_from(0x0a000001);
	epoch = end_epoch();
	assert_false(epoch.losses_unknown);
	assert_int_equal(t.nb_rows, 3);
	assert_string_equal(t.rows[0].name, "r2");
	assert_int_equal(t.rows[0].sampling, 100);
	assert_int_equal(t.rows[0].sampling_source, SAMPLING_HEADER);
	assert_true(t.rows[2].others);
	assert_int_equal(t.rows[2].refused, 1);
	assert_int_equal(end_epoch().datagrams, 0);
	assert_int_equal(t.nb_rows, 0);
	stop();
}

static void sets_wait_for_their_template(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	put_netflow9(1, 3);
	put_data(3, 5);
	send_at(0x0a000001, T0 - 7, 0);
	assert_int_equal(t.nb_seen, 0);
	assert_true(end_epoch().losses_unknown);
	assert_int_equal(t.rows[0].waiting, 1);
	/* The template of another domain is not used. */
	put_netflow9(2, 1);
	put_template();
	send_from(0x0a000001);
	assert_int_equal(t.nb_seen, 0);
	put_netflow9(1, 2);
	put_template();
	put_data(1, 6);
	send_from(0x0a000001);
	assert_int_equal(t.nb_seen, 4);
	assert_int_equal(t.seen[0].packets, 6);
	assert_int_equal(t.seen[1].packets, 5);
	assert_int_equal(t.seen[1].time, T0 - 7);
	assert_int_equal(t.seen[0].time, T0);
	assert_false(end_epoch().losses_unknown);
	assert_int_equal(t.rows[0].waiting, 0);
	assert_int_equal(t.rows[0].templates, 1);
	assert_int_equal(t.rows[0].records, 4);
	/* Without room they are dropped. */
	collector_destroy(t.collector);
	with.waiting_bytes = 0;
	start(&with);
	put_netflow9(1, 1);
	put_data(1, 1);
	send_from(0x0a000001);
	assert_true(end_epoch().losses_unknown);
	assert_int_equal(t.rows[0].unknown_template, 1);
	stop();
}

/* A set whose template never comes leaves bounds open for an hour, not for the rest of the run. */
static void sets_wait_for_an_hour(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	put_netflow9(1, 1);
	put_data(3, 5);
	send_at(0x0a000001, T0, 0);
	put_netflow5(1, 1, 100, 0);
	send_at(0x0a000002, T0 + 3599 * SECOND_NS, 0);
	assert_true(end_epoch().losses_unknown);
	assert_int_equal(t.rows[0].waiting, 1);
	put_netflow9(1, 1);
	put_data(1, 6);
	send_at(0x0a000001, T0 + 3601 * SECOND_NS, 0);
	assert_true(end_epoch().losses_unknown);
	assert_int_equal(t.rows[0].waiting, 1);
	assert_int_equal(t.rows[0].unknown_template, 1);
	put_netflow5(1, 1, 100, 0);
	send_at(0x0a000002, T0 + 7300 * SECOND_NS, 0);
	assert_true(end_epoch().losses_unknown);
	assert_int_equal(t.rows[0].waiting, 0);
	assert_int_equal(t.rows[0].unknown_template, 1);
	put_netflow5(1, 1, 100, 0);
	send_at(0x0a000002, T0 + 7301 * SECOND_NS, 0);
	assert_false(end_epoch().losses_unknown);
	assert_int_equal(t.nb_rows, 1);
	stop();
}

static void sequences_move_their_columns(void **state)
{
	struct collector_params with = params();
	struct collector_epoch epoch;

	(void)state;
	start(&with);
	put_netflow5(1, 1, 100, 0);
	send_from(0x0a000001);
	fit = SEQUENCE_REPEATED;
	send_from(0x0a000001);
	fit = SEQUENCE_NEXT;
	assert_int_equal(t.nb_seen, 1);
	script.lost = 5;
	send_from(0x0a000001);
	script.recovered = 1;
	send_from(0x0a000001);
	script.lost = 4;
	send_at(0x0a000002, T0, 0);
	script.lost = 3;
	send_at(0x0a000003, T0, 1);
	collector_dropped(t.collector, 0, 6);
	epoch = end_epoch();
	assert_true(epoch.losses_unknown);
	assert_int_equal(epoch.dropped, 6);
	assert_int_equal(t.nb_rows, 3);
	assert_int_equal(t.rows[0].repeated, 1);
	assert_int_equal(t.rows[0].reordered, 1);
	assert_int_equal(t.rows[0].lost_socket, 3);
	assert_int_equal(t.rows[0].lost_network, 1);
	assert_int_equal(t.rows[1].lost_socket, 3);
	assert_int_equal(t.rows[1].lost_network, 1);
	assert_int_equal(t.rows[2].lost_socket, 0);
	assert_int_equal(t.rows[2].lost_network, 3);
	/*
	 * Drops without a sequence gap belong to no exporter, and do not count again when the gap
	 * appears.
	 */
	collector_dropped(t.collector, 0, 10);
	assert_true(end_epoch().losses_unknown);
	assert_int_equal(t.nb_rows, 1);
	assert_true(t.rows[0].others);
	assert_int_equal(t.rows[0].lost_socket, 10);
	script.lost = 12;
	send_from(0x0a000001);
	assert_true(end_epoch().losses_unknown);
	assert_int_equal(t.nb_rows, 1);
	assert_int_equal(t.rows[0].lost_socket, 0);
	assert_int_equal(t.rows[0].lost_network, 2);
	stop();
}

static void a_restart_voids_templates(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	put_netflow9(1, 1);
	put_template();
	send_from(0x0a000001);
	put_netflow9(1, 1);
	put_data(1, 1);
	send_from(0x0a000001);
	assert_int_equal(t.nb_seen, 1);
	fit = SEQUENCE_RESTARTED;
	send_from(0x0a000001);
	assert_int_equal(t.nb_seen, 1);
	end_epoch();
	assert_int_equal(t.rows[0].restarts, 1);
	assert_int_equal(t.rows[0].waiting, 1);
	assert_int_equal(t.rows[0].templates, 0);
	stop();
}

static void options_say_the_sampling(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	put_netflow9(1, 2);
	put_template();
	put_sampled(1, 1, 7);
	send_from(0x0a000001);
	put_netflow9(1, 2);
	put_options(500);
	send_from(0x0a000001);
	put_netflow9(1, 1);
	put_sampled(1, 1, 7);
	send_from(0x0a000001);
	assert_int_equal(t.nb_seen, 2);
	assert_int_equal(t.seen[0].sampling, 1);
	assert_int_equal(t.seen[1].sampling, 500);
	/* The interval of the first record was not known. */
	assert_int_equal(t.nb_said, 1);
	assert_true(end_epoch().losses_unknown);
	assert_int_equal(t.rows[0].sampling, 500);
	assert_int_equal(t.rows[0].sampling_source, SAMPLING_OPTIONS);
	assert_int_equal(t.rows[0].malformed, 0);
	put_netflow9(1, 1);
	put_sampled(1, 1, 7);
	send_from(0x0a000001);
	assert_false(end_epoch().losses_unknown);
	stop();
}

/* Scope system: addresses, packets, bytes, and no sampler. */
static void put_unnamed(uint32_t packets)
{
	static const uint16_t fields[][2] = {{8, 4}, {12, 4}, {2, 4}, {1, 4}};

	put(0, 2), put(8 + sizeof(fields), 2), put(300, 2), put(4, 2);
	for (size_t i = 0; i < 4; i++)
		put(fields[i][0], 2), put(fields[i][1], 2);
	put(300, 2), put(4 + 16, 2), put(0x0a000001, 4), put(0x0a000002, 4), put(packets, 4);
	put(packets * 100, 4);
}

/* If an exporter describes samplers but its records do not name them, its sampling is unknown. */
static void samplers_that_nobody_names(void **state)
{
	struct collector_params with = params();
	struct exporter_rule rule;
	char why[OPTION_WHY_MAX];

	(void)state;
	start(&with);
	put_netflow9(1, 2);
	put_unnamed(5);
	send_from(0x0a000001);
	assert_false(end_epoch().losses_unknown);
	put_netflow9(1, 2);
	put_options(1); /* interval 1: all packets */
	put_unnamed(5);
	send_from(0x0a000001);
	assert_false(end_epoch().losses_unknown);
	for (uint32_t i = 0; i < 2; i++) {
		put_netflow9(1, 2);
		put_options(500);
		put_unnamed(5);
		send_at(0x0a000001, T0 + i * 2 * SECOND_NS, 0);
		assert_int_equal(t.seen[2 + i].sampling, 1);
		assert_true(end_epoch().losses_unknown);
	}
	assert_int_equal(t.nb_said, 1);
	assert_non_null(strstr(t.said, "has samplers, but"));
	/* Some records name a sampler, so those without the field belong to none. */
	put_netflow9(1, 4);
	put_template();
	put_data(1, 6);
	put_unnamed(5);
	send_from(0x0a000001);
	assert_false(end_epoch().losses_unknown);
	stop();
	/* Configured by the operator. */
	assert_true(exporter_rule_parse("10.0.0.1,sampling=1", &rule, why));
	with.rules = &rule;
	with.nb_rules = 1;
	start(&with);
	put_netflow9(1, 4);
	put_options(500);
	put_unnamed(5);
	send_from(0x0a000001);
	assert_false(end_epoch().losses_unknown);
	assert_int_equal(t.rows[0].sampling_source, SAMPLING_CONFIGURED);
	stop();
}

/* Scope 2 of v9: interval of interface `input`. */
static void put_interface_options(uint32_t input, uint32_t interval)
{
	put(1, 2), put(4 + 6 + 8 + 2, 2), put(258, 2), put(4, 2), put(4, 2);
	put(2, 2), put(4, 2), put(34, 2), put(4, 2), put(0, 2);
	put(258, 2), put(4 + 8, 2), put(input, 4), put(interval, 4);
}

/* If there is no room for the interval of an interface, it is not assumed to be unsampled. */
static void more_interfaces_than_are_remembered(void **state)
{
	struct collector_params with = params();

	(void)state;
	with.template_bytes = 8 * 2048;
	start(&with);
	for (uint32_t i = 1; i <= 14; i++) {
		put_netflow9(1, i < 13 ? 1 : 2);
		if (i != 13)
			put_interface_options(i, 100);
		if (i >= 13)
			put_unnamed(5);
		send_from(0x0a000001);
		assert_int_equal(end_epoch().losses_unknown, i == 14);
	}
	assert_int_equal(t.nb_said, 1);
	assert_non_null(strstr(t.said, "more samplers and interfaces with sampling"));
	stop();
}

static void what_cannot_be_read_is_counted(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	len = 0;
	put(0x1234, 2), put(0, 4);
	send_from(0x0a000001);
	put_netflow5(3, 1, 100, 0);
	len -= 10;
	send_from(0x0a000001);
	put_netflow5(2, 0, 0, 0); /* 0 packets */
	send_from(0x0a000001);
	assert_true(end_epoch().losses_unknown);
	assert_int_equal(t.nb_rows, 2);
	assert_int_equal(t.rows[0].malformed, 1);
	assert_int_equal(t.rows[0].unusable, 2);
	/* Its sender exports to this port: a damaged export. */
	assert_int_equal(t.rows[1].malformed, 1);
	assert_true(t.rows[1].sender);
	stop();
}

static void send_to(uint32_t address, uint16_t port, uint8_t proto)
{
	uint32_t wire = htonl(address);
	struct datagram datagram = {
		.len = len, .data = data, .time = T0, .dst_port = port, .proto = proto};

	datagram.src.s6_addr[10] = datagram.src.s6_addr[11] = 0xff;
	memcpy(datagram.src.s6_addr + 12, &wire, 4);
	if (proto != 0) {
		collector_take_stream(t.collector, &datagram);
		return;
	}
	collector_take(t.collector, &datagram);
	collector_flush(t.collector);
	t.taken++;
}

static void put_words(uint32_t first, uint32_t second, uint32_t bytes)
{
	len = 0;
	put(first, 2), put(second, 2);
	while (len < bytes)
		put(0, 1);
}

/* An unknown version counts as a loss if an exporter sent it, otherwise not. */
static void strangers_leave_nothing_open(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	put_netflow5(1, 1, 100, 0);
	send_to(0x0a000001, 3000, 0);
	put_words(0x1234, 0x0100, 40);
	send_to(0x0a000002, 53, 0);   /* DNS */
	send_to(0x0a000001, 53, 0);   /* the exporter itself */
	send_to(0x0a000003, 3000, 0); /* a scan of the port */
	assert_false(end_epoch().losses_unknown);
	assert_int_equal(t.nb_rows, 2);
	assert_true(t.rows[1].others);
	assert_int_equal(t.rows[1].datagrams, 3);
	assert_int_equal(t.rows[1].malformed, 0);
	/* Its first datagram is damaged; it turns out to be an exporter later. */
	send_to(0x0a000004, 3000, 0);
	put_netflow5(1, 1, 100, 0);
	send_to(0x0a000004, 3000, 0);
	assert_true(end_epoch().losses_unknown);
	assert_int_equal(t.nb_rows, 2);
	assert_true(t.rows[1].sender);
	assert_int_equal(t.rows[1].malformed, 1);
	/* At other ports, the version numbers of exports are also those of other protocols. */
	put_words(9, 0x0100, 40);
	send_to(0x0a000005, 53, 0);
	put_words(10, 0x0100, 40);
	send_to(0x0a000006, 53, 0);
	put_words(5, 0x0100, 40);
	send_to(0x0a000007, 53, 0);
	put_words(7, 0x0100, 40);
	send_to(0x0a000008, 53, 0);
	assert_false(end_epoch().losses_unknown);
	put_words(10, 0x0100, 40);
	send_to(0x0a000006, 3000, 0);
	assert_true(end_epoch().losses_unknown);
	/* From sockets, all ports are export ports. */
	collector_destroy(t.collector);
	with.live = true;
	start(&with);
	put_words(10, 0x0100, 40);
	send_to(0x0a000006, 53, 0);
	assert_true(end_epoch().losses_unknown);
	put_words(0x1234, 0x0100, 40);
	send_to(0x0a000007, 53, 0);
	assert_false(end_epoch().losses_unknown);
	stop();
}

/*
 * More senders than there is room for: rows, log lines and memory are bounded, and no record is
 * lost.
 */
static void a_flood_of_unreadable_datagrams(void **state)
{
	struct collector_params with = params();
	uint64_t malformed = 0;

	(void)state;
	start(&with);
	put_words(7, 1, 76);
	for (uint32_t i = 0; i < 5000; i++)
		send_to(0x0b000000 + i, 2055, 0);
	put_words(0x1234, 0, 76);
	for (uint32_t i = 0; i < 5000; i++)
		send_to(0x0c000000 + i, 2055, 0);
	assert_true(end_epoch().losses_unknown);
	for (uint32_t i = 0; i < t.nb_rows; i++)
		malformed += t.rows[i].malformed;
	assert_int_equal(malformed, 5000);
	assert_int_equal(t.nb_rows, 65);
	stop();
	assert_int_equal(t.nb_said, 32 + 1 + 1);
}

/* IPFIX over TCP and SCTP is not read; its sender has a row, and the bounds are open. */
static void streams_are_reported(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	put_words(0x4745, 0x5420, 40);
	send_to(0x0a000001, 80, 6); /* not IPFIX */
	assert_int_equal(end_epoch().datagrams, 0);
	send_to(0x0a000001, 4739, 6);
	t.taken = 1;
	assert_true(end_epoch().losses_unknown); /* the IPFIX port */
	assert_int_equal(t.rows[0].malformed, 1);
	put_words(10, 40, 40);
	data[16] = 1, data[19] = 24; /* a data set */
	send_to(0x0a000001, 9000, 132);
	t.taken = 1;
	assert_true(end_epoch().losses_unknown);
	assert_int_equal(t.nb_rows, 1);
	assert_true(t.rows[0].sender);
	stop();
	assert_int_equal(t.nb_said, 2);
	assert_non_null(strstr(t.said, "exporter 10.0.0.1: IPFIX over SCTP: not supported"));
}

/* Each problem of each exporter is logged, also after other log lines. */
static void each_problem_has_a_line(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	for (uint32_t i = 0; i < 20; i++) {
		put_netflow5(3, 1, 100, 0);
		len -= 10;
		send_at(0x0a000001 + i % 4, T0 + 3600 * SECOND_NS, 0);
	}
	end_epoch();
	stop();
	assert_int_equal(t.nb_said, 4 + 4); /* clocks and malformed */
	assert_non_null(strstr(t.said, "10.0.0.4: malformed: wrong record count"));
	assert_non_null(strstr(t.said, "(5 datagrams)"));
	/* Live: logged when it occurs, one line per second, and the rest at the end. */
	with.live = true;
	start(&with);
	put_netflow5(3, 1, 100, 0);
	len -= 10;
	send_at(0x0a000001, T0, 0);
	send_at(0x0a000002, T0, 0);
	assert_int_equal(t.nb_said, 1);
	send_at(0x0a000001, T0 + SECOND_NS / 2, 0);
	assert_int_equal(t.nb_said, 1);
	send_at(0x0a000001, T0 + SECOND_NS, 0);
	assert_int_equal(t.nb_said, 2);
	assert_non_null(strstr(t.said, "10.0.0.2: malformed"));
	stop();
	assert_int_equal(t.nb_said, 3);
	assert_non_null(strstr(t.said, "10.0.0.1: malformed"));
	assert_non_null(strstr(t.said, "(3 datagrams)"));
}

/* Zeros after the number of records in the header are padding. */
static void padding_is_no_damage(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	put_netflow5(1, 1, 100, 0);
	put(0, 8), put(0, 8), put(0, 8), put(0, 8), put(0, 8), put(0, 8), put(0, 1);
	send_from(0x0a000001);
	assert_false(end_epoch().losses_unknown);
	put(1, 1);
	send_from(0x0a000001);
	assert_true(end_epoch().losses_unknown);
	stop();
}

/* A record of 0 packets does not open the bounds. */
static void records_of_nothing_leave_nothing_open(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	put_netflow5(2, 0, 0, 0);
	send_from(0x0a000001);
	assert_false(end_epoch().losses_unknown);
	assert_int_equal(t.nb_rows, 1);
	assert_int_equal(t.rows[0].unusable, 2);
	stop();
}

/* Fields: addresses, packets, bytes. */
static void put_wide_template(void)
{
	static const uint16_t fields[][2] = {{8, 4}, {12, 4}, {2, 8}, {1, 8}};

	put(0, 2), put(4 + 4 + sizeof(fields), 2), put(258, 2), put(4, 2);
	for (size_t i = 0; i < 4; i++)
		put(fields[i][0], 2), put(fields[i][1], 2);
}

static void send_wide_of(uint32_t address, uint32_t n, uint64_t packets, uint64_t bytes)
{
	put_netflow9(1, n + 1);
	put_wide_template();
	put(258, 2), put(4 + n * 24, 2);
	for (uint32_t i = 0; i < n; i++)
		put(0x0a000001, 4), put(0x0a000002, 4), put(packets, 8), put(bytes, 8);
	send_from(address);
}

static void send_wide(uint32_t n, uint64_t packets, uint64_t bytes)
{
	send_wide_of(0x0a000001, n, packets, bytes);
}

static void no_record_makes_a_sum_wrap(void **state)
{
	struct collector_params with = params();
	const uint64_t bytes = (UINT64_C(1) << 52) - 1;
	uint64_t sum = 0;

	(void)state;
	start(&with);
	send_wide(1, UINT64_MAX, 1000);
	send_wide(1, 1, UINT64_MAX);
	send_wide(1, UINT64_C(1) << 39, 1000);
	send_wide(1, 1, bytes + 1);
	assert_int_equal(t.nb_seen, 0);
	send_wide(1, (UINT64_C(1) << 39) - 1, bytes);
	assert_int_equal(t.nb_seen, 1);
	assert_true(end_epoch().losses_unknown);
	assert_int_equal(t.rows[0].unusable, 4);
	/*
	 * Each of them fits, all together do not: an exporter's share is a 16th of 2^63, plus a
	 * loan of the same size.
	 */
	for (uint32_t i = 0; i < 41; i++)
		send_wide(50, 1000, bytes);
	for (uint32_t i = 1; i < t.nb_seen; i++)
		assert_false(__builtin_add_overflow(sum, t.seen[i].bytes, &sum));
	assert_int_equal(t.nb_seen, 1 + 256);
	assert_true(end_epoch().losses_unknown);
	assert_int_equal(t.rows[0].unusable, 41 * 50 - (t.nb_seen - 1));
	send_wide(1, 1000, bytes);
	assert_false(end_epoch().losses_unknown);
	stop();
}

/* Sends records of decreasing counts, until even the smallest is refused. */
static void fill_sum(uint32_t address)
{
	for (uint64_t bytes = (UINT64_C(1) << 52) - 1; bytes > 0; bytes /= 2)
		do {
			t.nb_seen = 0;
			send_wide_of(address, 40, 1, bytes);
		} while (t.nb_seen == 40);
	assert_int_equal(t.nb_seen, 0);
}

/* All other exporters fill their sums completely: the last one still has its share. */
static void no_exporter_uses_up_the_sums_of_another(void **state)
{
	struct collector_params with = params();
	const uint64_t bytes = (UINT64_C(1) << 52) - 1;

	(void)state;
	with.exporters_max = 32;
	with.template_bytes = 32 * 65536;
	start(&with);
	for (uint32_t epoch = 0; epoch < 3; epoch++) {
		for (uint32_t i = 0; i < 31; i++)
			fill_sum(0x0a000002 + i);
		/* 2^62 / 32 are 2^57 bytes, which are 32 such records. */
		send_wide(31, 1000, bytes);
		assert_int_equal(t.nb_seen, 31);
		end_epoch();
		for (uint32_t i = 0; i < t.nb_rows; i++) {
			bool last = t.rows[i].address.s6_addr[15] == 1;

			assert_int_equal(t.rows[i].unusable > 0, !last);
			assert_int_equal(t.rows[i].records, last ? 31 : t.rows[i].records);
		}
		assert_int_equal(t.nb_rows, 32);
	}
	stop();
	assert_non_null(
		strstr(t.said, ": records above the limit of packets or bytes per exporter"));
}

/* The new owner of a slot gets only the rest of its share. */
static void a_slot_has_one_share_of_an_epoch(void **state)
{
	struct collector_params with = params();
	const uint64_t bytes = (UINT64_C(1) << 52) - 1;
	uint64_t sum = 0;
	uint32_t nb = 0;

	(void)state;
	start(&with);
	for (uint32_t i = 0; i < 200; i++) {
		t.nb_seen = 0;
		send_wide_of(0x0b000000 + i, 40, 1000, bytes);
		nb += t.nb_seen;
		for (uint32_t j = 0; j < t.nb_seen; j++)
			assert_false(__builtin_add_overflow(sum, t.seen[j].bytes, &sum));
	}
	assert_true(t.nb_forgotten > 100);
	/* 2^63 bytes are 2048 such records. */
	assert_in_range(nb, 1900, 2048);
	end_epoch();
	t.nb_seen = 0;
	send_wide_of(0x0c000000, 40, 1000, bytes);
	assert_int_equal(t.nb_seen, 40);
	stop();
}

/*
 * Sets of one byte, each with another template: waiting memory is bounded by their datagram's
 * bytes.
 */
static void tiny_sets_wait_as_their_bytes_do(void **state)
{
	struct collector_params with = params();
	uint32_t sets = 0;

	(void)state;
	start(&with);
	put_netflow9(1, 1);
	while (len < 1400) {
		put(300 + sets++, 2), put(5, 2), put(1, 1);
	}
	send_from(0x0a000001);
	end_epoch();
	assert_int_equal(t.rows[0].waiting, 8 + len / 32);
	assert_int_equal(t.rows[0].unknown_template, sets - (8 + len / 32));
	/* Records of a realistic length: all of their sets wait. */
	sets = 0;
	put_netflow9(2, 1);
	while (len < 1400) {
		put(300 + sets++, 2), put(4 + 28, 2);
		for (uint32_t i = 0; i < 7; i++)
			put(1, 4);
	}
	send_from(0x0a000001);
	end_epoch();
	assert_int_equal(t.rows[1].waiting, sets);
	assert_int_equal(t.rows[1].unknown_template, 0);
	stop();
}

static void put_ipfix(uint32_t domain, uint32_t sequence)
{
	put(10, 2), put(16 + 4 + 4, 2), put(T0 / SECOND_NS, 4), put(sequence, 4), put(domain, 4);
	put(300, 2), put(8, 2), put(1, 4);
}

/* One datagram with messages of many domains takes few slots, and few are processed. */
static void a_datagram_has_few_new_domains(void **state)
{
	struct collector_params with = params();
	uint32_t admitted = 0;

	(void)state;
	with.exporters_max = 64;
	with.template_bytes = 64 * 65536;
	start(&with);
	for (uint32_t round = 0; round < 3; round++) {
		len = 0;
		for (uint32_t i = 0; i < 50; i++)
			put_ipfix(i, round);
		send_from(0x0a000001);
		end_epoch();
		/* Known domains are read; everything after the fifth new one is not. */
		admitted += 4;
		assert_int_equal(t.nb_rows, admitted + 1);
		assert_true(t.rows[admitted].others);
		assert_int_equal(t.rows[admitted].shed, 1);
		assert_int_equal(t.rows[admitted].datagrams, 0);
	}
	stop();
	assert_non_null(strstr(t.said, "10.0.0.1"));
}

static void a_flood_costs_no_exporter_a_record(void **state)
{
	struct collector_params with = params();
	uint64_t records = 0;

	(void)state;
	start(&with);
	for (uint32_t i = 0; i < 3000; i++) {
		put_netflow5(1, 1, 100, 0);
		send_from(0x0b000000 + i * 7919);
		if (i % 10 == 0)
			send_from(0x0a000001 + i / 10 % 3);
		if (i % 500 == 499) {
			end_epoch();
			for (uint32_t j = 0; j < t.nb_rows; j++)
				if (!t.rows[j].others && t.rows[j].address.s6_addr[12] == 0x0a)
					records += t.rows[j].records;
		}
	}
	assert_true(t.nb_forgotten > 1000);
	/*
	 * The first record of each exporter is in the row of others, because its new slot was
	 * evicted again.
	 */
	assert_int_equal(records, 300 - 3);
	assert_int_equal(t.nb_seen, 3000 + 300);
	stop();
}

/* Sends a template, or data if `packets` is not 0. */
static void send_from_port(uint16_t port, uint32_t packets)
{
	source_port = port;
	if (fit == SEQUENCE_NEXT)
		fit = SEQUENCE_NEAR;
	put_netflow9(1, 1);
	if (packets > 0)
		put_data(1, packets);
	else
		put_template();
	send_from(0x0a000001);
	source_port = 0;
}

/* The sets that wait at the end of the run are counted at their exporter, whatever its sessions. */
static void waiting_sets_have_a_line(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	for (uint16_t port = 1; port <= 3; port++)
		send_from_port(port, 5);
	put_netflow9(1, 1);
	put_data(1, 5);
	send_from(0x0a000002);
	send_from(0x0a000002);
	end_epoch();
	assert_int_equal(t.rows[0].waiting, 3);
	assert_int_equal(t.rows[1].waiting, 2);
	t.nb_said = 0;
	stop();
	assert_int_equal(t.nb_said, 2);
	assert_non_null(strstr(t.said, "exporter 10.0.0.2"));
	assert_non_null(strstr(t.said, "(2 data sets)"));
}

/* Sessions of other ports are bounded, and do not end active ones. */
static void a_flood_of_ports(void **state)
{
	struct collector_params with = params();
	uint32_t seen = 0;

	(void)state;
	start(&with);
	for (uint32_t i = 0; i < 4; i++)
		send_from_port(60001 + i % 2, 0);
	for (uint32_t i = 1; i <= 5000; i++) {
		send_from_port((uint16_t)i, 0);
		if (i % 2 == 0) {
			send_from_port(60001 + i / 2 % 2, 1);
			seen++;
		}
		assert_int_equal(t.nb_seen, seen);
	}
	end_epoch();
	assert_int_equal(t.nb_rows, 1);
	assert_int_equal(t.rows[0].waiting + t.rows[0].unknown_template, 0);
	assert_int_equal(t.rows[0].restarts, 0);
	assert_in_range(t.rows[0].templates, 2, 4);
	/* Another exporter has its own templates. */
	put_netflow9(1, 1);
	put_data(1, 1);
	send_from(0x0a000002);
	assert_int_equal(t.nb_seen, seen);
	stop();
}

/* A restart counts once it is certain, and is withdrawn if the exporter continues. */
static void a_restart_is_taken_back(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	send_from_port(7, 0);
	send_from_port(7, 1);
	fit = SEQUENCE_RESTARTED;
	send_from_port(7, 0);
	send_from_port(7, 2); /* first session; fits both sessions */
	assert_int_equal(t.nb_seen, 2);
	end_epoch();
	assert_int_equal(t.rows[0].restarts, 0);
	assert_int_equal(t.rows[0].templates, 1);
	fit = SEQUENCE_ANEW;
	send_from_port(7, 0);
	end_epoch();
	assert_int_equal(t.rows[0].restarts, 0);
	stop();
}

/* Fields: addresses, protocol, packets, bytes, original exporter, sampling interval. */
static void put_mediated(uint32_t n, uint32_t first, uint32_t sampling)
{
	static const uint16_t fields[][2] = {
		{8, 4}, {12, 4}, {4, 1}, {2, 4}, {1, 4}, {130, 4}, {34, 4}};

	put_netflow9(1, n + 1);
	put(0, 2), put(4 + 4 + sizeof(fields), 2), put(258, 2), put(7, 2);
	for (size_t i = 0; i < 7; i++)
		put(fields[i][0], 2), put(fields[i][1], 2);
	put(258, 2), put(4 + n * 25, 2);
	for (uint32_t i = 0; i < n; i++) {
		put(0x0a000001, 4), put(0x0a000002, 4), put(17, 1);
		put(5, 4), put(500, 4), put(first + i, 4);
		put(sampling, 4);
	}
}

/* Original exporters have rows and slots; if there are too many, they evict each other. */
static void a_mediator_names_exporters(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	put_mediated(3, 0xc0000201, 0);
	send_from(0x0a000001);
	assert_int_equal(t.nb_seen, 3);
	assert_int_equal(t.seen[0].exporter, 1);
	assert_int_equal(t.seen[2].exporter, 3);
	end_epoch();
	assert_int_equal(t.nb_rows, 4);
	assert_int_equal(t.rows[0].datagrams, 1);
	assert_int_equal(t.rows[0].records, 0);
	assert_int_equal(t.rows[1].datagrams, 0);
	assert_int_equal(t.rows[1].records, 1);
	assert_int_equal(t.rows[1].address.s6_addr[15], 1);
	assert_int_equal(t.rows[3].address.s6_addr[15], 3);
	/* A datagram adds 4 records. */
	t.nb_seen = 0;
	put_mediated(10, 0xc0000302, 0);
	send_from(0x0a000001);
	assert_int_equal(t.nb_seen, 4);
	end_epoch();
	assert_int_equal(t.rows[0].records, 6);
	assert_int_equal(t.rows[0].unusable, 6);
	for (uint32_t i = 0; i < 400; i++) {
		t.nb_seen = 0;
		put_mediated(30, 0xc6000000 + 977 * i, 0);
		send_from(0x0a000001);
		if (i % 100 == 99) {
			end_epoch();
			assert_int_equal(t.rows[0].datagrams, 100);
		}
	}
	/* The sender's templates remain. */
	put_mediated(1, 0, 0);
	send_from(0x0a000001);
	assert_true(t.nb_seen > 0);
	assert_int_equal(t.seen[t.nb_seen - 1].exporter, 0);
	stop();
}

/* A mediator reports the sampling of its exporters; each has its own interval. */
static void originals_have_intervals(void **state)
{
	struct exporter_rule rules[2];
	struct collector_params with = params();
	char why[OPTION_WHY_MAX];

	(void)state;
	assert_true(exporter_rule_parse("192.0.2.2,sampling=70", &rules[0], why));
	assert_true(exporter_rule_parse("10.0.0.1", &rules[1], why));
	with.rules = rules;
	with.nb_rules = 2;
	start(&with);
	put_mediated(2, 0xc0000201, 0);
	send_from(0x0a000001);
	end_epoch();
	assert_int_equal(t.rows[2].sampling, 70);
	assert_int_equal(t.rows[1].sampling, 1);
	put_mediated(2, 0xc0000201, 300);
	send_from(0x0a000001);
	check_intervals(300, 300);
	assert_int_equal(t.rows[0].sampling, 0);
	assert_int_equal(t.rows[1].sampling, 300);
	assert_int_equal(t.rows[2].sampling, 300);
	check_intervals(300, 300);
	stop();
}

#define WIDE_FIELDS 40

/* Only its first two fields are used here. */
static void send_wide_template(uint32_t address, uint32_t id)
{
	put_netflow9(0, 1);
	put(0, 2), put(8 + 4 * WIDE_FIELDS, 2), put(id, 2), put(WIDE_FIELDS, 2);
	put(8, 2), put(4, 2), put(12, 2), put(4, 2);
	for (uint32_t i = 2; i < WIDE_FIELDS; i++)
		put(20000 + i, 2), put(4, 2);
	send_from(address);
}

static uint32_t templates_of(uint32_t address)
{
	for (uint32_t i = 0; i < t.nb_rows; i++)
		if (t.rows[i].address.s6_addr[15] == address)
			return (uint32_t)t.rows[i].templates;
	fail_msg("no row of %u", address);
	return 0;
}

/*
 * Some exporters have far more than a share of templates. A new exporter gets its share even if all
 * room is lent, and memory is bounded.
 */
static void many_templates_borrow_room(void **state)
{
	struct collector_params with = params();
	uint32_t most, sum = 0;

	(void)state;
	with.exporters_max = 32;
	with.template_bytes = 32 * 8192;
	start(&with);
	for (uint32_t i = 1; i < 32; i++)
		for (uint32_t j = 0; j < 100; j++)
			send_wide_template(i, 256 + j);
	put_netflow9(0, 2), put_template(), put_data(1, 5), send_from(32);
	end_epoch();
	most = templates_of(1);
	for (uint32_t i = 1; i < 32; i++) {
		sum += templates_of(i);
		assert_in_range(templates_of(i), 8192 / 2 / 300, most);
	}
	assert_int_equal(templates_of(8), most);
	assert_true(templates_of(31) * 2 < most);
	assert_true(sum * (8 + 4 * WIDE_FIELDS) < with.template_bytes);
	assert_int_equal(templates_of(32), 1);
	assert_int_equal(t.nb_seen, 1);
	stop();
}

static void names_tell_domains_apart(void **state)
{
	struct collector_params with = params();
	char name[ROUTER_NAME_MAX];

	(void)state;
	start(&with);
	put_netflow9(5, 1);
	put_template();
	send_from(0x0a000001);
	router_name_get(0, name);
	assert_string_equal(name, "10.0.0.1");
	put_netflow9(6, 1);
	put_template();
	send_from(0x0a000001);
	router_name_get(0, name);
	assert_string_equal(name, "10.0.0.1/5");
	router_name_get(1, name);
	assert_string_equal(name, "10.0.0.1/6");
	stop();
}

static void lines_are_rare(void **state)
{
	struct collector_params with = params();

	(void)state;
	start(&with);
	put_netflow5(1, 1, 100, 0);
	send_at(0x0a000001, T0 + SECOND_NS / 2, 0);
	assert_int_equal(t.nb_said, 0);
	send_at(0x0a000001, T0 + 90 * SECOND_NS, 0);
	send_at(0x0a000002, T0 + 90 * SECOND_NS, 0);
	send_at(0x0a000001, T0 + 90 * SECOND_NS, 0);
	assert_int_equal(t.nb_said, 1);
	assert_true(t.warning);
	assert_non_null(strstr(t.said, "10.0.0.1 is 90.000 s behind"));
	send_at(0x0a000002, T0 + 91 * SECOND_NS, 0);
	assert_int_equal(t.nb_said, 2);
	assert_non_null(strstr(t.said, "10.0.0.2 is 90.000 s behind"));
	script.recognized = true;
	send_at(0x0a000002, T0 + 93 * SECOND_NS, 0);
	assert_int_equal(t.nb_said, 3);
	assert_false(t.warning);
	stop();
}

static void records_pass_links(void **state)
{
	struct collector_params with = params();

	(void)state;
	with.links = true;
	start(&with);
	put_netflow5(2, 10, 1000, 100);
	send_from(0x0a000001);
	end_epoch();
	assert_int_equal(t.nb_links, 2);
	assert_int_equal(t.links[0].interface, 3);
	assert_int_equal(t.links[0].direction, LINK_IN);
	assert_int_equal(t.links[0].packets, 2000);
	assert_int_equal(t.links[0].bytes, 200000);
	assert_int_equal(t.links[1].interface, 4);
	assert_int_equal(t.links[1].direction, LINK_OUT);
	assert_int_equal(t.links[1].packets, 2000);
	assert_string_equal(t.links[1].exporter, "10.0.0.1");
	end_epoch();
	assert_int_equal(t.nb_links, 0);
	stop();
}

static void put_counters(uint64_t bytes, uint32_t packets)
{
	len = 0;
	put(5, 4), put(1, 4), put(0x0a000063, 4), put(0, 4), put(1, 4), put(1000, 4), put(1, 4);
	put(2, 4), put(4 + 4 + 4 + 8 + 88, 4), put(1, 4), put(9, 4), put(1, 4);
	put(1, 4), put(88, 4), put(9, 4), put(6, 4), put(1000000000, 8), put(1, 4), put(3, 4);
	put(bytes, 8), put(packets, 4);
	for (int i = 0; i < 5; i++)
		put(0, 4);
	put(bytes, 8), put(packets, 4);
	for (int i = 0; i < 5; i++)
		put(0, 4);
}

/* Counters of a direction are ignored if the agent does not count its bytes. */
static void counters_that_are_unknown(void **state)
{
	struct collector_params with = params();

	(void)state;
	with.links = true;
	start(&with);
	for (uint32_t i = 0; i < 2; i++) {
		put_counters(1000 + i * 500, 10 + i);
		len -= 32; /* output counters */
		put(UINT64_MAX, 8), put(UINT32_MAX, 4);
		len += 20;
		send_at(0x0a000001, T0 + i * SECOND_NS, 0);
	}
	end_epoch();
	assert_int_equal(t.nb_links, 1);
	assert_int_equal(t.links[0].direction, LINK_IN);
	assert_int_equal(t.links[0].counter_bytes, 500);
	assert_int_equal(t.links[0].counted_ns, SECOND_NS);
	stop();
}

static void counters_wrap_and_start_anew(void **state)
{
	struct collector_params with = params();

	(void)state;
	with.links = true;
	start(&with);
	put_counters(1000, UINT32_MAX - 9);
	send_at(0x0a000001, T0, 0);
	put_counters(101000, 90); /* 100 packets later */
	send_at(0x0a000002, T0 + 5 * SECOND_NS, 0);
	end_epoch();
	assert_int_equal(t.nb_rows, 1);
	assert_int_equal(t.rows[0].datagrams, 2);
	assert_int_equal(t.rows[0].address.s6_addr[15], 0x63); /* the agent */
	assert_int_equal(t.nb_links, 2);
	assert_int_equal(t.links[0].interface, 9);
	assert_int_equal(t.links[0].counter_packets, 100);
	assert_int_equal(t.links[0].counter_bytes, 100000);
	assert_int_equal(t.links[0].counted_ns, 5 * SECOND_NS);
	assert_int_equal(t.links[0].speed, 1000000000);
	put_counters(500, 5);
	send_at(0x0a000001, T0 + 6 * SECOND_NS, 0);
	end_epoch();
	assert_int_equal(t.nb_links, 0);
	put_counters(1500, 15);
	send_at(0x0a000001, T0 + 7 * SECOND_NS, 0);
	end_epoch();
	assert_int_equal(t.links[1].counter_packets, 10);
	assert_int_equal(t.links[1].counter_bytes, 1000);
	stop();
}

static void only_allowed_senders_are_heard(void **state)
{
	struct collector_params with = params();
	struct exporter_rule rules[2];
	struct collector_epoch epoch;
	char why[OPTION_WHY_MAX];

	(void)state;
	assert_true(exporter_rule_parse("10.0.0.99=agent", &rules[0], why));
	assert_true(exporter_rule_parse("10.0.0.1=sender", &rules[1], why));
	with.rules = rules;
	with.nb_rules = 2;
	with.links = true;
	start(&with);
	/* Agent 10.0.0.99 is allowed, but the sender is not. */
	put_counters(1000, 1);
	send_from(0x0a000002);
	/* Unreadable. */
	data[1] = 77;
	send_from(0x0a000002);
	epoch = end_epoch();
	assert_false(epoch.losses_unknown);
	assert_int_equal(t.nb_rows, 1);
	assert_true(t.rows[0].others);
	assert_int_equal(t.rows[0].refused, 2);
	assert_int_equal(t.rows[0].malformed, 0);
	/* Allowed: the rule of the agent applies, otherwise that of the sender. */
	send_from(0x0a000001);
	put_counters(1000, 1);
	send_from(0x0a000001);
	data[11] = 98;
	send_from(0x0a000001);
	/* A known agent's address in a stranger's datagram. */
	send_from(0x0a000002);
	epoch = end_epoch();
	assert_true(epoch.losses_unknown);
	assert_int_equal(t.nb_rows, 4);
	assert_string_equal(t.rows[0].name, "agent");
	assert_int_equal(t.rows[0].datagrams, 1);
	assert_string_equal(t.rows[1].name, "sender");
	assert_int_equal(t.rows[1].datagrams, 1);
	assert_int_equal(t.rows[1].address.s6_addr[15], 98);
	/* It sends for agents: an unreadable datagram is a damaged export. */
	assert_true(t.rows[2].sender);
	assert_string_equal(t.rows[2].name, "sender");
	assert_int_equal(t.rows[2].malformed, 1);
	assert_true(t.rows[3].others);
	assert_int_equal(t.rows[3].refused, 1);
	stop();
}

/* The template file, in its own directory. */
struct saved_file {
	char directory[32], path[64];
};

static void keep_templates(struct saved_file *kept, struct collector_params *with)
{
	strcpy(kept->directory, "/tmp/test_collector.XXXXXX");
	assert_non_null(mkdtemp(kept->directory));
	snprintf(kept->path, sizeof(kept->path), "%s/templates", kept->directory);
	with->template_file = kept->path;
}

static void remove_kept(const struct saved_file *kept)
{
	unlink(kept->path);
	assert_int_equal(rmdir(kept->directory), 0);
}

static void templates_outlive_the_collector(void **state)
{
	struct collector_params with = params();
	struct saved_file kept;
	char error[OPTION_WHY_MAX];
	size_t unkept = collector_memory(&with);

	(void)state;
	keep_templates(&kept, &with);
	assert_true(collector_memory(&with) >= unkept + with.template_bytes);
	start(&with);
	put_netflow9(1, 1);
	put_template();
	send_from(0x0a000001);
	stop();
	start(&with);
	put_netflow9(1, 1);
	put_data(1, 9);
	send_from(0x0a000001);
	assert_int_equal(t.nb_seen, 1);
	assert_int_equal(t.seen[0].packets, 9);
	/* The exporter restarted in between: the saved templates are void. */
	stop();
	start(&with);
	put_netflow9(1, 1);
	put_data(1, 9);
	data[7] = 77;
	data[6] = 77;
	send_from(0x0a000001);
	assert_int_equal(t.nb_seen, 0);
	end_epoch();
	assert_int_equal(t.rows[0].waiting, 1);
	collector_finish(t.collector);
	collector_destroy(t.collector);
	/* The directory disappears: one warning, and the collector continues. */
	start(&with);
	put_netflow9(1, 1);
	put_template();
	send_at(0x0a000001, T0 + 2 * SECOND_NS, 0);
	remove_kept(&kept);
	stop();
	assert_int_equal(t.nb_said, 1);
	assert_true(t.warning);
	assert_non_null(strstr(t.said, "cannot write: No such file"));
	assert_null(collector_create(&with, error));
	assert_non_null(strstr(error, kept.path));
}

/* Sets the header's time, in s since T0 by the exporter's clock, and its uptime, in ms. */
static void set_times(uint32_t seconds, uint32_t uptime)
{
	uint32_t end = len;

	len = 4;
	put(uptime, 4), put(T0 / SECOND_NS + seconds, 4);
	len = end;
}

/* An uptime that counts slightly too slowly is not a restart, after any duration. */
static void templates_outlive_a_slow_uptime(void **state)
{
	struct collector_params with = params();
	struct saved_file kept;

	(void)state;
	keep_templates(&kept, &with);
	start(&with);
	put_netflow9(1, 1);
	put_template();
	send_from(0x0a000001);
	end_epoch(); /* saves them */
	for (uint32_t i = 0; i <= 100; i++) {
		put_netflow9(1, 1);
		put_data(1, 9);
		set_times(10000 * i, 1000 + 9999900 * i);
		send_from(0x0a000001);
	}
	stop();
	start(&with);
	put_netflow9(1, 1);
	put_data(1, 9);
	set_times(1000000, 1000 + 999990000);
	send_from(0x0a000001);
	assert_int_equal(t.nb_seen, 1);
	stop();
	remove_kept(&kept);
}

/*
 * After a restart of the collector, records with saved templates keep their sampling before options
 * come again.
 */
static void sampling_outlives_the_collector(void **state)
{
	struct collector_params with = params();
	struct saved_file kept;

	(void)state;
	keep_templates(&kept, &with);
	start(&with);
	put_netflow9(1, 1);
	put_template();
	send_from(0x0a000001);
	end_epoch();
	put_netflow9(1, 2);
	put_options(500);
	send_from(0x0a000001);
	stop();
	for (uint32_t i = 0; i < 2; i++) {
		start(&with);
		put_netflow9(1, 1);
		put_sampled(1, 1, 7);
		send_from(0x0a000001);
		assert_int_equal(t.nb_seen, 1);
		assert_int_equal(t.seen[0].sampling, 500);
		assert_false(end_epoch().losses_unknown);
		assert_int_equal(t.rows[0].sampling_source, SAMPLING_OPTIONS);
		stop();
		assert_int_equal(t.nb_said, 0);
	}
	/* The exporter restarted in between: its sampling is unknown. */
	start(&with);
	put_netflow9(1, 2);
	put_template();
	put_sampled(1, 1, 7);
	set_times(0, 77000);
	send_from(0x0a000001);
	assert_int_equal(t.seen[0].sampling, 1);
	assert_true(end_epoch().losses_unknown);
	stop();
	remove_kept(&kept);
}

/* The first failure and the recovery are logged, and nothing in between. */
static void templates_are_saved_where_it_failed(void **state)
{
	struct collector_params with = params();
	struct saved_file kept;

	(void)state;
	keep_templates(&kept, &with);
	start(&with);
	assert_int_equal(rmdir(kept.directory), 0);
	put_netflow9(1, 1);
	put_template();
	for (int i = 0; i < 2; i++) {
		bool written = i == 1;

		/* A running save has no result yet. */
		for (int tries = 0; t.nb_said <= (uint32_t)i && tries < 10000; tries++) {
			/* The clock was set back, so that the ten seconds do not apply. */
			send_at(0x0a000001, T0 - i * SECOND_NS, 0);
			collector_save_templates(t.collector);
			usleep(1000);
		}
		assert_int_equal(t.nb_said, i + 1);
		assert_int_equal(t.warning, !written);
		assert_non_null(strstr(t.said, written ? "writing again" : "No such file"));
		if (!written)
			assert_int_equal(mkdir(kept.directory, 0700), 0);
	}
	assert_int_equal(access(kept.path, F_OK), 0);
	stop();
	assert_int_equal(t.nb_said, 2);
	remove_kept(&kept);
}

/* Roles for the template file: whether they can be read now, and what a new collector restored. */
static struct {
	bool ready;
	uint32_t asked, restored;
	struct interface_role_row row;
} roles;

static bool on_emit_roles(void *arg,
	void (*emit)(void *emit_arg, const struct interface_role_row *row), void *emit_arg)
{
	(void)arg;
	roles.asked++;
	if (roles.ready)
		emit(emit_arg,
			&(struct interface_role_row){.side = 1, .interface = 7, .saved = ROLE_FED});
	return roles.ready;
}

static void on_restore_role(void *arg, const struct interface_role_row *row, int64_t saved_at)
{
	(void)arg;
	assert_true(saved_at >= T0);
	roles.restored++;
	roles.row = *row;
}

/* A template file without the roles would replace one that has them: it waits until they are read. */
static void templates_wait_for_the_roles(void **state)
{
	struct collector_params with = params();
	struct saved_file kept;

	(void)state;
	memset(&roles, 0, sizeof(roles));
	keep_templates(&kept, &with);
	with.emit_roles = on_emit_roles;
	with.restore_role = on_restore_role;
	start(&with);
	put_netflow9(1, 1);
	put_template();
	send_from(0x0a000001);
	collector_save_templates(t.collector);
	assert_int_equal(roles.asked, 1);
	assert_int_not_equal(access(kept.path, F_OK), 0);
	roles.ready = true;
	for (int tries = 0; access(kept.path, F_OK) != 0 && tries < 10000; tries++) {
		collector_save_templates(t.collector);
		usleep(1000);
	}
	assert_in_range(roles.asked, 2, 3);
	stop();
	start(&with);
	assert_int_equal(roles.restored, 1);
	assert_int_equal(roles.row.interface, 7);
	assert_int_equal(roles.row.side, 1);
	assert_int_equal(roles.row.saved, ROLE_FED);
	stop();
	remove_kept(&kept);
}

static void put_scaled_record(uint64_t packets, uint64_t bytes)
{
	static const uint16_t fields[][2] = {{8, 4}, {12, 4}, {4, 1}, {2, 8}, {1, 8}};
	const uint32_t template_bytes = 8 + sizeof(fields), data_bytes = 4 + 25;

	len = 0;
	put(10, 2), put(16 + template_bytes + data_bytes, 2), put(T0 / SECOND_NS, 4), put(0, 4);
	put(1, 4);
	put(2, 2), put(template_bytes, 2), put(300, 2), put(5, 2);
	for (size_t i = 0; i < 5; i++)
		put(fields[i][0], 2), put(fields[i][1], 2);
	put(300, 2), put(data_bytes, 2), put(0x0a000001, 4), put(0x0a000002, 4), put(17, 1);
	put(packets, 8), put(bytes, 8);
}

static uint64_t sampled(struct random *random, uint64_t packets, uint32_t interval)
{
	uint64_t samples = 0;

	for (uint64_t i = 0; i < packets; i++)
		samples += random_below(random, interval) == 0;
	return samples;
}

#define SCALED_SEEDS 600

/*
 * A switch counts its samples times its interval, and changes the interval while it caches a flow.
 * Observations have samples at the coarser interval. Their estimates have the true mean, and bounds
 * fail no more often than they may.
 */
static void scaled_records_keep_their_bounds(void **state)
{
	static const uint32_t intervals[][2] = {{20, 20}, {20, 50}, {50, 20}, {1, 30}, {7, 64}};
	struct exporter_rule rule = {.bits = 128, .ovsdb = "unix:none"};
	struct collector_params with = params();
	const double log_inverse = 3; /* each end fails with a probability of at most 0.05 */
	const uint64_t half = 400;

	(void)state;
	rule.prefix[10] = rule.prefix[11] = 0xff;
	rule.prefix[12] = 0x0a, rule.prefix[15] = 1;
	with.rules = &rule;
	with.nb_rules = 1;
	for (size_t c = 0; c < sizeof(intervals) / sizeof(intervals[0]); c++) {
		uint32_t before = intervals[c][0], after = intervals[c][1], failed = 0;
		uint32_t coarse = before > after ? before : after;
		double sum = 0, mean;

		for (uint32_t seed = 0; seed < SCALED_SEEDS; seed++) {
			struct random random;
			uint64_t estimate = 0, packets;
			struct estimate_bounds bounds;

			random_init(&random, seed);
			with.seed = seed + 1;
			start(&with);
			collector_scale_sampling(t.collector, 0, coarse);
			for (int record = 0; record < 4; record++) {
				packets = sampled(&random, half / 4, before) * before +
					  sampled(&random, half / 4, after) * after;
				if (packets == 0)
					continue;
				put_scaled_record(packets, packets * 500);
				send_from(0x0a000001);
			}
			for (uint32_t i = 0; i < t.nb_seen; i++) {
				assert_int_equal(t.seen[i].sampling, coarse);
				assert_int_equal(t.seen[i].bytes, t.seen[i].packets * 500);
				estimate += t.seen[i].packets * coarse;
			}
			bounds = estimate_bound(estimate, coarse, 1, log_inverse);
			failed += 2 * half < bounds.low || 2 * half > bounds.high;
			sum += (double)estimate;
			assert_false(end_epoch().losses_unknown);
			stop();
		}
		mean = sum / SCALED_SEEDS;
		/* Five standard errors; the variance of an estimate is at most packets * interval. */
		assert_true(fabs(mean - 2 * (double)half) <=
			    5 * sqrt(2 * (double)half * coarse / SCALED_SEEDS));
		assert_true(failed <= 0.1 * SCALED_SEEDS + 5 * sqrt(0.1 * SCALED_SEEDS));
	}
}

/* Until the scale is known, there are no upper bounds. */
static void an_unknown_scale_has_no_bounds(void **state)
{
	struct exporter_rule rule = {.ovsdb = "unix:none"};
	struct collector_params with = params();

	(void)state;
	with.rules = &rule;
	with.nb_rules = 1;
	start(&with);
	put_scaled_record(100, 50000);
	send_from(0x0a000001);
	assert_int_equal(t.seen[0].packets, 100);
	assert_int_equal(t.seen[0].sampling, 1);
	assert_true(end_epoch().losses_unknown);
	stop();
}

/* Packets may have been sampled at an interval that no sample has stated yet. */
static void an_expected_interval_counts(void **state)
{
	struct collector_params with = params();
	struct collector_epoch epoch;

	(void)state;
	start(&with);
	put_netflow5(1, 1, 100, 0x4000 | 10);
	send_from(0x0a000001);
	collector_expect_sampling(t.collector, 0, 1000, false);
	epoch = end_epoch();
	assert_int_equal(epoch.coarsest, 1000);
	assert_int_equal(epoch.finest, 10);
	assert_false(epoch.losses_unknown);
	send_from(0x0a000001);
	collector_expect_sampling(t.collector, 0, 10, true);
	epoch = end_epoch();
	assert_int_equal(epoch.coarsest, 10);
	assert_true(epoch.losses_unknown);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_becomes_an_observation),
		cmocka_unit_test(an_exporter_without_samples_counts),
		cmocka_unit_test(samples_that_an_agent_lost_are_open),
		cmocka_unit_test(copies_report_no_losses),
		cmocka_unit_test(losses_of_an_exporter_are_open),
		cmocka_unit_test(the_coarsest_interface_counts),
		cmocka_unit_test(intervals_that_no_record_had_count),
		cmocka_unit_test(a_doubt_outlives_its_records),
		cmocka_unit_test(sets_wait_for_their_template),
		cmocka_unit_test(sets_wait_for_an_hour),
		cmocka_unit_test(sequences_move_their_columns),
		cmocka_unit_test(a_restart_voids_templates),
		cmocka_unit_test(options_say_the_sampling),
		cmocka_unit_test(samplers_that_nobody_names),
		cmocka_unit_test(more_interfaces_than_are_remembered),
		cmocka_unit_test(what_cannot_be_read_is_counted),
		cmocka_unit_test(strangers_leave_nothing_open),
		cmocka_unit_test(a_flood_of_unreadable_datagrams),
		cmocka_unit_test(streams_are_reported),
		cmocka_unit_test(each_problem_has_a_line),
		cmocka_unit_test(waiting_sets_have_a_line),
		cmocka_unit_test(padding_is_no_damage),
		cmocka_unit_test(records_of_nothing_leave_nothing_open),
		cmocka_unit_test(no_record_makes_a_sum_wrap),
		cmocka_unit_test(no_exporter_uses_up_the_sums_of_another),
		cmocka_unit_test(a_slot_has_one_share_of_an_epoch),
		cmocka_unit_test(tiny_sets_wait_as_their_bytes_do),
		cmocka_unit_test(a_datagram_has_few_new_domains),
		cmocka_unit_test(a_flood_costs_no_exporter_a_record),
		cmocka_unit_test(a_flood_of_ports),
		cmocka_unit_test(a_restart_is_taken_back),
		cmocka_unit_test(a_mediator_names_exporters),
		cmocka_unit_test(originals_have_intervals),
		cmocka_unit_test(many_templates_borrow_room),
		cmocka_unit_test(names_tell_domains_apart),
		cmocka_unit_test(lines_are_rare),
		cmocka_unit_test(records_pass_links),
		cmocka_unit_test(counters_that_are_unknown),
		cmocka_unit_test(counters_wrap_and_start_anew),
		cmocka_unit_test(only_allowed_senders_are_heard),
		cmocka_unit_test(templates_outlive_the_collector),
		cmocka_unit_test(templates_outlive_a_slow_uptime),
		cmocka_unit_test(sampling_outlives_the_collector),
		cmocka_unit_test(templates_are_saved_where_it_failed),
		cmocka_unit_test(templates_wait_for_the_roles),
		cmocka_unit_test(scaled_records_keep_their_bounds),
		cmocka_unit_test(an_unknown_scale_has_no_bounds),
		cmocka_unit_test(an_expected_interval_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
