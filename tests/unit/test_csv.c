/* SPDX-License-Identifier: BSD-3-Clause */

/* The two CSV files, byte for byte. */

#include <arpa/inet.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "collect/exporters/collector_rows.h"
#include "report/formats/format.h"
#include "report/rows/rows.h"
#include "print_output.h"
#include "sample_epoch.h"

#define SPAN "2026-11-20T13:52:44.000000Z,2026-11-20T13:52:45.000000Z"

static void assert_text(struct text *text, const char *expected)
{
	text_char(text, '\0');
	assert_false(text->failed);
	assert_string_equal(text->data, expected);
	text_free(text);
}

static void assert_epoch(
	const struct output *output, struct report_epoch *epoch, const char *expected)
{
	struct text text = {0};

	print_epoch(&text, &format_csv, output, epoch);
	assert_text(&text, expected);
	report_epoch_free(epoch);
}

static void assert_time(int64_t ns, const char *expected)
{
	struct text text = {0};

	text_time(&text, ns);
	assert_text(&text, expected);
}

static void test_time(void **state)
{
	(void)state;
	assert_time(0, "1970-01-01T00:00:00.000000Z");
	assert_time(SAMPLE_START, "2026-11-20T13:52:44.000000Z");
	assert_time(SAMPLE_START + 1999, "2026-11-20T13:52:44.000001Z");
	assert_time(SAMPLE_START + SAMPLE_SECOND - 1, "2026-11-20T13:52:44.999999Z");
	assert_time(INT64_C(951782400000000000), "2000-02-29T00:00:00.000000Z");
	assert_time(-1, "1969-12-31T23:59:59.999999Z");
	assert_time(-SAMPLE_SECOND, "1969-12-31T23:59:59.000000Z");
	assert_time(INT64_MIN, "1677-09-21T00:12:43.145224Z");
	assert_time(INT64_MAX, "2262-04-11T23:47:16.854775Z");
}

/*
 * Every day in the range of an int64_t in ns, compared with the C library's calendar, each at
 * another time of day.
 */
static void test_days(void **state)
{
	const int64_t last = INT64_MAX / SAMPLE_SECOND / 86400;

	(void)state;
	for (int64_t day = -last; day < last; day++) {
		int64_t second = day * 86400 + (day * 7919 % 86400 + 86400) % 86400;
		time_t time = (time_t)second;
		char expected[64];
		struct tm tm;

		gmtime_r(&time, &tm);
		strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S.000001Z", &tm);
		assert_time(second * SAMPLE_SECOND + 1000, expected);
	}
}

static void test_numbers(void **state)
{
	struct text text = {0};

	(void)state;
	text_u64(&text, 0);
	text_char(&text, ' ');
	text_u64(&text, UINT64_MAX);
	text_char(&text, ' ');
	text_grouped(&text, 999);
	text_char(&text, ' ');
	text_grouped(&text, 1000);
	text_char(&text, ' ');
	text_grouped(&text, UINT64_MAX);
	assert_text(&text, "0 18446744073709551615 999 1,000 18,446,744,073,709,551,615");
}

static void assert_number(uint64_t value)
{
	struct text text = {0};
	char expected[32];

	text_u64(&text, value);
	snprintf(expected, sizeof(expected), "%" PRIu64, value);
	assert_text(&text, expected);
}

/* Around each value at which the number of digits or of bits changes. */
static void test_lengths_of_numbers(void **state)
{
	(void)state;
	for (uint64_t value = 1, power = 0; power < 20; power++, value *= 10)
		for (uint64_t d = 0; d < 3; d++)
			assert_number(value + d - 1);
	for (uint32_t bit = 0; bit < 64; bit++)
		for (uint64_t d = 0; d < 3; d++)
			assert_number((UINT64_C(1) << bit) + d - 1);
}

