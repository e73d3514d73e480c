/* SPDX-License-Identifier: BSD-3-Clause */

/* Sums of the times of the steps of packet processing. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adapt/costs.h"

/* Sets every part to a different number. Returns the sum of its times. */
static uint64_t fill(struct costs *costs)
{
	uint64_t *words = (uint64_t *)costs, sum = 0;

	for (uint32_t i = 0; i < sizeof(*costs) / sizeof(uint64_t); i++) {
		words[i] = 10 * i;
		sum += i < 2 ? 0 : words[i];
	}
	return sum;
}

static void adds_every_part(void **state)
{
	struct costs costs, sum;
	uint64_t times = fill(&costs);

	(void)state;
	memset(&sum, 0, sizeof(sum));
	assert_int_equal(costs_sum(&costs), times);
	costs_add(&sum, &costs, 1);
	assert_memory_equal(&sum, &costs, sizeof(sum));
	costs_add(&sum, &costs, 0.5);
	assert_int_equal(sum.bursts, 2 * costs.bursts);
	assert_int_equal(sum.packets, 2 * costs.packets);
	assert_int_equal(costs_sum(&sum), times * 3 / 2);
	assert_int_equal(sum.distinct[CONFIG_MEASUREMENTS_MAX - 1],
		costs.distinct[CONFIG_MEASUREMENTS_MAX - 1] * 3 / 2);
}

static void one_burst_in_64_is_timed(void **state)
{
	uint64_t bursts = 0;
	uint32_t timed = 0;

	(void)state;
	assert_false(costs_due(&bursts));
	for (uint32_t i = 1; i < 100 * COSTS_EVERY; i++)
		timed += costs_due(&bursts);
	assert_int_equal(timed, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adds_every_part),
		cmocka_unit_test(one_burst_in_64_is_timed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
