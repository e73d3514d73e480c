/* SPDX-License-Identifier: BSD-3-Clause */

/* The text table and the progress line. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>

#include <cmocka.h>

#include "report/formats/progress.h"
#include "report/formats/table.h"
#include "report/rows/rows.h"
#include "sample_epoch.h"

static const char *finish(struct text *text)
{
	text_char(text, '\0');
	assert_false(text->failed);
	return text->data;
}

static void assert_human(uint64_t value, const char *expected)
{
	struct text text = {0};

	table_human(&text, value);
	assert_string_equal(finish(&text), expected);
	text_free(&text);
}

static void test_human(void **state)
{
	(void)state;
	assert_human(0, "0");
	assert_human(999, "999");
	assert_human(1000, "1.00K");
	assert_human(1234, "1.23K");
	assert_human(9994, "9.99K");
	assert_human(9996, "10.0K");
	assert_human(99940, "99.9K");
	assert_human(99960, "100K");
	assert_human(999499, "999K");
	assert_human(999500, "1.00M");
	assert_human(1234567890, "1.23G");
	assert_human(UINT64_MAX, "18.4E");
}

static void assert_error(struct report_figure figure, const char *expected)
{
	struct text text = {0};

	table_error(&text, &figure);
	assert_string_equal(finish(&text), expected);
	text_free(&text);
}

static void test_error(void **state)
{
	struct report_figure saturated = {.value = 100, .low = 40, .known = true};

	(void)state;
	assert_error(sample_figure(100, 100, 100), "exact");
	assert_error(sample_figure(88, 100, 100), "-12/+0");
	assert_error(sample_figure(100, 100, 1334), "-0/+1.23K");
	assert_error(saturated, "-60/+?");
}

static void assert_flow(const char *rule, struct key key, const char *expected)
{
	struct text text = {0};

	assert_non_null(key_rule_find(rule));
	table_flow(&text, key_rule_find(rule), &key);
	assert_string_equal(finish(&text), expected);
	text_free(&text);
}

static void test_flow(void **state)
{
	(void)state;
	assert_flow("5tuple", sample_key4("10.0.0.1", 443, "10.0.0.2", 5123, 6),
		"10.0.0.1:443 -> 10.0.0.2:5123 tcp");
	assert_flow("5tuple", sample_key4("10.0.0.1", 0, "10.0.0.2", 0, 17),
		"10.0.0.1:0 -> 10.0.0.2:0 udp");
	assert_flow("5tuple", sample_key4("10.0.0.1", 0, "10.0.0.2", 0, 1),
		"10.0.0.1 -> 10.0.0.2 icmp");
	assert_flow("5tuple", sample_key4("10.0.0.1", 0, "10.0.0.2", 0, 253),
		"10.0.0.1 -> 10.0.0.2 proto 253");
	assert_flow("5tuple", sample_key6("2001:db8::1", 53, "fe80::2", 5353, 132),
		"[2001:db8::1]:53 -> [fe80::2]:5353 sctp");
	assert_flow("5tuple", sample_key6("2001:db8::1", 0, "fe80::2", 0, 58),
		"2001:db8::1 -> fe80::2 icmpv6");
	assert_flow("src", sample_key4("10.0.0.1", 0, "0.0.0.0", 0, 0), "10.0.0.1");
	assert_flow("dst", sample_key6("::", 0, "fe80::2", 0, 0), "-> fe80::2");
	assert_flow(
		"src-dst", sample_key4("10.0.0.1", 0, "10.0.0.2", 0, 0), "10.0.0.1 -> 10.0.0.2");
}

static void assert_table(struct report_epoch *epoch, const char *expected)
{
	struct text text = {0};

	table_epoch(&text, epoch);
	assert_string_equal(finish(&text), expected);
	text_free(&text);
	report_epoch_free(epoch);
}

static void test_table(void **state)
{
	struct report_epoch *epoch = sample_epoch(3, 1);
	const struct report_row rows[] = {
		{
			.key = sample_key4("10.0.0.1", 443, "10.0.0.2", 5123, 6),
			.packets = sample_figure(1234555, 1234567, 1234567),
			.bytes = sample_figure(79012288, 79012288, 79012288),
			.share = 0.30864,
		},
		{
			.key = sample_key6("2001:db8::1", 53, "2001:db8::2", 40000, 17),
			.packets = sample_figure(40, 40, 40),
			.share = 0.00001,
		},
		{
			.key = sample_key4("192.168.100.200", 0, "10.0.0.2", 0, 1),
			.packets = sample_figure(30, 30, 30),
			.bytes = sample_figure(500, 900, 900),
			.share = 0.0000075,
		},
	};

	(void)state;
	sample_rows(&epoch->measurements[0], rows, 3);
	epoch->measurements[0].distinct_keys = 1000000;
	epoch->ledger = (struct ledger){
		.offered = 4000000,
		.received = 4000000,
		.measured = 3999990,
		.non_ip = 10,
		.bytes = 255999360,
		.rx_ns = 20000000,
		.ppt_ns = 60000000,
		.free_ns = 8000000,
	};
	epoch->loads[0].received = 1000000;
	epoch->loads[1].received = 3000000;
	assert_table(epoch,
		"epoch 3  2026-11-20T13:52:44.000000Z to 2026-11-20T13:52:45.000000Z (1.000 s)\n"
		"design rss, sharing separate, 2 workers\n"
		"\n"
		"main: key 5tuple, sketch count-min\n"
		"~1,000,000 distinct keys, confidence 0.999\n"
		"#  flow                                           packets   error   bytes     "
		"pps      bps    share\n"
		"1  10.0.0.1:443 -> 10.0.0.2:5123 tcp            1,234,567  -12/+0  79.0MB  "
		"~1.23M    632Mb  ~30.86%\n"
		"2  [2001:db8::1]:53 -> [2001:db8::2]:40000 udp         40   exact       -      "
		"40        -    0.00%\n"
		"3  192.168.100.200 -> 10.0.0.2 icmp                    30   exact   ~900B      "
		"30  ~7.20Kb    0.00%\n"
		"\n"
		"offered                          4,000,000\n"
		"received                         4,000,000\n"
		"measured                         3,999,990\n"
		"non-IP                                  10\n"
		"malformed                                0\n"
		"lost                                     0\n"
		"bytes                          255,999,360\n"
		"rate            4.000 Mpps, 2.048 Gbps\n"
		"cost per packet receive 5.0 ns, parse and update 15.0 ns, free 2.0 ns: 22.0 ns\n"
		"imbalance       1.50 times the mean on worker 1, 75.0% of the packets\n"
		"\n");
}

/* The counted metric comes first, with its error. */
static void test_table_of_bytes(void **state)
{
	struct report_epoch *epoch = sample_epoch(0, 1);
	const struct report_row rows[] = {
		{
			.key = sample_key4("10.0.0.1", 443, "10.0.0.2", 5123, 6),
			.packets = sample_figure(30, 37, 37),
			.bytes = sample_figure(526428, 535000, 535000),
			.share = 0.025,
		},
		{
			.key = sample_key4("10.0.0.1", 0, "10.0.0.2", 0, 1),
			.bytes = sample_figure(500, 500, 500),
			.share = 0.00002,
		},
	};
	struct text text = {0};

	(void)state;
	epoch->measurements[0].counts_bytes = true;
	sample_rows(&epoch->measurements[0], rows, 2);
	table_epoch(&text, epoch);
	assert_non_null(strstr(finish(&text),
		"#  flow                               bytes      error  packets  pps      bps   "
		"share\n"
		"1  10.0.0.1:443 -> 10.0.0.2:5123 tcp  535KB  -8.57K/+0      ~37  ~37  ~4.28Mb  "
		"~2.50%\n"
		"2  10.0.0.1 -> 10.0.0.2 icmp           500B      exact        -    -   4.00Kb   "
		"0.00%\n"));
	text_free(&text);
	report_epoch_free(epoch);
}