/* One text with times of several days in turn. */
static void test_times_in_turn(void **state)
{
	const int64_t day = 86400 * SAMPLE_SECOND;
	struct text text = {0};

	(void)state;
	text_time(&text, 0);
	text_time(&text, -1);
	text_time(&text, day - 1);
	text_time(&text, day);
	text_time(&text, 0);
	text_clear(&text);
	text_time(&text, day);
	text_time(&text, 1000);
	assert_text(&text, "1970-01-02T00:00:00.000000Z1970-01-01T00:00:00.000001Z");
	text_time(&text, 0);
	text_time(&text, -1);
	text_time(&text, day - 1);
	assert_text(&text, "1970-01-01T00:00:00.000000Z1969-12-31T23:59:59.999999Z"
			   "1970-01-01T23:59:59.999999Z");
}

static void test_text_grows(void **state)
{
	struct text text = {0};

	(void)state;
	for (uint32_t i = 0; i < 100000; i++)
		text_printf(&text, "%05u", i);
	assert_false(text.failed);
	assert_int_equal(text.len, 500000);
	assert_memory_equal(text.data + 5 * 4711, "04711", 5);
	assert_memory_equal(text.data + 5 * 99999, "99999", 5);
	text_free(&text);
}

static void test_quoting(void **state)
{
	struct text text = {0};

	(void)state;
	csv_string(&text, "plain name");
	csv_string(&text, "");
	csv_string(&text, "a,b");
	csv_string(&text, "say \"hi\"");
	csv_string(&text, "two\nlines");
	assert_text(&text, ",plain name,,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\"");
}

/* Formats a --links row whose interface has this name. */
static void print_link(struct text *text, const struct format *format, const char *name)
{
	struct report_epoch *epoch = sample_epoch(7, 1);
	struct link_row *link = calloc(1, sizeof(*link));

	epoch->collected = calloc(1, sizeof(*epoch->collected));
	assert_non_null(link);
	assert_non_null(epoch->collected);
	epoch->collected->links = link;
	epoch->collected->nb_links = 1;
	inet_pton(AF_INET6, "::ffff:192.0.2.1", &link->address);
	snprintf(link->exporter, sizeof(link->exporter), "-r1");
	snprintf(link->name, sizeof(link->name), "%s", name);
	link->interface = 3;
	link->has_interface = true;
	link->bytes = 100;
	link->counter_bytes = 200;
	link->counted_ns = SAMPLE_SECOND;
	print_epoch(text, format, &output_links, epoch);
	report_epoch_free(epoch);
}

/* An unknown interface is empty. */
static void test_link_without_interface(void **state)
{
	struct report_epoch *epoch = sample_epoch(7, 1);
	struct link_row *link = calloc(1, sizeof(*link));
	struct text text = {0};

	(void)state;
	epoch->collected = calloc(1, sizeof(*epoch->collected));
	assert_non_null(link);
	assert_non_null(epoch->collected);
	epoch->collected->links = link;
	epoch->collected->nb_links = 1;
	snprintf(link->exporter, sizeof(link->exporter), "r1");
	link->direction = LINK_NEITHER;
	link->packets = 2;
	link->bytes = 100;
	print_epoch(&text, &format_csv, &output_links, epoch);
	assert_non_null(strstr(text.data, "Z,r1,,,,2,100,800,,,records,,,\n"));
	text_free(&text);
	report_epoch_free(epoch);
}

/*
 * Text from the network never begins a formula in CSV; numbers and names of the operator are
 * unchanged.
 */
static void test_formulas(void **state)
{
	static const struct {
		const char *name, *csv, *json;
	} names[] = {
		{"=1+1", "'=1+1", "=1+1"},
		{"+49", "'+49", "+49"},
		{"-2+3", "'-2+3", "-2+3"},
		{"@SUM(A1)", "'@SUM(A1)", "@SUM(A1)"},
		{"  =A1", "'  =A1", "  =A1"},
		{"=", "'=", "="},
		{"=\"a\",b", "\"'=\"\"a\"\",b\"", "=\\\"a\\\",b"},
		{"Gi0/1=up", "Gi0/1=up", "Gi0/1=up"},
		{"'=1", "'=1", "'=1"},
		{"", "", NULL},
		{" ", " ", " "},
	};
	struct text text = {0};
	char expected[512];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		print_link(&text, &format_csv, names[i].name);
		snprintf(expected, sizeof(expected),
			"7," SPAN ",-r1,3,%s,in,0,100,1600,,,counters,-0.500000,,\n", names[i].csv);
		assert_text(&text, expected);
		print_link(&text, &format_json, names[i].name);
		text_char(&text, '\0');
		snprintf(expected, sizeof(expected), "\"name\":%s%s%s,",
			names[i].json != NULL ? "\"" : "",
			names[i].json != NULL ? names[i].json : "null",
			names[i].json != NULL ? "\"" : "");
		assert_non_null(strstr(text.data, expected));
		text_free(&text);
	}
}

