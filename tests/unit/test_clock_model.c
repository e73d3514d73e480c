/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Conversion of device clock ticks to UTC, against simulated clocks whose time is known to the
 * nanosecond.
 */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rx/port/clock_model.h"
#include "base/random.h"

#define SECOND  INT64_C(1000000000)
#define MS      INT64_C(1000000)
#define SOMEDAY INT64_C(1800000000123456789)

static int64_t utc_at(const struct clock_line *line, uint64_t ticks)
{
	return line->utc + (int64_t)clock_line_ns(line, ticks);
}

static void add(struct clock_model *model, uint64_t ticks, int64_t utc, enum clock_verdict expected)
{
	struct clock_pair pair = {.ticks = ticks, .utc = utc, .error = 500};

	assert_int_equal(clock_model_add(model, &pair), expected);
}

/* ticks_a_second must divide 10^9, or be a multiple of it. */
static uint64_t ticks_of(uint64_t ticks_a_second, int64_t ns)
{
	return (uint64_t)((unsigned __int128)ticks_a_second * (uint64_t)ns / SECOND);
}

/* From the second pair on, for any rate and start of the clock, also if it wraps. */
static void any_clock(void **state)
{
	static const uint64_t rates[] = {1000, 1000000, 156250000, 1000000000, 3000000000u};
	static const uint64_t starts[] = {0, 1, INT64_MAX - 100, UINT64_MAX - 1000, SOMEDAY};

	(void)state;
	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++)
		for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
			struct clock_model model = {0};

			for (int64_t t = 0; t < 40 * SECOND; t += t == 0 ? 20 * MS : 490 * MS) {
				add(&model, starts[s] + ticks_of(rates[r], t), SOMEDAY + t,
					CLOCK_FITS);
				if (t == 0) {
					assert_true(model.line.ns_of_tick == 0);
					continue;
				}
				for (int64_t ago = 0; ago < 3 * SECOND && ago <= t; ago += 7 * MS) {
					int64_t utc = utc_at(&model.line,
						starts[s] + ticks_of(rates[r], t - ago));

					assert_in_range(utc - (SOMEDAY + t - ago) + 2, 0, 4);
				}
			}
		}
}

static struct clock_model running(void)
{
	struct clock_model model = {0};

	for (int64_t t = 0; t < 5; t++)
		add(&model, (uint64_t)(t * SECOND), SOMEDAY + t * SECOND, CLOCK_FITS);
	return model;
}

static void poor_pairs_tell_nothing(void **state)
{
	struct clock_model model = running();
	struct clock_pair late = {
		.ticks = 5 * SECOND,
		.utc = SOMEDAY + 5 * SECOND + CLOCK_ERROR_MAX,
		.error = CLOCK_ERROR_MAX + 1,
	};

	(void)state;
	assert_int_equal(clock_model_add(&model, &late), CLOCK_POOR);
	assert_int_equal(utc_at(&model.line, 6 * SECOND), SOMEDAY + 6 * SECOND);
	model = (struct clock_model){0};
	assert_int_equal(clock_model_add(&model, &late), CLOCK_POOR);
	assert_int_equal(model.n, 0);
}

/* A single wrong reading. */
static void an_outlier_moves_nothing(void **state)
{
	static const int64_t by[] = {-3600 * SECOND, -30 * MS, 30 * MS, 3600 * SECOND};

	(void)state;
	for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
		struct clock_model model = running();

		add(&model, 5 * SECOND, SOMEDAY + 5 * SECOND + by[i], CLOCK_ODD);
		assert_int_equal(utc_at(&model.line, 5 * SECOND), SOMEDAY + 5 * SECOND);
		add(&model, 6 * SECOND, SOMEDAY + 6 * SECOND, CLOCK_FITS);
		assert_int_equal(utc_at(&model.line, 7 * SECOND), SOMEDAY + 7 * SECOND);
		/* Two wrong readings that disagree are two outliers. */
		add(&model, 7 * SECOND, SOMEDAY + 7 * SECOND + by[i], CLOCK_ODD);
		add(&model, 8 * SECOND, SOMEDAY + 8 * SECOND - by[i], CLOCK_ODD);
		assert_int_equal(utc_at(&model.line, 8 * SECOND), SOMEDAY + 8 * SECOND);
		add(&model, 9 * SECOND, SOMEDAY + 9 * SECOND, CLOCK_FITS);
	}
}

/*
 * The system clock is set, or the device clock restarts at 0: the model is valid after the second
 * pair.
 */
