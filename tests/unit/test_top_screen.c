/* SPDX-License-Identifier: BSD-3-Clause */

/* Screens of sketchtap top: complete screens in three sizes, and the history of a row. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"
#include "cli/top_screen.h"

#define START INT64_C(1795528800000000000) /* 2026-11-24T14:00:00Z */

static void add_row(struct epoch_view *epoch, struct epoch_view_measurement *measurement,
	const char *flow, uint64_t packets, uint64_t low, uint64_t high)
{
	struct epoch_view_row *row = epoch_view_add_row(epoch, measurement);

	assert_non_null(row);
	row->values.rank = measurement->nb_rows;
	row->flow = epoch_view_copy(epoch, flow);
	row->values.packets = (struct report_figure){
		.value = packets, .low = low, .high = high, .known = true, .high_known = true};
	row->values.bytes =
		(struct report_figure){.value = packets * (row->values.rank == 2 ? 1500 : 100),
			.low = packets * 100,
			.known = true};
	row->values.share = (double)packets / 1000000;
}

/* Returns the epoch of one second; the flow of 10.0.0.2 is only in even ones. */
static struct epoch_view *epoch_of(uint64_t number)
{
	struct epoch_view *epoch = epoch_view_alloc();
	struct epoch_view_measurement *measurement;

	assert_non_null(epoch);
	epoch->number = number;
	epoch->closed = number + 1;
	epoch->start = START + (int64_t)number * SECOND_NS;
	epoch->end = epoch->start + SECOND_NS;
	epoch->has_ledger = true;
	epoch->ledger = (struct ledger){.offered = 1000000,
		.received = 999000,
		.measured = 999000,
		.nic_missed = 1000,
		.bytes = 99900000};
	measurement = epoch_view_add_measurement(epoch, "main");
	assert_non_null(measurement);
	measurement->key = epoch_view_copy(epoch, "5tuple");
	measurement->values.sketch = epoch_view_copy(epoch, "count-min");
	measurement->ledger = epoch->ledger;
	measurement->values.distinct_keys = 12345;
	add_row(epoch, measurement, "10.0.0.1:1 -> 10.0.0.9:80 tcp", 100000 * (1 + number),
		100000 * (1 + number), 100000 * (1 + number) + 1000);
	if (number % 2 == 0)
		add_row(epoch, measurement, "10.0.0.2:1 -> 10.0.0.9:443 tcp", 50000, 50000, 50000);
	epoch->ports = calloc(1, sizeof(epoch->ports[0]));
	epoch->nb_ports = 1;
	epoch->ports[0] = (struct report_port){.name = "eth1", .up = true, .speed = 100000};
	epoch->workers = calloc(2, sizeof(epoch->workers[0]));
	epoch->nb_workers = 2;
	epoch->workers[0].busy_ns = SECOND_NS / 2;
	epoch->workers[1].busy_ns = SECOND_NS / 4;
	assert_false(epoch->failed);
	return epoch;
}

static struct top_screen top_screen;

#define FOOTER "q quit  m measurement  b packets/bytes  o order  / find  space freeze  ? help"

/*
 * Compares the lines up to NULL, empty lines after them, and the footer in the last line, each up
 * to the width.
 */
static void assert_screen(
	const struct view *view, uint32_t rows, uint32_t columns, const char *const *lines)
{
	top_screen.rows = rows;
	top_screen.columns = columns;
	assert_true(top_screen_draw(&top_screen, view));
	for (uint32_t r = 0; r < rows; r++) {
		const struct text *text = &top_screen.lines[r].text;
		const char *expected = rows > 1 && r == rows - 1 ? FOOTER
				       : *lines != NULL          ? *lines++
								 : "";
		size_t len = strlen(expected);

		/* Only letters are truncated. */
		if (len > columns && text->len == columns)
			len = columns;
		assert_int_equal(text->len, len);
		assert_memory_equal(text->len > 0 ? text->data : "", expected, len);
	}
}

/* Lines of every epoch. */
#define ACCOUNT                                                                                    \
	"offered 1.00Mpps, measured 999Kpps 799Mbit/s",                                            \
		"1,000,000 packets, 1000 lost (1000 nic_missed)",                                  \
		"nic_missed: the NIC had no free descriptor: workers are too slow or too few",     \
		"workers busy 50 %, 25 %"