static void test_headers(void **state)
{
	struct text text = {0};

	(void)state;
	print_header(&text, &format_csv, &output_heavy_hitters, 0);
	assert_text(&text,
		"epoch,measurement,start,end,rank,src_ip,dst_ip,src_port,dst_port,proto,packets,bytes,packets_low,packets_high,bytes_low,bytes_high,confidence,share\n");
	print_header(&text, &format_csv, &output_stats, 0);
	assert_text(&text,
		"epoch,measurement,start,end,offered,received,measured,filtered,non_ip,malformed,nic_missed,nic_errors,no_mbuf,ring_full,shed,unaccounted,bytes,distinct_keys,pps,bps,drop_rate,rx_ns,ppt_ns,free_ns,delay_ns,design,sharing,sketch,workers\n");
	print_header(&text, &format_csv, &output_queues, 0);
	assert_text(&text,
		"epoch,start,end,worker,lcore,cpu,ports,queue,received,measured,ring_full,bytes,share,busy,imbalance\n");
	print_header(&text, &format_csv, &output_flows, 0);
	assert_text(&text,
		"epoch,measurement,start,src_ip,dst_ip,src_port,dst_port,proto,packets,bytes,first,last,tcp_flags,ended\n");
}

static void test_queues(void **state)
{
	struct report_epoch *epoch = sample_epoch(7, 1);
	struct text text = {0};

	(void)state;
	epoch->loads[0] = (struct report_load){
		.lcore = 1,
		.cpu = 4,
		.ports = "eth0 eth1",
		.received = 100,
		.measured = 90,
		.bytes = 7000,
		.busy_ns = 250000000,
	};
	epoch->loads[1] = (struct report_load){
		.lcore = 2,
		.cpu = -1,
		.ports = "",
		.queue = -1,
		.received = 300,
		.measured = 280,
		.ring_full = 20,
		.bytes = 20000,
		.busy_ns = 500000000,
	};
	epoch->live = true;
	print_epoch(&text, &format_csv, &output_queues, epoch);
	assert_text(&text, "7," SPAN ",0,1,4,eth0 eth1,0,100,90,0,7000,0.250000,0.250000,1.500000\n"
			   "7," SPAN ",1,2,,,,300,280,20,20000,0.750000,0.500000,1.500000\n");
	assert_int_equal(output_rows(&output_queues, epoch), 2);
	/*
	 * In packet time there is no share of a worker's time; without packets there is no
	 * imbalance.
	 */
	epoch->live = false;
	epoch->loads[0].received = epoch->loads[1].received = 0;
	print_epoch(&text, &format_csv, &output_queues, epoch);
	assert_text(&text, "7," SPAN ",0,1,4,eth0 eth1,0,0,90,0,7000,0.000000,,\n"
			   "7," SPAN ",1,2,,,,0,280,20,20000,0.000000,,\n");
	report_epoch_free(epoch);
}

