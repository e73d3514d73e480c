/* SPDX-License-Identifier: BSD-3-Clause */

/* Epochs of live ports with a wall clock that is late, slewed, and set forward and back. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parallel/epoch.h"

#define MS     INT64_C(1000000)
#define SECOND (1000 * MS)
#define HOUR   (3600 * SECOND)
#define BEGIN  (INT64_C(1700000000) * SECOND + 300 * MS)

static struct epoch_clock epoch_clock;
static struct clock_time now;

static void start(int64_t interval)
{
	now = (struct clock_time){.real = BEGIN, .monotonic = 5 * SECOND};
	epoch_clock_start(&epoch_clock, interval, now);
}

static void pass(int64_t ns)
{
	now.real += ns;
	now.monotonic += ns;
}

/* The open epoch is due and ends there, and the next one opens. */
static void expect_end(int64_t end, uint64_t next)
{
	assert_true(epoch_clock_is_due(&epoch_clock, now));
	assert_int_equal(epoch_clock_end(&epoch_clock, now), end);
	epoch_clock_next(&epoch_clock, now);
	assert_int_equal(epoch_clock.number, next);
	assert_false(epoch_clock_is_due(&epoch_clock, now));
}

static void ends_on_boundaries(void **state)
{
	(void)state;
	start(SECOND);
	pass(699 * MS);
	assert_int_equal(epoch_clock_look(&epoch_clock, now), 0);
	assert_false(epoch_clock_is_due(&epoch_clock, now));
	pass(MS);
	expect_end(BEGIN + 700 * MS, 1);
	/*
	 * A small delay is on time; a long one is reported, and the missed intervals are skipped.
	 */
	pass(SECOND + MS / 2);
	expect_end(BEGIN + 1700 * MS, 2);
	assert_int_equal(epoch_clock.start, BEGIN + 1700 * MS);
	pass(3 * SECOND);
	expect_end(BEGIN + 4700 * MS + MS / 2, 5);
	assert_int_equal(epoch_clock.start, BEGIN + 4700 * MS + MS / 2);
}

static void set_back(void **state)
{
	(void)state;
	start(SECOND);
	pass(SECOND);
	expect_end(now.real, 1);
	pass(100 * MS);
	now.real -= HOUR;
	assert_int_equal(epoch_clock_look(&epoch_clock, now), -HOUR);
	assert_int_equal(epoch_clock_look(&epoch_clock, now), 0); /* reported once */
	/* Until the epoch can be closed, it may last longer. */
	pass(50 * MS);
	expect_end(BEGIN + 1150 * MS, 2);
	assert_int_equal(epoch_clock.start, now.real);
	/* Numbers continue, and boundaries follow the new time. */
	pass(SECOND);
	expect_end(now.real, 3);
	assert_int_equal(epoch_clock.start, BEGIN - HOUR + 2150 * MS);
	pass(550 * MS);
	expect_end(BEGIN - HOUR + 2700 * MS, 4);
	/* Forward again, to the right time. */
	now.real += HOUR;
	assert_int_equal(epoch_clock_look(&epoch_clock, now), HOUR);
	expect_end(BEGIN - HOUR + 2700 * MS, 4 + 3600);
	assert_int_equal(epoch_clock.start, now.real);
}

static void slewed(void **state)
{
	(void)state;
	start(HOUR);
	for (int second = 0; second < 1000; second++) {
		pass(SECOND);
		now.real -= MS / 2;
		assert_int_equal(epoch_clock_look(&epoch_clock, now), 0);
	}
	assert_int_equal(epoch_clock_end(&epoch_clock, now), now.real);
	/* Small steps of the clock with a short interval: time never decreases. */
	start(10 * MS);
	now.real -= 90 * MS;
	assert_int_equal(epoch_clock_look(&epoch_clock, now), 0);
	assert_int_equal(epoch_clock_end(&epoch_clock, now), BEGIN);
}

static void one_epoch(void **state)
{
	(void)state;
	start(0);
	pass(HOUR);
	assert_int_equal(epoch_clock_end(&epoch_clock, now), BEGIN + HOUR);
	now.real -= 2 * HOUR;
	assert_int_equal(epoch_clock_look(&epoch_clock, now), -2 * HOUR);
	assert_false(epoch_clock_is_due(&epoch_clock, now));
	pass(SECOND);
	assert_int_equal(epoch_clock_end(&epoch_clock, now), BEGIN + HOUR + SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_on_boundaries),
		cmocka_unit_test(set_back),
		cmocka_unit_test(slewed),
		cmocka_unit_test(one_epoch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
