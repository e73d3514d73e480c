/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Shedding settings on their way from the controller to a worker, under load. One thread takes
 * settings from the mailbox as a worker does and publishes its counts. The other publishes settings
 * in two buffers as the controller does and reads the sums. The settings are plain memory, so that
 * ThreadSanitizer reports every access that the mailbox does not order. The number of a setting
 * determines its contents.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parallel/workers/count.h"
#include "parallel/workers/shed_worker.h"

#define STATES       100000
#define MEASUREMENTS 3
#define STEPS        "rate:1/2, rate:1/8, off"

struct stage {
	struct steps steps[CONFIG_MEASUREMENTS_MAX];
	struct shed_setting states[2];
	struct shed_mailbox line;
	struct counting counting;
	struct shed_worker shed;
	struct shed_counts kept;

	/* Written by the worker; read after it ends: */
	uint64_t wrong, bursts, packets, cycles;
};

/* Number of the measurement set. */
#define SET 5

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Returns the number of steps by which setting `number` reduces measurement m. */
static uint32_t steps_of(uint64_t number, uint32_t m)
{
	return (uint32_t)(number >> 2 * m) % 4;
}

/* Returns true if `state` is what setting `number` stands for. */
static bool is_whole(const struct burst_shedding *state, const struct steps *steps, uint64_t number)
{
	uint8_t least = SHED_SHIFT_MAX;
	bool good = true, none = true;

	for (uint32_t m = 0; m < MEASUREMENTS; m++) {
		struct detail detail = steps_detail(&steps[m], steps_of(number, m));

		none &= detail.off;
		if (!detail.off && detail.shift < least)
			least = detail.shift;
	}
	for (uint32_t m = 0; m < MEASUREMENTS; m++) {
		struct detail detail = steps_detail(&steps[m], steps_of(number, m));

		good &= (state->off >> m & 1) == detail.off;
		if (!detail.off)
			good &= state->shift + state->rarer[m] == detail.shift;
	}
	return good && state->shift == least && state->count_only == none;
}

static void *work(void *arg)
{
	struct stage *stage = arg;
	struct shed_worker *shed = &stage->shed;
	uint64_t number = 0;
	uint32_t random = 1;

	while (number < STATES) {
		uint32_t n = 1 + next_random(&random) % 64, cycles = next_random(&random) % 1000;
		const struct burst_shedding *state;

		shed_worker_obey(shed, &stage->kept);
		stage->wrong += shed_worker_take(shed, n) != n;
		state = shed_worker_state(shed, &stage->counting, stage->bursts / 100);
		/* The initial setting has no number. */
		if (shed->states != &shed->decided) {
			stage->wrong +=
				shed->states->number < number || shed->states->number > number + 1;
			number = shed->states->number;
		}
		stage->wrong += !is_whole(state, stage->steps, number);
		shed_worker_publish(shed, n, cycles);
		stage->bursts++;
		stage->packets += n;
		stage->cycles += cycles;
		if (next_random(&random) % 64 == 0)
			sched_yield();
	}
	return NULL;
}

static uint64_t sum_of(const _Atomic uint64_t sums[SHED_LEVEL_COUNT + 1])
{
	uint64_t sum = 0;

	for (uint32_t l = 0; l <= SHED_LEVEL_COUNT; l++)
		sum += atomic_load_explicit(&sums[l], memory_order_relaxed);
	return sum;
}

/* The controller, without its decisions. */
static uint64_t publish_all(struct stage *stage)
{
	uint64_t packets = 0, from = 0, wrong = 0;

	for (uint64_t number = 1; number <= STATES; number++) {
		struct shed_setting *next = &stage->states[number % 2];
		uint64_t now;

		while (atomic_load_explicit(&stage->line.taken, memory_order_acquire) != number - 1)
			sched_yield();
		now = atomic_load_explicit(&stage->line.taken_from, memory_order_relaxed);
		wrong += now < from;
		from = now;
		*next = (struct shed_setting){.number = number, .of = SET};
		for (uint32_t m = 0; m < MEASUREMENTS; m++)
			shed_setting_step(next, stage->steps, m, steps_of(number, m));
		atomic_store_explicit(&stage->line.next, next, memory_order_release);
		now = sum_of(stage->line.packets);
		wrong += now < packets || now < from;
		packets = now;
	}
	return wrong;
}

static void test_publish(void **state)
{
	struct stage *stage = aligned_alloc(64, sizeof(*stage));
	char why[STEPS_WHY_MAX];
	pthread_t worker;

	(void)state;
	assert_non_null(stage);
	memset(stage, 0, sizeof(*stage));
	for (uint32_t m = 0; m < MEASUREMENTS; m++)
		assert_true(steps_parse(&stage->steps[m], STEPS, why));
	stage->counting = (struct counting){.set = SET, .nb_measurements = MEASUREMENTS};
	shed_worker_init(&stage->shed, 7, 0);
	shed_worker_govern(&stage->shed, &stage->line, UINT64_MAX);
	queue_shedding_init(&stage->shed.shedding, 1);
	assert_int_equal(pthread_create(&worker, NULL, work, stage), 0);
	assert_int_equal(publish_all(stage), 0);
	pthread_join(worker, NULL);
	assert_int_equal(stage->wrong, 0);
	assert_true(stage->bursts >= STATES);
	assert_int_equal(sum_of(stage->line.packets), stage->packets);
	assert_int_equal(stage->line.smooth_packets, stage->packets);
	assert_int_equal(stage->line.smooth_busy, stage->cycles);
	assert_int_equal(stage->shed.packet, stage->packets);
	free(stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_publish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