static void test_sizes(void **state)
{
	struct view view = {.run = "tap"};
	static const char *const small[] = {
		"sketchtap tap  epoch 2  2026-11-24T14:00:02.000000Z  1 s",
		ACCOUNT,
		"ports eth1 up 100G",
		"main: 5tuple by packets, count-min; 12,345 keys",
		"rank     pps  error  share past       flow",
		"   1    300K   0.3%  30.0%        :=# 10.0.0.1:1 -> 10.0.0.9:80 tcp",
		NULL,
	};
	static const char *const usual[] = {
		"sketchtap tap  epoch 2  2026-11-24T14:00:02.000000Z  1 s",
		ACCOUNT,
		"ports eth1 up 100G",
		"main: 5tuple by packets, count-min; 12,345 keys",
		"rank     pps  error  share past       flow",
		"   1    300K   0.3%  30.0%        ▃▅█ 10.0.0.1:1 -> 10.0.0.9:80 tcp",
		"   2   50.0K  exact   5.0%        █ █ 10.0.0.2:1 -> 10.0.0.9:443 tcp",
		NULL,
	};

	(void)state;
	for (uint64_t number = 0; number < 3; number++)
		view_add(&view, epoch_of(number));
	assert_screen(&view, 10, 40, small);
	assert_int_equal(top_screen.lines[2].style, PICTURE_ALARM);
	assert_int_equal(top_screen.lines[5].style, PICTURE_PLAIN);
	top_screen.utf8 = true;
	assert_screen(&view, 24, 80, usual);
	assert_screen(&view, 40, 120, usual);
	top_screen.utf8 = false;
	view_clear(&view);
}

/* Bits per second, without a share of a metric that is not counted; ordered by them. */
static void test_bytes(void **state)
{
	struct view view = {.metric_chosen = true, .bytes = true, .order = VIEW_BY_SHOWN};
	static const char *const screen[] = {
		"sketchtap  epoch 0  2026-11-24T14:00:00.000000Z  1 s",
		ACCOUNT,
		"ports eth1 DOWN",
		"main: 5tuple by packets, count-min; 12,345 keys, by shown value  /0.2",
		"rank   bit/s  error  share past       flow",
		"   2    600M      ?      -          # 10.0.0.2:1 -> 10.0.0.9:443 tcp",
		"   1   80.0M      ?      -          # 10.0.0.1:1 -> 10.0.0.9:80 tcp",
		NULL,
	};

	(void)state;
	view_add(&view, epoch_of(0));
	view.epochs[0]->ports[0].up = false;
	snprintf(view.find, sizeof(view.find), "0.2");
	assert_screen(&view, 24, 80, screen);
	assert_int_equal(top_screen.lines[5].style, PICTURE_ALARM);
	assert_int_equal(top_screen.lines[8].style, PICTURE_FOUND);
	assert_int_equal(top_screen.lines[9].style, PICTURE_PLAIN);
	view_clear(&view);
}

/* Each measurement starts with its counted metric. */
static void test_counted_metric(void **state)
{
	struct view view = {0};
	struct epoch_view *epoch = epoch_of(0);
	static const char *const screen[] = {
		"sketchtap  epoch 0  2026-11-24T14:00:00.000000Z  1 s",
		ACCOUNT,
		"ports eth1 up 100G",
		"main: 5tuple by bytes, count-min; 12,345 keys",
		"rank   bit/s  error  share past       flow",
		"   1   80.0M      ?  10.0%          # 10.0.0.1:1 -> 10.0.0.9:80 tcp",
		"   2    600M      ?   5.0%          # 10.0.0.2:1 -> 10.0.0.9:443 tcp",
		NULL,
	};

	(void)state;
	epoch->measurements[0].values.counts_bytes = true;
	view_add(&view, epoch);
	assert_true(view_shows_bytes(&view));
	assert_screen(&view, 24, 80, screen);
	epoch->measurements[0].values.counts_bytes = false;
	assert_false(view_shows_bytes(&view));
	view_clear(&view);
}