/* No rows, no duration, no polled packets, every loss named. */
static void test_table_of_losses(void **state)
{
	struct report_epoch *epoch = sample_epoch(0, 1);

	(void)state;
	epoch->end = epoch->start;
	epoch->workers = 1;
	epoch->measurements[0].confidence_known = false;
	epoch->measurements[0].distinct_exact = true;
	epoch->ledger = (struct ledger){
		.offered = 100,
		.filtered = 9,
		.nic_missed = 10,
		.nic_errors = 20,
		.no_mbuf = 30,
		.ring_full = 4,
		.shed = 5,
		.unaccounted = 1,
		.losses_unknown = true,
	};
	assert_table(epoch,
		"epoch 0  2026-11-20T13:52:44.000000Z to 2026-11-20T13:52:44.000000Z (0.000 s)\n"
		"design rss, sharing separate, 1 worker\n"
		"\n"
		"main: key 5tuple, sketch count-min\n"
		"0 distinct keys, losses unknown\n"
		"no flow reached the threshold\n"
		"\n"
		"offered                                100\n"
		"received                                 0\n"
		"measured                                 0\n"
		"filtered                                 9\n"
		"non-IP                                   0\n"
		"malformed                                0\n"
		"lost (at least)                         69\n"
		"  nic_missed                            10\n"
		"  nic_errors                            20\n"
		"  no_mbuf                               30\n"
		"  ring_full                              4\n"
		"  shed                                   5\n"
		"unaccounted                              1\n"
		"bytes                                    0\n"
		"\n");
}

