/* SPDX-License-Identifier: BSD-3-Clause */

/* Load balance of workers, and the rate limit of its warning. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/units.h"
#include "report/rows/balance.h"
#include "sample_epoch.h"

static struct report_load loads[4];
static struct report_epoch epoch = {.loads = loads, .live = true, .end = SECOND_NS};

static void receive(
	uint32_t workers, uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
	epoch.workers = workers;
	loads[0].received = first;
	loads[1].received = second;
	loads[2].received = third;
	loads[3].received = fourth;
}

static void assert_ratio(double expected)
{
	assert_true(balance_ratio(&epoch) > expected - 1e-9);
	assert_true(balance_ratio(&epoch) < expected + 1e-9);
}

static void ratios(void **state)
{
	(void)state;
	receive(4, 25, 25, 25, 25);
	assert_ratio(1);
	assert_ptr_equal(balance_busiest(&epoch), &loads[0]);
	receive(4, 0, 0, 7, 0);
	assert_ratio(4);
	assert_ptr_equal(balance_busiest(&epoch), &loads[2]);
	receive(2, 30, 10, 99, 99);
	assert_ratio(1.5);
	receive(1, 5, 0, 0, 0);
	assert_ratio(1);
	receive(3, 0, 0, 0, 0);
	assert_ratio(0);
	epoch.workers = 0;
	assert_ratio(0);
}

static void drowning_needs_loss_or_no_time(void **state)
{
	struct log_ratelimit ratelimit = {0};

	(void)state;
	epoch.ledger = (struct ledger){0};
	receive(4, 70, 10, 10, 10);
	assert_false(balance_drowns(&ratelimit, &epoch));
	loads[0].busy_ns = 960000000;
	assert_true(balance_drowns(&ratelimit, &epoch));
	/* In packet time, workers have no time share. */
	ratelimit = (struct log_ratelimit){0};
	epoch.live = false;
	assert_false(balance_drowns(&ratelimit, &epoch));
	epoch.ledger.nic_missed = 1;
	assert_true(balance_drowns(&ratelimit, &epoch));
	/*
	 * No warning if the load is even (all workers are overloaded) or there is only one worker.
	 */
	ratelimit = (struct log_ratelimit){0};
	receive(4, 35, 25, 20, 20);
	assert_false(balance_drowns(&ratelimit, &epoch));
	receive(1, 35, 0, 0, 0);
	assert_false(balance_drowns(&ratelimit, &epoch));
	epoch.live = true;
	loads[0].busy_ns = 0;
}

/* An hour of imbalance is logged 60 times. */
static void said_once_a_minute(void **state)
{
	struct log_ratelimit ratelimit = {0};
	uint64_t said = 0, counted = 0;

	(void)state;
	epoch.ledger = (struct ledger){.nic_missed = 5};
	receive(2, 100, 1, 0, 0);
	for (int64_t second = 1; second <= 3600; second++) {
		epoch.start = epoch.end;
		epoch.end = second * SECOND_NS;
		if (balance_drowns(&ratelimit, &epoch)) {
			said++;
			counted += ratelimit.epochs;
		}
	}
	assert_int_equal(said, 60);
	assert_int_equal(counted + ratelimit.suppressed, 3600);
}

/* Logged again once it is twice as bad, and if the clock was set back. */
static void said_when_it_gets_worse(void **state)
{
	struct log_ratelimit ratelimit = {0};

	(void)state;
	assert_true(log_ratelimit_due(&ratelimit, 0, 100));
	assert_string_equal(ratelimit.since, "");
	assert_false(log_ratelimit_due(&ratelimit, 1, 199));
	assert_true(log_ratelimit_due(&ratelimit, 2, 250));
	assert_int_equal(ratelimit.epochs, 2);
	assert_string_equal(ratelimit.since, "; the same in 2 intervals since the last warning");
	assert_false(log_ratelimit_due(&ratelimit, 3, 400));
	assert_true(log_ratelimit_due(&ratelimit, -3600 * SECOND_NS, 1));
	assert_false(log_ratelimit_due(&ratelimit, -3599 * SECOND_NS, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ratios),
		cmocka_unit_test(drowning_needs_loss_or_no_time),
		cmocka_unit_test(said_once_a_minute),
		cmocka_unit_test(said_when_it_gets_worse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