static void a_step_begins_anew(void **state)
{
	static const struct {
		uint64_t ticks;
		int64_t utc;
	} steps[] = {
		{0, 3600 * SECOND},
		{0, -3600 * SECOND},
		{0, 20 * MS},
		{-5 * SECOND, 0},
		{UINT64_C(1) << 62, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct clock_model model = running();
		uint64_t ticks = 5 * SECOND + steps[i].ticks;
		int64_t utc = SOMEDAY + 5 * SECOND + steps[i].utc;

		add(&model, ticks, utc, CLOCK_ODD);
		add(&model, ticks + SECOND, utc + SECOND, CLOCK_ANEW);
		assert_int_equal(utc_at(&model.line, ticks + 2 * SECOND), utc + 2 * SECOND);
		add(&model, ticks + 2 * SECOND, utc + 2 * SECOND, CLOCK_FITS);
		assert_int_equal(utc_at(&model.line, ticks + SECOND / 2), utc + SECOND / 2);
	}
}

/* A stalled clock has no rate; the model is valid once the clock starts. */
static void a_clock_that_stands_still(void **state)
{
	struct clock_model model = {0};

	(void)state;
	add(&model, 77, SOMEDAY, CLOCK_FITS);
	add(&model, 77, SOMEDAY + SECOND, CLOCK_ODD);
	assert_true(model.line.ns_of_tick == 0);
	add(&model, 77 + 1000, SOMEDAY + 2 * SECOND, CLOCK_FITS);
	assert_int_equal(utc_at(&model.line, 77 + 2000), SOMEDAY + 3 * SECOND);
}

/* Realistic clocks, in units too fine to accumulate rounding. */
struct world {
	struct random random;
	__int128 utc, ticks; /* in 2^-32 ns, 2^-32 ticks */
	int64_t slew, drift; /* ppm: system clock, device clock */
};

static void pass_ms(struct world *world)
{
	world->utc += ((__int128)MS << 32) * (1000000 + world->slew) / 1000000;
	world->ticks += ((__int128)(MS * 5 / 8) << 32) * (1000000 + world->drift) / 1000000;
	if (random_below(&world->random, 5000) == 0)
		world->slew = (int64_t)random_below(&world->random, 3) * 500 - 500;
	if (random_below(&world->random, 200) == 0)
		world->drift = (int64_t)random_below(&world->random, 201) - 100;
}

/* Half an hour of a drifting oscillator and a system clock that is slewed and read imprecisely. */
static void drift_is_followed(void **state)
{
	struct clock_model model = {0};
	struct world world = {.utc = (__int128)SOMEDAY << 32};
	int64_t read_at = 0, error = 0;

	(void)state;
	random_init(&world.random, 3);
	for (int64_t ms = 0; ms < 1800 * 1000; ms++) {
		int64_t utc = (int64_t)(world.utc >> 32);
		uint64_t ticks = (uint64_t)(world.ticks >> 32);

		if (ms % 1000 == 0 || ms == 20) {
			struct clock_pair pair = {.ticks = ticks};

			pair.error = (int64_t)random_below(&world.random, 50000);
			pair.utc =
				utc +
				(int64_t)random_below(&world.random, 2 * (uint64_t)pair.error + 1) -
				pair.error;
			assert_int_equal(clock_model_add(&model, &pair), CLOCK_FITS);
			read_at = utc;
			error = pair.error;
		}
		if (model.n > 1) {
			/* Two readings 20 ms apart, or at least 980 ms. */
			double rate = model.n == 2 ? 5e-3 : 1.3e-3;
			double allowed = (double)error + (double)(utc - read_at) * rate + 2;

			assert_true(llabs(utc_at(&model.line, ticks) - utc) <= (int64_t)allowed);
		}
		pass_ms(&world);
	}
}

/* --- the board --- */

#define DRAWINGS 200000

static struct clock_board board;

/* Draws lines whose parts all depend on each other. */
static void *drawer(void *arg)
{
	(void)arg;
	for (uint32_t i = 1; i <= DRAWINGS; i++) {
		struct clock_line line = {.ticks = i, .utc = -(int64_t)i, .ns_of_tick = i * 0.5};

		clock_board_publish(&board, &line);
	}
	return NULL;
}

static void lines_are_read_whole(void **state)
{
	struct clock_line line = {0};
	uint32_t seen = 0;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, drawer, NULL), 0);
	while (line.ticks < DRAWINGS) {
		uint64_t before = line.ticks;

		clock_board_read(&board, &seen, &line);
		assert_true(line.ticks >= before);
		assert_true(line.utc == -(int64_t)line.ticks);
		assert_true(line.ns_of_tick == (double)line.ticks * 0.5);
	}
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_clock),
		cmocka_unit_test(poor_pairs_tell_nothing),
		cmocka_unit_test(an_outlier_moves_nothing),
		cmocka_unit_test(a_step_begins_anew),
		cmocka_unit_test(a_clock_that_stands_still),
		cmocka_unit_test(drift_is_followed),
		cmocka_unit_test(lines_are_read_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
