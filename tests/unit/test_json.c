/* SPDX-License-Identifier: BSD-3-Clause */

/* JSON lines, byte for byte, and which lines count as rows of a file. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "print_output.h"
#include "sample_epoch.h"

#define SPAN "\"start\":\"2026-11-20T13:52:44.000000Z\",\"end\":\"2026-11-20T13:52:45.000000Z\""

static void assert_epoch(
	const struct output *output, struct report_epoch *epoch, const char *expected)
{
	struct text text = {0};

	print_epoch(&text, &format_json, output, epoch);
	text_char(&text, '\0');
	assert_false(text.failed);
	assert_string_equal(text.data, expected);
	text_free(&text);
	report_epoch_free(epoch);
}

static void test_no_header(void **state)
{
	(void)state;
	assert_null(format_json.header);
}

/* 500 ms: 2469134 packets and 632098304 bits a second. */
static void test_heavy_hitters(void **state)
{
	struct report_epoch *epoch = sample_epoch(7, 1);
	const struct report_row row = {
		.key = sample_key4("10.0.0.1", 443, "10.0.0.2", 5123, 6),
		.packets = sample_figure(1234555, 1234567, 1234569),
		.bytes = sample_figure(39505760, 39506144, 39506208),
		.share = 0.25,
	};

	(void)state;
	epoch->end -= SAMPLE_SECOND / 2;
	sample_rows(&epoch->measurements[0], &row, 1);
	assert_epoch(&output_heavy_hitters, epoch,
		"{\"epoch\":7,\"measurement\":\"main\",\"start\":\"2026-11-20T13:52:44.000000Z\","
		"\"end\":\"2026-11-20T13:52:44.500000Z\",\"rank\":1,\"src_ip\":\"10.0.0.1\","
		"\"dst_ip\":\"10.0.0.2\",\"src_port\":443,\"dst_port\":5123,\"proto\":6,"
		"\"packets\":1234567,\"bytes\":39506144,\"packets_low\":1234555,"
		"\"packets_high\":1234569,\"bytes_low\":39505760,\"bytes_high\":39506208,"
		"\"confidence\":0.999,\"share\":0.250000,\"pps\":2469134,\"bps\":632098304}\n");
}

/* Unknown bytes, no upper bound, no confidence, half of the key, no duration. */
static void test_what_is_not_known_is_null(void **state)
{
	struct report_epoch *epoch = sample_epoch(0, 1);
	const struct report_row row = {
		.key = sample_key4("10.0.0.1", 0, "0.0.0.0", 0, 0),
		.packets = {.value = 9, .low = 5, .known = true},
		.share = 1,
	};

	(void)state;
	epoch->end = epoch->start;
	epoch->measurements[0].key_rule = key_rule_find("src");
	epoch->measurements[0].confidence_known = false;
	sample_rows(&epoch->measurements[0], &row, 1);
	assert_epoch(&output_heavy_hitters, epoch,
		"{\"epoch\":0,\"measurement\":\"main\",\"start\":\"2026-11-20T13:52:44.000000Z\","
		"\"end\":\"2026-11-20T13:52:44.000000Z\",\"rank\":1,\"src_ip\":\"10.0.0.1\","
		"\"dst_ip\":null,\"src_port\":null,\"dst_port\":null,\"proto\":null,"
		"\"packets\":9,\"bytes\":null,\"packets_low\":5,\"packets_high\":null,"
		"\"bytes_low\":null,\"bytes_high\":null,\"confidence\":null,\"share\":1.000000,"
		"\"pps\":null,\"bps\":null}\n");
}

static void test_stats_without_packets(void **state)
{
	struct report_epoch *epoch = sample_epoch(3, 1);

	(void)state;
	assert_epoch(&output_stats, epoch,
		"{\"epoch\":3,\"measurement\":\"main\"," SPAN ",\"offered\":0,\"received\":0,"
		"\"measured\":0,\"filtered\":0,\"non_ip\":0,\"malformed\":0,\"nic_missed\":0,"
		"\"nic_errors\":0,\"no_mbuf\":0,\"ring_full\":0,\"shed\":0,\"unaccounted\":0,"
		"\"bytes\":0,\"distinct_keys\":0,\"pps\":0,\"bps\":0,\"drop_rate\":null,"
		"\"rx_ns\":null,\"ppt_ns\":null,\"free_ns\":null,\"delay_ns\":null,"
		"\"design\":\"rss\",\"sharing\":\"separate\",\"sketch\":\"count-min\","
		"\"workers\":2}\n");
}

