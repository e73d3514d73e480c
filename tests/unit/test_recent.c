/* SPDX-License-Identifier: BSD-3-Clause */

/* The last epochs of a run: which ones are stored, what is stored, and which one a number finds. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "report/rows/recent.h"
#include "sample_epoch.h"

static void take(struct recent *recent, struct report_epoch *epoch)
{
	recent_take(recent, epoch);
	report_epoch_free(epoch);
}

static void assert_span(const struct recent *recent, uint64_t first, uint64_t end)
{
	struct recent_span span = recent_span(recent);

	assert_int_equal(span.first, first);
	assert_int_equal(span.end, end);
}

/* Fails unless the epoch of this number is found, or none if none is expected. */
static void assert_found(struct recent *recent, uint64_t from, uint64_t number, uint64_t at)
{
	uint64_t count;
	struct report_epoch *epoch = recent_find(recent, from, &count);

	assert_non_null(epoch);
	assert_int_equal(epoch->number, number);
	assert_int_equal(count, at);
	report_epoch_free(epoch);
}

static void test_the_last_are_there(void **state)
{
	struct recent *recent = recent_create();
	uint64_t count;

	(void)state;
	assert_non_null(recent);
	assert_span(recent, 0, 0);
	assert_null(recent_get(recent, 0));
	assert_null(recent_find(recent, 0, &count));
	for (uint64_t n = 0; n < RECENT_EPOCHS + 50; n++) {
		struct report_epoch *epoch;

		take(recent, sample_epoch(10 + 3 * n, 1)); /* two of three are silent intervals */
		epoch = recent_get(recent, n);
		assert_non_null(epoch);
		assert_int_equal(epoch->number, 10 + 3 * n);
		report_epoch_free(epoch);
		assert_null(recent_get(recent, n + 1));
	}
	assert_span(recent, 50, RECENT_EPOCHS + 50);
	assert_null(recent_get(recent, 49));
	assert_found(recent, 0, 160, 50);
	assert_found(recent, 160, 160, 50);
	assert_found(recent, 161, 163, 51);
	assert_found(recent, 163, 163, 51);
	assert_found(recent, 1057, 1057, RECENT_EPOCHS + 49);
	assert_null(recent_find(recent, 1058, &count));
	assert_null(recent_find(recent, UINT64_MAX, &count));
	recent_destroy(recent);
	recent_destroy(NULL);
}

/* Keeps a bounded number of rows and everything else, without references to the original epoch. */
static void test_what_is_kept(void **state)
{
	struct report_row rows[RECENT_ROWS + 5];
	struct report_epoch *epoch = sample_epoch(7, 2), *kept;
	struct recent *recent = recent_create();
	char name[] = "senders";

	(void)state;
	for (uint32_t r = 0; r < RECENT_ROWS + 5; r++)
		rows[r] = (struct report_row){
			.key = sample_key4("10.0.0.1", (uint16_t)r, "10.0.0.2", 53, 17),
			.packets = sample_figure(r, r + 1, r + 2)};
	sample_rows(&epoch->measurements[0], rows, RECENT_ROWS + 5);
	sample_rows(&epoch->measurements[1], rows, 2);
	epoch->measurements[1].name = name;
	epoch->measurements[1].distinct_keys = 99;
	epoch->measurements[1].flows = calloc(1, sizeof(struct report_flow));
	epoch->measurements[1].nb_flows = 1;
	epoch->ledger.offered = 1234;
	epoch->late = epoch->live = true;
	epoch->closing_ns = 17;
	epoch->loads[1].received = 55;
	epoch->ports = calloc(1, sizeof(epoch->ports[0]));
	assert_non_null(epoch->ports);
	epoch->nb_ports = 1;
	epoch->ports[0] = (struct report_port){.name = "eth0", .up = true, .speed = 100000};
	take(recent, epoch);
	memset(name, 'x', sizeof(name) - 1);
	kept = recent_get(recent, 0);
	assert_non_null(kept);
	assert_int_equal(kept->number, 7);
	assert_int_equal(kept->start, SAMPLE_START);
	assert_int_equal(kept->end, SAMPLE_START + SAMPLE_SECOND);
	assert_int_equal(kept->ledger.offered, 1234);
	assert_true(kept->late && kept->live);
	assert_int_equal(kept->closing_ns, 17);
	assert_int_equal(kept->workers, 2);
	assert_int_equal(kept->loads[1].received, 55);
	assert_null(kept->costs);
	assert_int_equal(kept->nb_ports, 1);
	assert_string_equal(kept->ports[0].name, "eth0");
	assert_int_equal(kept->measurements[0].nb_rows, RECENT_ROWS);
	assert_int_equal(kept->measurements[0].rows[RECENT_ROWS - 1].packets.value, RECENT_ROWS);
	assert_int_equal(kept->measurements[1].nb_rows, 2);
	assert_string_equal(kept->measurements[1].name, "senders");
	assert_int_equal(kept->measurements[1].distinct_keys, 99);
	assert_int_equal(kept->measurements[1].nb_flows, 0);
	/* A reference keeps the epoch. */
	for (uint64_t n = 0; n < RECENT_EPOCHS; n++)
		take(recent, sample_epoch(8 + n, 0));
	assert_null(recent_get(recent, 0));
	assert_string_equal(kept->measurements[1].name, "senders");
	report_epoch_free(kept);
	recent_destroy(recent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_last_are_there),
		cmocka_unit_test(test_what_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
