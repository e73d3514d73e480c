/* SPDX-License-Identifier: BSD-3-Clause */

/* Rows of the overload log: as many as there is room for; the others are counted. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "adapt/estimate.h"
#include "control/shed_log.h"

#define MORE 5

static void add_changes(struct shed_log *log, uint32_t n)
{
	static const struct shed_reason why = {.time = 1, .reason = "load", .rate = 2};
	struct steps steps;
	char text[STEPS_WHY_MAX];

	assert_true(steps_parse(&steps, "rate:1/2, off", text));
	for (uint32_t i = 0; i < n; i++)
		shed_log_step(log, 1, i, "first", &steps, i % 3, (i + 1) % 3, &why);
}

/* The report has the first rows, and one row per measurement. */
static void expect_rows(struct shed_log *log, uint32_t n)
{
	static const struct estimate_errors errors = {
		.sum = {[ESTIMATE_FORMULA] = 3}, .windows = {[ESTIMATE_FORMULA] = 4}};
	struct report_epoch *report = report_epoch_alloc(1, 1);
	static const char *const words[] = {"full", "rate:1/2", "off"};

	assert_non_null(report);
	assert_true(shed_log_close(log, report, &errors));
	assert_int_equal(report->nb_states, n + report->nb_measurements);
	for (uint32_t i = 0; i < n; i++) {
		const struct report_state *row = &report->states[i];

		assert_true(row->changed);
		assert_int_equal(row->packet, i);
		assert_string_equal(row->from, words[i % 3]);
		assert_string_equal(row->to, words[(i + 1) % 3]);
	}
	for (uint32_t i = n; i < report->nb_states; i++) {
		const struct report_state *row = &report->states[i];

		assert_false(row->changed);
		assert_false(row->compared[ESTIMATE_COSTS]);
		assert_true(row->compared[ESTIMATE_FORMULA]);
		assert_true(row->error[ESTIMATE_FORMULA] == 0.75);
	}
	report_epoch_free(report);
}

static void test_room(void **state)
{
	struct shed_log log;

	(void)state;
	assert_true(shed_log_init(&log));
	add_changes(&log, SHED_LOG_ROWS_MAX + MORE);
	assert_int_equal(log.missing, MORE);
	expect_rows(&log, SHED_LOG_ROWS_MAX);
	assert_int_equal(log.missing, 0); /* next interval */
	add_changes(&log, MORE);
	assert_int_equal(log.missing, 0);
	expect_rows(&log, MORE);
	shed_log_fini(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
