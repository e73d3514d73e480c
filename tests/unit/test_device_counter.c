/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Differences of a device's counters, compared with the true counts: registers that wrap, restart,
 * stall, leap or sway, each separately and in random sequences.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rx/port/device_counter.h"
#include "base/random.h"

static uint64_t mask_of(uint8_t bits)
{
	return UINT64_MAX >> (64 - bits);
}

static void expect_grew(struct device_counter *counter, uint64_t value, uint64_t total)
{
	assert_int_equal(device_counter_read(counter, value), DEVICE_COUNTER_GREW);
	assert_true(counter->total == total);
}

static void starts_anywhere(void **state)
{
	struct device_counter counter;

	(void)state;
	device_counter_start(&counter, 64, false, 1000);
	expect_grew(&counter, 1000, 0);
	expect_grew(&counter, 1007, 7);
	expect_grew(&counter, 1007, 7);
	expect_grew(&counter, UINT64_C(1) << 40, (UINT64_C(1) << 40) - 1000);
}

static void wraps(void **state)
{
	static const uint8_t widths[] = {16, 32, 36, 40, 48, 63, 64};
	struct device_counter counter;

	(void)state;
	for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
		uint64_t mask = mask_of(widths[w]);

		device_counter_start(&counter, widths[w], false, mask - 9);
		expect_grew(&counter, mask, 9);
		expect_grew(&counter, 0, 10);
		expect_grew(&counter, 5, 15);
		/* The maximum that may be unread, across the wrap again. */
		expect_grew(&counter, (5 + mask / 2) & mask, 15 + mask / 2);
		expect_grew(&counter, (5 + mask / 2 * 2) & mask, 15 + mask / 2 * 2);
	}
}

static void bits_above_the_register_do_not_matter(void **state)
{
	struct device_counter counter;

	(void)state;
	/*
	 * A driver that sums three 32-bit registers in 64 bits drops by 2^32 when one of them
	 * wraps.
	 */
	device_counter_start(&counter, 32, false, (UINT64_C(2) << 32) + 100);
	expect_grew(&counter, (UINT64_C(1) << 32) + 150, 50);
}

static void resets(void **state)
{
	struct device_counter counter;

	(void)state;
	device_counter_start(&counter, 64, false, 1000);
	expect_grew(&counter, 1500, 500);
	assert_int_equal(device_counter_read(&counter, 20), DEVICE_COUNTER_RESET);
	assert_int_equal(counter.total, 520);
	expect_grew(&counter, 30, 530);
	assert_int_equal(device_counter_read(&counter, 0), DEVICE_COUNTER_RESET);
	assert_int_equal(counter.total, 530);
	/* Also in a narrow register, if its last value was not in the upper half. */
	device_counter_start(&counter, 32, false, 70000);
	assert_int_equal(device_counter_read(&counter, 3), DEVICE_COUNTER_RESET);
	assert_int_equal(counter.total, 3);
}

static void sways(void **state)
{
	struct device_counter counter;

	(void)state;
	device_counter_start(&counter, 64, true, 0);
	expect_grew(&counter, 1000000, 1000000);
	expect_grew(&counter, 999990, 1000000);
	expect_grew(&counter, 1000005, 1000005);
	expect_grew(&counter, 1000005 - DEVICE_COUNTER_SWAY, 1000005);
	assert_int_equal(device_counter_read(&counter, 10), DEVICE_COUNTER_RESET);
	assert_int_equal(counter.total, 1000015);
	/* A counter with a small count also restarts. */
	device_counter_start(&counter, 64, true, 0);
	expect_grew(&counter, 5000, 5000);
	assert_int_equal(device_counter_read(&counter, 100), DEVICE_COUNTER_RESET);
	assert_int_equal(counter.total, 5100);
	expect_grew(&counter, 90, 5100);
	/* Around the wrap of its register. */
	device_counter_start(&counter, 32, true, UINT32_MAX - 4);
	expect_grew(&counter, 3, 8);
	expect_grew(&counter, UINT32_MAX, 8);
	expect_grew(&counter, 4, 9);
}

/* A register and its true count. */
struct device {
	uint64_t counted; /* true count since creation */
	uint64_t base;    /* true count at the last reset */
	uint64_t shown;   /* true count at the device's last update of the register */
};

static uint64_t shows(const struct device *device, uint8_t bits)
{
	return (device->shown - device->base) & mask_of(bits);
}

/* Wraps, stalls and late updates: no count is lost. */
static void random_sequences_are_exact(void **state)
{
	struct random random;

	(void)state;
	random_init(&random, 1);
	for (int round = 0; round < 2000; round++) {
		uint8_t bits = (uint8_t)(8 + random_below(&random, 57));
		uint64_t half = mask_of(bits) / 2, unread = 0, start;
		struct device device = {.counted = random_next(&random)};
		struct device_counter counter;

		device.shown = start = device.counted;
		device_counter_start(&counter, bits, false, shows(&device, bits));
		for (int step = 0; step < 200; step++) {
			uint64_t most = half - unread;
			uint64_t add = random_below(&random, 4) == 0 || most == 0
					       ? 0
					       : random_next(&random) % most;

			device.counted += add;
			unread += add;
			if (random_below(&random, 3) > 0)
				device.shown = device.counted; /* otherwise the update is late */
			if (random_below(&random, 3) == 0)
				continue; /* not read */
			assert_int_equal(device_counter_read(&counter, shows(&device, bits)),
				DEVICE_COUNTER_GREW);
			assert_true(counter.total == device.shown - start);
			unread = device.counted - device.shown;
		}
	}
}

/*
 * With resets: each is detected if the register is below its last value, the total never exceeds
 * the true count, and the difference is what was counted but not read before a reset.
 */
static void random_resets_lose_only_what_was_not_read(void **state)
{
	struct random random;

	(void)state;
	random_init(&random, 2);
	for (int round = 0; round < 2000; round++) {
		struct device device = {0};
		struct device_counter counter;
		uint64_t lacking = 0, read = 0;

		device_counter_start(&counter, 64, false, 0);
		for (int step = 0; step < 200; step++) {
			uint64_t value, before = counter.last;
			bool reset = random_below(&random, 20) == 0;

			device.counted += random_below(&random, 1000);
			if (reset) {
				lacking += device.counted - read;
				device.base = read = device.counted;
			}
			device.counted += random_below(&random, 10);
			device.shown = device.counted;
			value = shows(&device, 64);
			if (reset && value >= before) {
				/* Such a reset is undetectable: it looks like growth. */
				assert_int_equal(
					device_counter_read(&counter, value), DEVICE_COUNTER_GREW);
				lacking += before;
			} else {
				assert_int_equal(device_counter_read(&counter, value),
					reset ? DEVICE_COUNTER_RESET : DEVICE_COUNTER_GREW);
			}
			read = device.counted;
			assert_true(counter.total + lacking == device.counted);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_anywhere),
		cmocka_unit_test(wraps),
		cmocka_unit_test(bits_above_the_register_do_not_matter),
		cmocka_unit_test(resets),
		cmocka_unit_test(sways),
		cmocka_unit_test(random_sequences_are_exact),
		cmocka_unit_test(random_resets_lose_only_what_was_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