static void test_heavy_hitters(void **state)
{
	struct report_epoch *epoch = sample_epoch(7, 1);
	const struct report_row rows[] = {
		{
			.key = sample_key4("10.0.0.1", 443, "10.0.0.2", 5123, 6),
			.packets = sample_figure(1234555, 1234567, 1234569),
			.bytes = sample_figure(79011520, 79012288, 79012416),
			.share = 0.25,
		},
		{
			.key = sample_key6("2001:db8::1", 65535, "fe80::2", 53, 17),
			.packets = sample_figure(2, 2, 2),
			.bytes = sample_figure(120, 120, 120),
			.share = 2.0 / 3,
		},
	};

	(void)state;
	sample_rows(&epoch->measurements[0], rows, 2);
	assert_epoch(&output_heavy_hitters, epoch,
		"7,main," SPAN ",1,10.0.0.1,10.0.0.2,443,5123,6,1234567,79012288,1234555,1234569,"
		"79011520,79012416,0.999,0.250000\n"
		"7,main," SPAN
		",2,2001:db8::1,fe80::2,65535,53,17,2,120,2,2,120,120,0.999,0.666667\n");
}

static void test_flows(void **state)
{
	(void)state;
	assert_epoch(&output_flows, sample_flows(7),
		"7,main,2026-11-20T13:52:44.000000Z,10.0.0.1,10.0.0.2,5123,0,6,1,60,"
		"2026-11-20T13:52:44.000000Z,2026-11-20T13:52:44.000000Z,16,idle\n"
		"7,main,2026-11-20T13:52:44.000000Z,10.0.0.1,10.0.0.2,5123,1,6,2,120,"
		"2026-11-20T13:52:44.000000Z,2026-11-20T13:52:44.500000Z,17,interval\n"
		"7,main,2026-11-20T13:52:44.000000Z,10.0.0.1,10.0.0.2,5123,2,6,3,180,2026-11-20T13:52:44.000000Z,2026-11-20T13:52:45.000000Z,18,end\n");
}

/* Saturated: no high. Bytes unknown. Losses unknown: no high, no confidence. */
static void test_unknown_columns(void **state)
{
	struct report_epoch *epoch = sample_epoch(0, 1);
	const struct report_row rows[] = {
		{
			.key = sample_key4("1.2.3.4", 0, "5.6.7.8", 0, 1),
			.packets = {.value = UINT32_MAX, .low = 5, .known = true},
			.share = 1,
		},
		{
			.key = sample_key4("1.2.3.4", 0, "5.6.7.8", 0, 1),
			.bytes = {.value = 900, .low = 800, .known = true},
			.share = 0.5,
		},
	};

	(void)state;
	sample_rows(&epoch->measurements[0], rows, 2);
	epoch->measurements[0].confidence_known = false;
	assert_epoch(&output_heavy_hitters, epoch,
		"0,main," SPAN ",1,1.2.3.4,5.6.7.8,0,0,1,4294967295,,5,,,,,1.000000\n"
		"0,main," SPAN ",2,1.2.3.4,5.6.7.8,0,0,1,,900,,,800,,,0.500000\n");
}

static void test_key_rules(void **state)
{
	static const char *const names[] = {"src", "dst", "src-dst"};
	static const char *const columns[] = {
		"10.0.0.1,,,,", ",10.0.0.2,,,", "10.0.0.1,10.0.0.2,,,"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct report_epoch *epoch = sample_epoch(0, 1);
		const struct report_row row = {
			.key = sample_key4("10.0.0.1", 0, "10.0.0.2", 0, 0),
			.packets = sample_figure(1, 1, 1),
			.bytes = sample_figure(60, 60, 60),
			.share = 1e-7,
		};
		char expected[256];

		epoch->measurements[0].key_rule = key_rule_find(names[i]);
		assert_non_null(epoch->measurements[0].key_rule);
		epoch->measurements[0].name = "by,host";
		epoch->measurements[0].confidence = 0.9999999;
		sample_rows(&epoch->measurements[0], &row, 1);
		snprintf(expected, sizeof(expected),
			"0,\"by,host\"," SPAN ",1,%s,1,60,1,1,60,60,0.9999999,0.000000\n",
			columns[i]);
		assert_epoch(&output_heavy_hitters, epoch, expected);
	}
}

static void test_no_rows(void **state)
{
	(void)state;
	assert_epoch(&output_heavy_hitters, sample_epoch(3, 2), "");
	assert_epoch(&output_stats, sample_epoch(3, 0), "");
}

static struct report_epoch *busy_epoch(void)
{
	struct report_epoch *epoch = sample_epoch(12, 2);