static void add_place(struct epoch_view *epoch, const struct report_delivery *delivery)
{
	epoch->deliveries[epoch->nb_deliveries] = *delivery;
	epoch->deliveries[epoch->nb_deliveries].name = epoch_view_copy(epoch, delivery->name);
	epoch->deliveries[epoch->nb_deliveries++].kind = epoch_view_copy(epoch, delivery->kind);
}

/* One line for all sinks, or one line per sink instead of the flows. */
static void test_deliveries(void **state)
{
	struct view view = {0};
	static const char *const sum[] = {
		"sketchtap  epoch 0  2026-11-24T14:00:00.000000Z  1 s",
		ACCOUNT,
		"ports eth1 up 100G",
		"rows 3,500 delivered, 5 wait, 17 not, most of them at kafka://b/t",
		"main: 5tuple by packets, count-min; 12,345 keys",
		NULL,
	};
	static const char *const each[] = {
		"sketchtap  epoch 0  2026-11-24T14:00:00.000000Z  1 s",
		ACCOUNT,
		"ports eth1 up 100G",
		"rows 3,500 delivered, 5 wait, 17 not, most of them at kafka://b/t",
		"    rows   taken  failed unknown dropped   waits export, kind",
		"   1.00K   1.00K       0       0       0       0 top.csv, heavy-hitters",
		"   2.52K   2.50K      10       4       3       5 kafka://b/t, stats",
		NULL,
	};

	(void)state;
	view_add(&view, epoch_of(0));
	view.epochs[0]->deliveries = calloc(2, sizeof(struct report_delivery));
	assert_non_null(view.epochs[0]->deliveries);
	add_place(view.epochs[0], &(struct report_delivery){.name = (char[]){"top.csv"},
					  .kind = (char[]){"heavy-hitters"},
					  .rows = 1000,
					  .delivered = 1000});
	add_place(view.epochs[0], &(struct report_delivery){.name = (char[]){"kafka://b/t"},
					  .kind = (char[]){"stats"},
					  .rows = 2522,
					  .acknowledged = 2500,
					  .failed = 10,
					  .unknown = 4,
					  .dropped = 3,
					  .waiting = 5});
	assert_screen(&view, 9, 80, sum);
	assert_int_equal(top_screen.lines[6].style, PICTURE_ALARM);
	view.places = true;
	assert_screen(&view, 24, 80, each);
	assert_int_equal(top_screen.lines[8].style, PICTURE_PLAIN);
	assert_int_equal(top_screen.lines[9].style, PICTURE_ALARM);
	view_clear(&view);
}

/* Rows of a file without a ledger. */
static void test_rows_alone(void **state)
{
	struct view view = {.run = "top.csv", .gone = "THE END"};
	static const char *const screen[] = {
		"sketchtap top.csv  THE END  epoch 7  1970-01-01T00:00:00.000000Z  0 s",
		"main: by packets",
		"rank packets  error  share past       flow",
		"   1     500  exact   0.1%          # 10.0.0.1",
		NULL,
	};
	struct epoch_view *epoch = epoch_view_alloc();

	(void)state;
	assert_non_null(epoch);
	epoch->number = 7;
	add_row(epoch, epoch_view_add_measurement(epoch, "main"), "10.0.0.1", 500, 500, 500);
	view_add(&view, epoch);
	assert_screen(&view, 24, 80, screen);
	view_clear(&view);
}

/* Ten epochs are kept, and missed ones are counted; a screen of one line is valid. */
static void test_past(void **state)
{
	struct view view = {0};
	static const char *const line[] = {"sketchtap  epoch 40  2026-11-24T14:00:40.000000Z  1 s"};

	(void)state;
	for (uint64_t number = 0; number <= 40; number += 2)
		view_add(&view, epoch_of(number));
	assert_int_equal(view.nb_epochs, VIEW_EPOCHS);
	assert_int_equal(view.epochs[VIEW_EPOCHS - 1]->number, 22);
	assert_int_equal(view.missed, 20);
	assert_true(view_next_measurement(&view));
	assert_string_equal(view.measurement, "main");
	assert_screen(&view, 1, 19, line);
	free(view.measurement);
	view_clear(&view);
	top_screen_free(&top_screen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_counted_metric),
		cmocka_unit_test(test_deliveries),
		cmocka_unit_test(test_rows_alone),
		cmocka_unit_test(test_past),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