static void test_table_of_unknown_losses(void **state)
{
	struct report_epoch *epoch = sample_epoch(0, 1);
	struct text text = {0};

	(void)state;
	epoch->ledger.losses_unknown = true;
	table_epoch(&text, epoch);
	assert_non_null(strstr(finish(&text), "\nlost                               unknown\n"));
	text_free(&text);
	report_epoch_free(epoch);
}

static void assert_sentence(struct ledger ledger, uint64_t epochs, const char *expected)
{
	struct text text = {0};

	ledger_sentence(&text, &ledger, epochs);
	assert_string_equal(finish(&text), expected);
	text_free(&text);
}

static void test_sentence(void **state)
{
	(void)state;
	assert_sentence(
		(struct ledger){0}, 0, "0 packets offered in 0 intervals: 0 measured, 0 lost");
	assert_sentence((struct ledger){.losses_unknown = true}, 1,
		"0 packets offered in 1 interval: 0 measured, losses unknown");
	assert_sentence((struct ledger){.offered = 1, .received = 1, .measured = 1, .bytes = 60}, 1,
		"1 packet offered in 1 interval: 1 measured, 0 lost");
	assert_sentence((struct ledger){.offered = 10,
				.received = 9,
				.measured = 4,
				.nic_missed = 1,
				.shed = 2,
				.non_ip = 3,
				.losses_unknown = true,
				.doubtful = 5,
				.unaccounted = 7},
		2,
		"10 packets offered in 2 intervals: 4 measured, at least 3 lost (1 nic_missed, 2 "
		"shed), perhaps 5 more, 3 left out (3 non_ip), 7 unaccounted");
}

#define LONG_ADDRESS "2001:1111:2222:3333:4444:5555:6666:7777"

/* Rows that do not fit in a line are broken before the arrow, and no line is too long. */
static void test_table_width(void **state)
{
	struct report_epoch *epoch = sample_epoch(UINT64_MAX, 1);
	struct report_row rows[1000];
	struct text text = {0};
	char *line, *rest;

	(void)state;
	for (uint32_t r = 0; r < 1000; r++)
		rows[r] = (struct report_row){
			.key = sample_key6(LONG_ADDRESS, 65535, LONG_ADDRESS, 65535, 17),
			.packets = sample_figure(99950001, 999999999, UINT64_MAX),
			.bytes = sample_figure(0, UINT64_MAX, UINT64_MAX),
			.share = 1,
		};
	sample_rows(&epoch->measurements[0], rows, 1000);
	epoch->measurements[0].name = "a name that is much longer than any name that anybody "
				      "would want to give to a measurement of theirs";
	epoch->measurements[0].distinct_keys = UINT32_MAX;
	memset(&epoch->ledger, 0xff, sizeof(epoch->ledger));
	epoch->ledger.losses_unknown = epoch->ledger.kept_up = true; /* restores a valid bool */
	table_epoch(&text, epoch);
	finish(&text);
	assert_non_null(strstr(text.data,
		"\n   1  [" LONG_ADDRESS "]:65535      999,999,999  -900M/+18.4E  "
		"~18.4EB  ~1.00G  ~18.4Eb  ~100.00%\n"
		"       -> [" LONG_ADDRESS "]:65535 udp\n"
		"   2  ["));
	for (line = strtok_r(text.data, "\n", &rest); line != NULL;
		line = strtok_r(NULL, "\n", &rest)) {
		if (strlen(line) > TABLE_WIDTH)
			fail_msg("%zu columns: %s", strlen(line), line);
	}
	text_free(&text);
	report_epoch_free(epoch);
}

