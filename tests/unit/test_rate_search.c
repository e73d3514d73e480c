/* SPDX-License-Identifier: BSD-3-Clause */

/* The search for the highest rate, with devices of known rate. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "tester/rate_search.h"

#define SECONDS 5

/*
 * Runs a trial through a device that passes `device` packets per second, with a sender limited to
 * `sender`.
 */
static bool try_once(struct rate_search *search, uint64_t device, uint64_t sender)
{
	uint64_t rate = search->asked == 0 || search->asked > sender ? sender : search->asked;
	uint64_t sent = rate * SECONDS, passes = device * SECONDS;

	return rate_search_report(search, sent, sent > passes ? sent - passes : 0, rate);
}

static void search_all(
	struct rate_search *search, double loss, uint64_t highest, uint64_t device, uint64_t sender)
{
	rate_search_init(search, loss, highest);
	while (rate_search_goes_on(search)) {
		uint64_t asked = search->asked, low = search->low;
		bool passed = try_once(search, device, sender);

		assert_true(search->trials <= RATE_SEARCH_TRIALS_MAX);
		assert_true(passed ? search->low >= low : search->low == low);
		assert_true(search->high == 0 || search->low < search->high);
		assert_true(asked == 0 || search->low <= asked || search->low == low);
	}
}

static void test_within_the_resolution(void **state)
{
	struct rate_search search;
	struct random random;

	(void)state;
	random_init(&random, 1);
	for (uint32_t i = 0; i < 20000; i++) {
		uint64_t sender = 1000 + random_below(&random, 50000000);
		uint64_t device = sender / 1000 + 200 + random_below(&random, sender);
		double loss = random_below(&random, 3) == 0 ? 0.01 : 0;
		uint64_t truth = (uint64_t)floor((double)device / (1 - loss));

		search_all(&search, loss, 0, device, sender);
		if (truth >= sender) {
			assert_int_equal(search.trials, 1);
			assert_true(search.low == sender && search.high == 0);
			continue;
		}
		assert_true(search.low <= truth + 1);
		assert_true(truth - search.low <= truth / RATE_SEARCH_RESOLUTION * 11 / 10 + 2 ||
			    search.low > truth);
	}
}

/* Never requests more than the limit; the limit is the result if it passes. */
static void test_highest(void **state)
{
	struct rate_search search;

	(void)state;
	search_all(&search, 0, 50000, 100000, 1000000);
	assert_int_equal(search.low, 50000);
	assert_int_equal(search.trials, 1);
	search_all(&search, 0, 50000, 20000, 1000000);
	assert_in_range(search.low, 19700, 20000);
	/* More than the sender can send: the search starts at the rate that was sent. */
	search_all(&search, 0, 50000000, 20000, 1000000);
	assert_in_range(search.low, 19700, 20000);
}

static void test_nothing_passes(void **state)
{
	struct rate_search search;

	(void)state;
	search_all(&search, 0, 0, 0, 10000000);
	assert_int_equal(search.low, 0);
	rate_search_init(&search, 0, 0);
	assert_true(rate_search_goes_on(&search));
	assert_false(rate_search_report(&search, 0, 0, 0)); /* nothing was sent */
	assert_false(rate_search_goes_on(&search));
}

/*
 * A device with occasional losses, and a sender that is delayed: the search ends at a rate that
 * passed.
 */
static void test_noise(void **state)
{
	struct rate_search search;
	struct random random;

	(void)state;
	random_init(&random, 1);
	for (uint32_t i = 0; i < 5000; i++) {
		uint64_t passed = 0;

		rate_search_init(&search, 0, random_below(&random, 2) * 1000000);
		while (rate_search_goes_on(&search)) {
			uint64_t rate = search.asked == 0 ? 5000000 : search.asked;

			rate -= random_below(&random, rate / 2 + 1);
			if (rate_search_report(&search, rate, random_below(&random, 2), rate) &&
				rate > passed)
				passed = rate;
		}
		assert_true(search.low == passed);
		assert_true(search.trials <= RATE_SEARCH_TRIALS_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_within_the_resolution),
		cmocka_unit_test(test_highest),
		cmocka_unit_test(test_nothing_passes),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
