/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The counts of the return window, compared with a model that remembers every packet, for networks
 * that lose, repeat, delay and reorder.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "tester/return_window.h"

#define PACKETS_MAX 40000
#define FLIGHT_MAX  4096

/* Packets in transit, with their arrival times. */
struct flight {
	uint64_t number, due;
};

struct network {
	struct random random;
	uint32_t loss, repeat, delay; /* per mille; per mille; maximum in steps */
	uint32_t nb_flights;
	struct flight flights[FLIGHT_MAX];
};

/* Expected counts: one byte per packet, without wrapping or sliding. */
struct oracle {
	uint64_t start, first, next, expected, size;
	uint8_t came[PACKETS_MAX];
	struct loopback_counts counts;
};

static struct network network;
static struct oracle oracle;

static void take_off(uint64_t number, uint64_t now)
{
	struct random *random = &network.random;
	uint32_t copies = 1;

	if (random_below(random, 1000) < network.loss)
		return;
	while (copies < 3 && random_below(random, 1000) < network.repeat)
		copies++;
	for (; copies > 0 && network.nb_flights < FLIGHT_MAX; copies--)
		network.flights[network.nb_flights++] =
			(struct flight){number, now + random_below(random, network.delay + 1)};
}

static enum return_kind oracle_take(uint64_t number)
{
	uint8_t *came = &oracle.came[number - oracle.start];

	if (number < oracle.first || oracle.next - number > oracle.size) {
		oracle.counts.late++;
		return RETURN_LATE;
	}
	if ((*came)++ > 0) {
		oracle.counts.twice++;
		return RETURN_TWICE;
	}
	oracle.counts.returned++;
	if (number < oracle.expected)
		oracle.counts.out_of_order++;
	else
		oracle.expected = number + 1;
	return RETURN_FIRST;
}

static void land(struct return_window *window, uint64_t now)
{
	for (uint32_t f = 0; f < network.nb_flights;) {
		const struct flight flight = network.flights[f];

		if (flight.due > now) {
			f++;
			continue;
		}
		assert_int_equal(return_window_take(window, (uint32_t)flight.number),
			oracle_take(flight.number));
		network.flights[f] = network.flights[--network.nb_flights];
	}
}

static void begin_trial(struct return_window *window)
{
	return_window_begin(window);
	oracle.first = oracle.expected = oracle.next;
	oracle.counts = (struct loopback_counts){0};
}

static void send_burst(struct return_window *window, uint64_t n, uint64_t now)
{
	return_window_sent(window, n);
	oracle.counts.sent += n;
	for (; n > 0; n--)
		take_off(oracle.next++, now);
}

/* Runs from number `start`, in bursts, some of them in a new trial. */
static void run(uint64_t seed, uint64_t size, uint64_t start)
{
	struct return_window window;
	uint64_t end = start + PACKETS_MAX - 32;

	memset(&oracle, 0, sizeof(oracle));
	random_init(&network.random, seed);
	network.nb_flights = 0;
	network.loss = (uint32_t)random_below(&network.random, 300);
	network.repeat = (uint32_t)random_below(&network.random, 300);
	network.delay = (uint32_t)random_below(&network.random, 60);
	oracle.start = oracle.first = oracle.next = oracle.expected = start;
	oracle.size = size;
	assert_true(return_window_init(&window, size, start));
	for (uint64_t now = 0; oracle.next < end; now++) {
		if (random_below(&network.random, 400) == 0)
			begin_trial(&window);
		send_burst(&window, 1 + random_below(&network.random, 32), now);
		land(&window, now);
		assert_memory_equal(&window.counts, &oracle.counts, sizeof(struct loopback_counts));
	}
	land(&window, UINT64_MAX);
	assert_memory_equal(&window.counts, &oracle.counts, sizeof(struct loopback_counts));
	return_window_fini(&window);
}

static void test_against_the_oracle(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 24; seed++)
		run(seed, UINT64_C(64) << seed % 7, 0);
}

/* The 32 bits in a packet wrap in the middle of a run; the 64-bit numbers do not. */
static void test_numbers_that_wrap(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		run(seed, 1024, (UINT64_C(1) << 32) - PACKETS_MAX / 2);
		run(seed, 1024, (UINT64_C(5) << 32) - PACKETS_MAX / 3);
	}
}

static void test_what_was_not_sent(void **state)
{
	struct return_window window;

	(void)state;
	assert_true(return_window_init(&window, 64, 0));
	assert_int_equal(return_window_take(&window, 0), RETURN_NONE);
	return_window_sent(&window, 10);
	assert_int_equal(return_window_take(&window, 10), RETURN_NONE);
	assert_int_equal(return_window_take(&window, UINT32_MAX), RETURN_NONE);
	assert_int_equal(return_window_take(&window, 9), RETURN_FIRST);
	assert_int_equal(return_window_take(&window, 0), RETURN_FIRST);
	assert_int_equal(window.counts.out_of_order, 1);
	assert_int_equal(window.counts.sent - window.counts.returned, 8);
	return_window_fini(&window);
}

/*
 * A packet that leaves the window is lost, whenever it arrives, and does not take the place of
 * another.
 */
static void test_edge_of_the_window(void **state)
{
	struct return_window window;

	(void)state;
	assert_true(return_window_init(&window, 64, 0));
	return_window_sent(&window, 64);
	assert_int_equal(return_window_take(&window, 0), RETURN_FIRST);
	return_window_sent(&window, 1);
	assert_int_equal(return_window_take(&window, 0), RETURN_LATE);
	assert_int_equal(return_window_take(&window, 1), RETURN_FIRST);
	assert_int_equal(return_window_take(&window, 64), RETURN_FIRST);
	assert_int_equal(return_window_take(&window, 64), RETURN_TWICE);
	assert_int_equal(window.counts.late, 1);
	assert_int_equal(window.counts.returned, 3);
	return_window_fini(&window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_the_oracle),
		cmocka_unit_test(test_numbers_that_wrap),
		cmocka_unit_test(test_what_was_not_sent),
		cmocka_unit_test(test_edge_of_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