static uint32_t lines_of(const char *text)
{
	uint32_t lines = 0;

	for (; *text != '\0'; text++)
		lines += *text == '\n';
	return lines;
}

/* Every size is respected, and all measurements have the same number of rows. */
static void test_screen_fits(void **state)
{
	struct report_epoch *epoch = sample_epoch(7, 2);
	struct report_row rows[40];

	(void)state;
	for (uint32_t r = 0; r < 40; r++)
		rows[r] = (struct report_row){
			.key = sample_key4("10.0.0.1", 443, "10.0.0.2", (uint16_t)r, 6),
			.packets = sample_figure(5, 5, 5),
			.bytes = sample_figure(300, 300, 300),
			.share = 0.01,
		};
	for (uint32_t m = 0; m < 2; m++) {
		sample_rows(&epoch->measurements[m], rows, 40);
		epoch->measurements[m].shed_packets = m; /* adds a note below the rows */
	}
	epoch->ledger.measured = epoch->ledger.offered = epoch->ledger.received = 1000;
	for (uint32_t lines = 1; lines < 120; lines++) {
		struct table_size size = {.lines = lines, .columns = 80};
		struct text text = {0};

		table_screen(&text, epoch, &size);
		assert_true(lines_of(finish(&text)) <= lines);
		if (lines >= 40)
			assert_true(lines_of(text.data) >= (lines < 90 ? lines - 1 : 90));
		text_free(&text);
	}
	report_epoch_free(epoch);
}

/* On a narrow screen, rates are dropped before the columns that distinguish flows. */
static void test_narrow_screen(void **state)
{
	static const struct table_size narrow = {.lines = 40, .columns = 80};
	struct report_epoch *epoch = sample_epoch(7, 1);
	const struct report_row rows[] = {{
		.key = sample_key6(LONG_ADDRESS, 65535, LONG_ADDRESS, 65535, 17),
		.packets = sample_figure(5, 5, 5),
		.bytes = sample_figure(300, 300, 300),
		.share = 0.01,
	}};
	struct text text = {0};

	(void)state;
	sample_rows(&epoch->measurements[0], rows, 1);
	table_screen(&text, epoch, &narrow);
	assert_non_null(strstr(finish(&text), "  bytes  share\n"));
	assert_non_null(strstr(text.data, "   300B  1.00%\n"));
	text_free(&text);
	epoch->measurements[0].rows[0].key = sample_key4("10.0.0.1", 443, "10.0.0.2", 1, 6);
	table_screen(&text, epoch, &narrow);
	assert_non_null(strstr(finish(&text), "  bytes  pps     bps  share\n"));
	assert_non_null(strstr(text.data, "   300B    5  2.40Kb  1.00%\n"));
	text_free(&text);
	report_epoch_free(epoch);
}

static void assert_progress(struct progress_state state, const char *expected)
{
	char line[PROGRESS_LINE_MAX];

	assert_int_equal(progress_format(line, &state), strlen(expected));
	assert_string_equal(line, expected);
}