	epoch->ledger = (struct ledger){
		.offered = 1000,
		.received = 900,
		.measured = 850,
		.filtered = 1,
		.non_ip = 20,
		.malformed = 9,
		.nic_missed = 60,
		.nic_errors = 30,
		.no_mbuf = 10,
		.ring_full = 15,
		.shed = 5,
		.unaccounted = 3,
		.bytes = 54400,
		.rx_ns = 4545,
		.ppt_ns = 13500,
		.free_ns = 900,
	};
	epoch->measurements[0].distinct_keys = 77;
	epoch->measurements[1].distinct_keys = 5;
	epoch->measurements[1].name = "hosts";
	epoch->measurements[1].sketch = "simple-hash";
	return epoch;
}

/* drop_rate = (60 + 30 + 10 + 15 + 5) / 1000; delay_ns = (4545 + 13500 + 900) / 900 */
static void test_stats(void **state)
{
	(void)state;
	assert_epoch(&output_stats, busy_epoch(),
		"12,main," SPAN ",1000,900,850,1,20,9,60,30,10,15,5,3,54400,77,850,435200,0.120000,"
		"5.0,15.0,1.0,21.1,rss,separate,count-min,2\n"
		"12,hosts," SPAN
		",1000,900,850,1,20,9,60,30,10,15,5,3,54400,5,850,435200,0.120000,5.0,15.0,1.0,21.1,rss,separate,simple-hash,2\n");
}

/* 850 packets in 600 ms are 1416.7 per second; 435200 bits are 725333.3 per second. */
static void test_stats_rounds_rates(void **state)
{
	struct report_epoch *epoch = busy_epoch();

	(void)state;
	epoch->nb_measurements = 1;
	epoch->end = epoch->start + 600000000;
	assert_epoch(&output_stats, epoch,
		"12,main,2026-11-20T13:52:44.000000Z,2026-11-20T13:52:44.600000Z,1000,900,850,1,20,9,60,30,10,15,5,3,54400,77,1417,725333,0.120000,5.0,15.0,1.0,21.1,rss,separate,count-min,2\n");
}

static void test_stats_without_duration_or_packets(void **state)
{
	struct report_epoch *epoch = sample_epoch(0, 1);

	(void)state;
	epoch->end = epoch->start;
	assert_epoch(&output_stats, epoch,
		"0,main,2026-11-20T13:52:44.000000Z,2026-11-20T13:52:44.000000Z,0,0,0,0,0,0,0,0,0,0,0,0,0,0,,,,,,,,rss,separate,count-min,2\n");
}

static void test_rates_saturate(void **state)
{
	(void)state;
	assert_int_equal(report_per_second(3, 2000000000), 2); /* 1.5, rounded */
	assert_true(report_per_second(UINT64_MAX, 1000000000) == UINT64_MAX);
	assert_true(report_per_second((unsigned __int128)UINT64_MAX * 8, 1) == UINT64_MAX);
}

static void test_duration(void **state)
{
	struct report_epoch epoch = {.start = INT64_MIN, .end = INT64_MAX};

	(void)state;
	assert_true(report_duration(&epoch) == UINT64_MAX);
	epoch.end = INT64_MIN;
	assert_true(report_duration(&epoch) == 0);
	epoch.start = 5; /* a capture with decreasing times */
	assert_true(report_duration(&epoch) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_days),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_lengths_of_numbers),
		cmocka_unit_test(test_times_in_turn),
		cmocka_unit_test(test_text_grows),
		cmocka_unit_test(test_quoting),
		cmocka_unit_test(test_formulas),
		cmocka_unit_test(test_link_without_interface),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_heavy_hitters),
		cmocka_unit_test(test_unknown_columns),
		cmocka_unit_test(test_key_rules),
		cmocka_unit_test(test_no_rows),
		cmocka_unit_test(test_stats),
		cmocka_unit_test(test_stats_rounds_rates),
		cmocka_unit_test(test_stats_without_duration_or_packets),
		cmocka_unit_test(test_rates_saturate),
		cmocka_unit_test(test_duration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