static void test_queues(void **state)
{
	struct report_epoch *epoch = sample_epoch(7, 1);

	(void)state;
	epoch->workers = 1;
	epoch->loads[0] = (struct report_load){
		.lcore = 2,
		.cpu = -1,
		.ports = "",
		.queue = -1,
		.received = 300,
		.measured = 280,
		.ring_full = 20,
		.bytes = 20000,
	};
	assert_epoch(&output_queues, epoch,
		"{\"epoch\":7," SPAN ",\"worker\":0,\"lcore\":2,\"cpu\":null,\"ports\":null,"
		"\"queue\":null,\"received\":300,\"measured\":280,\"ring_full\":20,"
		"\"bytes\":20000,\"share\":1.000000,\"busy\":null,\"imbalance\":1.000000}\n");
}

static void test_flows(void **state)
{
	struct report_epoch *epoch = sample_flows(7);

	(void)state;
	epoch->measurements[0].nb_flows = 1;
	assert_epoch(&output_flows, epoch,
		"{\"epoch\":7,\"measurement\":\"main\",\"start\":\"2026-11-20T13:52:44.000000Z\","
		"\"src_ip\":\"10.0.0.1\",\"dst_ip\":\"10.0.0.2\",\"src_port\":5123,\"dst_port\":0,"
		"\"proto\":6,\"packets\":1,\"bytes\":60,\"first\":\"2026-11-20T13:52:44.000000Z\","
		"\"last\":\"2026-11-20T13:52:44.000000Z\",\"tcp_flags\":16,\"ended\":\"idle\"}\n");
}

/* The name of a rule as given and as printed. */
static void test_strings(void **state)
{
	static const struct {
		const char *given, *printed;
	} names[] = {
		{"plain name, with 'quotes'/", "plain name, with 'quotes'/"},
		{"say \"hi\" \\ there", "say \\\"hi\\\" \\\\ there"},
		{"two\nlines\tand\x01\x1f", "two\\u000alines\\u0009and\\u0001\\u001f"},
		{"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
			"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
		{"\xff\xc3 \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82",
			"\\ufffd\\ufffd \\ufffd\\ufffd \\ufffd\\ufffd\\ufffd "
			"\\ufffd\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd"},
	};

	(void)state;
	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		struct report_epoch *epoch = sample_epoch(1, 1);
		struct report_rule *rule = calloc(1, sizeof(*rule));
		char expected[512];

		assert_non_null(rule);
		*rule = (struct report_rule){
			.prefix = "10.0.0.0/8", .packets = {.value = UINT64_MAX}};
		snprintf(rule->name, sizeof(rule->name), "%s", names[n].given);
		epoch->rules = rule;
		epoch->nb_rules = 1;
		snprintf(expected, sizeof(expected),
			"{\"epoch\":1," SPAN ",\"prefix\":\"10.0.0.0/8\",\"name\":\"%s\","
			"\"packets\":18446744073709551615,\"bytes\":0,\"flows\":0}\n",
			names[n].printed);
		assert_epoch(&output_prefixes, epoch, expected);
	}
}

static bool is_row(const struct columns *columns, const char *line)
{
	return format_json.is_row(line, strlen(line), columns);
}

static void test_rows_are_told(void **state)
{
	struct columns *columns = some_columns(&format_json, &output_prefixes, 0);

	(void)state;
	assert_true(is_row(columns,
		"{\"epoch\":1,\"start\":\"s\",\"end\":\"e\",\"prefix\":\"p\","
		"\"name\":\"a \\\"b\\\\\",\"packets\":1,\"bytes\":null,\"flows\":3}"));
	assert_false(is_row(columns, ""));
	assert_false(is_row(columns, "epoch,start,end"));
	assert_false(is_row(columns, "{\"epoch\":1}"));
	/* Another kind of rows, too few and too many fields. */
	assert_false(is_row(columns, "{\"epoch\":1,\"measurement\":\"main\"}"));
	assert_false(is_row(columns, "{\"epoch\":1,\"start\":\"s\",\"end\":\"e\",\"prefix\":\"p\","
				     "\"name\":\"n\",\"packets\":1,\"bytes\":2}"));
	assert_false(
		is_row(columns, "{\"epoch\":1,\"start\":\"s\",\"end\":\"e\",\"prefix\":\"p\","
				"\"name\":\"n\",\"packets\":1,\"bytes\":2,\"flows\":3,\"x\":4}"));
	assert_false(is_row(columns, "{\"epoch\":1,\"start\":\"s\",\"end\":\"e\",\"prefix\":\"p\","
				     "\"name\":\"n"));
	free(columns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_header),
		cmocka_unit_test(test_heavy_hitters),
		cmocka_unit_test(test_what_is_not_known_is_null),
		cmocka_unit_test(test_stats_without_packets),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_rows_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