static void test_progress_line(void **state)
{
	const uint64_t second = 1000000000;

	(void)state;
	assert_progress(
		(struct progress_state){
			.done = 0.25, .pps = 12.344e6, .bps = 6.32e9, .elapsed_ns = 30 * second},
		" 25.0%  12.34 Mpps  6.32 Gbps  01:30 left");
	assert_progress((struct progress_state){.done = 0.5, .elapsed_ns = 3723 * second},
		" 50.0%  0.00 Mpps  0.00 Gbps  1:02:03 left");
	assert_progress((struct progress_state){.done = 1, .elapsed_ns = second},
		"100.0%  0.00 Mpps  0.00 Gbps  00:00 left");
	assert_progress((struct progress_state){.done = 0, .elapsed_ns = second},
		"  0.0%  0.00 Mpps  0.00 Gbps");
	assert_progress(
		(struct progress_state){.done = -1, .packets = 12345678, .pps = 1e6, .bps = 1e9},
		"12.3M packets  1.00 Mpps  1.00 Gbps");
}

/* Opens a terminal that the test can read. */
static int open_terminal(int *master)
{
	*master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
	if (*master < 0 || grantpt(*master) != 0 || unlockpt(*master) != 0)
		return -1;
	return open(ptsname(*master), O_RDWR | O_NOCTTY);
}

static void assert_screen(int master, const char *expected)
{
	char screen[512];
	ssize_t n = read(master, screen, sizeof(screen) - 1);

	screen[n < 0 ? 0 : n] = '\0';
	assert_string_equal(screen, expected);
}

static void test_progress_on_terminal(void **state)
{
	const uint64_t ms = 1000000;
	struct progress progress;
	int master, terminal = open_terminal(&master);

	(void)state;
	if (terminal < 0) {
		print_message("no pseudo terminal: skipped\n");
		skip();
	}
	progress_init(&progress, terminal, true);
	progress_update(&progress, 0, 0, 0, 100 * ms);
	progress_update(&progress, 0.1, 1000, 64000, 599 * ms);
	assert_screen(master, ""); /* too early */
	progress_update(&progress, 0.5, 1000000, 125000000, 1100 * ms);
	assert_screen(master, "\r 50.0%  1.00 Mpps  1.00 Gbps  00:01 left");
	progress_update(&progress, 0.6, 1000000, 125000000, 1599 * ms);
	assert_screen(master, ""); /* at most twice a second */

	progress_suspend(&progress);
	assert_screen(master, "\r                                        \r");
	progress_suspend(&progress); /* nested, like a warning within a table */
	progress_resume(&progress);
	progress_update(&progress, 0.6, 1000000, 125000000, 2050 * ms);
	assert_screen(master, "");
	progress_resume(&progress);
	progress_update(&progress, -1, 6000000, 125000000, 2100 * ms);
	assert_screen(master, "\r6.0M packets  5.00 Mpps  0.00 Gbps");
	progress_clear(&progress);
	assert_screen(master, "\r                                  \r");
	progress_clear(&progress);
	assert_screen(master, "");
	close(terminal);
	close(master);
}

static void test_progress_is_silent_elsewhere(void **state)
{
	const uint64_t second = 1000000000;
	struct progress progress;
	int fds[2], master, terminal = open_terminal(&master);
	char byte;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	progress_init(&progress, fds[1], true);
	progress_update(&progress, 0, 0, 0, 0);
	progress_update(&progress, 0.5, 1, 1, second);
	progress_clear(&progress);
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 0);
	close(fds[0]);

	if (terminal < 0)
		return;
	progress_init(&progress, terminal, false);
	progress_update(&progress, 0, 0, 0, 0);
	progress_update(&progress, 0.5, 1, 1, second);
	assert_screen(master, "");
	close(terminal);
	close(master);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_human),
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_flow),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_sentence),
		cmocka_unit_test(test_table_of_bytes),
		cmocka_unit_test(test_screen_fits),
		cmocka_unit_test(test_narrow_screen),
		cmocka_unit_test(test_table_of_unknown_losses),
		cmocka_unit_test(test_table_of_losses),
		cmocka_unit_test(test_table_width),
		cmocka_unit_test(test_progress_line),
		cmocka_unit_test(test_progress_on_terminal),
		cmocka_unit_test(test_progress_is_silent_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
