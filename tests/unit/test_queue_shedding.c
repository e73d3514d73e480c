/* SPDX-License-Identifier: BSD-3-Clause */

/* A worker, its queues and a virtual clock: the guarantees of load shedding in docs/ADAPTIVE.md. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "parallel/workers/count.h"
#include "parallel/workers/shed_worker.h"

#define BURST      64
#define QUEUES_MAX 4
#define PROCESSES  10000 /* ten times as many with SKETCHTAP_FULL */
#define POLLS      400   /* polls per queue */

/* Rates and times are in packets at the queue's highest rate, which is 1. */
struct shape {
	uint32_t nb_queues;
	double entries;
	double c_full, c_count;
};

/* Arrival of packets: rate over time, 0 to 1. */
enum arrivals {
	ARRIVALS_STEADY,
	ARRIVALS_RAMP,
	ARRIVALS_SINE,
	ARRIVALS_ON_OFF,  /* full rate or none, for random times */
	ARRIVALS_STEPS,   /* random rates for random times */
	ARRIVALS_HOSTILE, /* full rate until the highest shedding level, then rarely */
	ARRIVALS_KINDS,
};

struct model {
	struct shape shape;
	enum arrivals arrivals;
	struct random random;
	struct shed_worker shed;
	struct shed_counts kept;
	struct shedding_queue queues[QUEUES_MAX];
	double waiting[QUEUES_MAX]; /* includes fractions of a packet */
	double now, turn;           /* turn: time of the next change of the rate */
	double rate, period;
	double arrived;
	uint64_t polled, full, sampled, counted;
	double highest; /* highest share of the entries in use */
	bool unlucky;   /* every packet is sampled */
};

static double uniform(struct random *random)
{
	return (double)(random_next(random) >> 11) * 0x1p-53;
}

static double rate_of(struct model *model)
{
	switch (model->arrivals) {
	case ARRIVALS_STEADY: return 1;
	case ARRIVALS_RAMP: return fmod(model->now / model->period, 1);
	case ARRIVALS_SINE: return (1 + sin(model->now / model->period)) / 2;
	case ARRIVALS_HOSTILE:
		return model->shed.shedding.level < SHED_LEVEL_COUNT ||
		       uniform(&model->random) < 0.2;
	default: break;
	}
	if (model->now >= model->turn) {
		model->turn = model->now + model->period * uniform(&model->random);
		model->rate = model->arrivals == ARRIVALS_ON_OFF
				      ? (double)(random_next(&model->random) & 1)
				      : uniform(&model->random);
	}
	return model->rate;
}

static void pass(struct model *model, double time)
{
	double rate = rate_of(model);

	model->now += time;
	for (uint32_t q = 0; q < model->shape.nb_queues; q++) {
		model->waiting[q] += rate * time;
		model->arrived += rate * time;
		if (model->waiting[q] / model->shape.entries > model->highest)
			model->highest = model->waiting[q] / model->shape.entries;
	}
}

static uint64_t draw(struct model *model, uint32_t n)
{
	return model->unlucky ? UINT64_MAX >> (BURST - n) : shed_worker_choose(&model->shed, n);
}

/* Like worker_count_kept(); returns the time taken. */
static double count(struct model *model, uint32_t n)
{
	static const struct counting counting = {.nb_measurements = 1};
	const struct burst_shedding *state;
	const struct shape *shape = &model->shape;
	uint32_t some, looks;
	uint64_t drawn;

	shed_worker_obey(&model->shed, &model->kept);
	assert_int_equal(shed_worker_take(&model->shed, n), n);
	state = shed_worker_state(&model->shed, &counting, 0);
	if (state->count_only) {
		model->counted += n;
		return n * shape->c_count;
	}
	if (state->shift == 0) {
		model->full += n;
		return n * shape->c_full;
	}
	drawn = draw(model, n);
	some = queue_shedding_cut(drawn, n);
	looks = (uint32_t)__builtin_popcountll(
		some < 64 ? drawn & ((UINT64_C(1) << some) - 1) : drawn);
	assert_true(looks <= SHED_LOOKS_MAX);
	model->sampled += some;
	model->counted += n - some;
	return n * shape->c_count + looks * shape->c_full;
}

static void poll_queue(struct model *model, uint32_t q)
{
	double waiting = floor(model->waiting[q]);
	uint32_t n = waiting < BURST ? (uint32_t)waiting : BURST;
	uint32_t quarters;

	model->waiting[q] -= n;
	model->polled += n;
	quarters = (uint32_t)(floor(model->waiting[q]) / (model->shape.entries / 4));
	model->shed.backlog = (uint64_t)model->waiting[q];
	if (n < BURST)
		queue_shedding_look(&model->shed.shedding, &model->queues[q], 0, false);
	else
		queue_shedding_look(&model->shed.shedding, &model->queues[q],
			quarters < SHED_QUARTERS ? quarters : SHED_QUARTERS - 1, true);
	pass(model, n > 0 ? count(model, n) : 1);
}

static void start(
	struct model *model, const struct shape *shape, enum arrivals arrivals, uint64_t seed)
{
	*model = (struct model){.shape = *shape, .arrivals = arrivals};
	random_init(&model->random, seed);
	shed_worker_init(&model->shed, seed, 0);
	queue_shedding_init(&model->shed.shedding, shape->nb_queues);
	model->period = exp(uniform(&model->random) * log(shape->entries * 100));
	model->unlucky = seed % 3 == 0;
}

static void run(struct model *model)
{
	for (uint32_t p = 0; p < POLLS; p++)
		for (uint32_t q = 0; q < model->shape.nb_queues; q++)
			poll_queue(model, q);
	assert_int_equal(model->full + model->sampled + model->counted, model->polled);
}

/* As slow as the guarantee allows, or somewhat faster. */
static struct shape draw_shape(struct random *random)
{
	struct shape shape = {.nb_queues = 1 + (uint32_t)random_below(random, QUEUES_MAX)};
	double slack = random_below(random, 2) == 0 ? 0.9999 : 1 - uniform(random) / 2;

	shape.entries = (double)(UINT64_C(1) << (11 + random_below(random, 5)));
	shape.c_count = slack / shape.nb_queues;
	shape.c_full = shape.entries / 2 * slack / (BURST * shape.nb_queues) - 2;
	return shape;
}

static uint32_t nb_processes(void)
{
	return getenv("SKETCHTAP_FULL") != NULL ? 10 * PROCESSES : PROCESSES;
}

/* Any arrivals within the limit. */
static void test_guarantee(void **state)
{
	struct random random;
	double highest = 0;
	uint64_t of_level[3] = {0};

	(void)state;
	random_init(&random, 1);
	for (uint32_t i = 0; i < nb_processes(); i++) {
		struct shape shape = draw_shape(&random);
		struct model model;

		start(&model, &shape, (enum arrivals)(i % ARRIVALS_KINDS), i);
		run(&model);
		assert_true(model.highest <= 1);
		highest = fmax(highest, model.highest);
		of_level[0] += model.full;
		of_level[1] += model.sampled;
		of_level[2] += model.counted;
	}
	print_message(
		"the fullest queue was at %.3f; %llu packets full, %llu sampled, %llu counted\n",
		highest, (unsigned long long)of_level[0], (unsigned long long)of_level[1],
		(unsigned long long)of_level[2]);
	assert_true(highest > 0.9);
	for (uint32_t l = 0; l < 3; l++)
		assert_true(of_level[l] > 1000);
}

/* Searches for the worst case: times at full rate and times without packets, changed bit by bit. */
static double fill_by(const struct shape *shape, const uint8_t *on, uint64_t seed)
{
	struct model model;

	start(&model, shape, ARRIVALS_ON_OFF, seed);
	model.unlucky = true;
	for (uint32_t p = 0; p < POLLS; p++)
		for (uint32_t q = 0; q < shape->nb_queues; q++) {
			model.rate = on[p];
			model.turn = INFINITY;
			poll_queue(&model, q);
		}
	return model.highest;
}

static void test_search(void **state)
{
	struct random random;

	(void)state;
	random_init(&random, 2);
	for (uint32_t i = 0; i < 20; i++) {
		struct shape shape = draw_shape(&random);
		uint8_t on[POLLS];
		double best;

		memset(on, 1, sizeof(on));
		best = fill_by(&shape, on, i);
		for (uint32_t step = 0; step < nb_processes() / 100; step++) {
			uint32_t begin = (uint32_t)random_below(&random, POLLS);
			uint32_t n = (uint32_t)random_below(&random, POLLS - begin) / 4 + 1;
			uint8_t before[POLLS];
			double fill;

			memcpy(before, on, sizeof(on));
			memset(on + begin, (int)random_below(&random, 2), n);
			fill = fill_by(&shape, on, i);
			if (fill < best)
				memcpy(on, before, sizeof(on));
			best = fmax(best, fill);
		}
		assert_true(best <= 1);
	}
}

/* A worker that counts too slowly, or a ring that is too small for a burst, is not covered. */
static void test_beyond(void **state)
{
	struct shape slow = {.nb_queues = 1, .entries = 2048, .c_full = 8, .c_count = 1.2};
	struct shape small = {.nb_queues = 1, .entries = 256, .c_full = 8, .c_count = 0.9};
	struct model model;

	(void)state;
	start(&model, &slow, ARRIVALS_STEADY, 1);
	run(&model);
	assert_true(model.highest > 1);
	start(&model, &small, ARRIVALS_STEADY, 1);
	run(&model);
	assert_true(model.highest > 1);
}

static void look(struct queue_shedding *shedding, struct shedding_queue *queue, uint32_t quarters,
	bool waiting, enum shed_level expected, uint32_t shift)
{
	queue_shedding_look(shedding, queue, quarters, waiting);
	assert_int_equal(shedding->level, expected);
	assert_int_equal(shedding->shift, shift);
}

static void test_levels(void **state)
{
	struct shedding_queue first = {0}, second = {0};
	struct queue_shedding shedding;

	(void)state;
	queue_shedding_init(&shedding, 2);
	look(&shedding, &first, 0, true, SHED_LEVEL_FULL, 2);
	look(&shedding, &first, 1, true, SHED_LEVEL_WAIT, 2);
	look(&shedding, &first, 0, true, SHED_LEVEL_WAIT, 2); /* not empty yet */
	look(&shedding, &first, 2, true, SHED_LEVEL_SOME, 2);
	look(&shedding, &first, 1, true, SHED_LEVEL_SOME, 2);
	look(&shedding, &first, 3, true, SHED_LEVEL_COUNT, 3); /* SOME was insufficient */
	look(&shedding, &second, 0, false, SHED_LEVEL_COUNT, 3);
	look(&shedding, &first, 2, true, SHED_LEVEL_COUNT, 3);
	look(&shedding, &first, 1, true, SHED_LEVEL_SOME, 3);
	look(&shedding, &second, 3, true, SHED_LEVEL_COUNT, 4); /* the fullest queue decides */
	look(&shedding, &first, 0, false, SHED_LEVEL_COUNT, 4);
	look(&shedding, &second, 0, true, SHED_LEVEL_SOME, 4);
	look(&shedding, &second, 0, true, SHED_LEVEL_WAIT, 3); /* SOME was sufficient */
	look(&shedding, &first, 0, false, SHED_LEVEL_WAIT, 3);
	look(&shedding, &second, 0, false, SHED_LEVEL_FULL, 3);
	for (uint32_t i = 0; i < 10; i++) {
		queue_shedding_look(&shedding, &first, 3, true);
		queue_shedding_look(&shedding, &first, 1, true);
	}
	assert_int_equal(shedding.shift, SHED_SHIFT_MAX);
}

static void test_cut(void **state)
{
	(void)state;
	assert_int_equal(queue_shedding_cut(0, 64), 64);
	assert_int_equal(queue_shedding_cut(UINT32_MAX, 64), 64);
	assert_int_equal(queue_shedding_cut(UINT64_MAX, 64), 32);
	assert_int_equal(queue_shedding_cut(UINT64_MAX << 1, 64), 33);
	assert_int_equal(queue_shedding_cut(UINT64_MAX << 32, 64), 64);
	assert_int_equal(queue_shedding_cut(UINT64_MAX >> 31, 33), 32);
}

/* Each packet is chosen on its own, at its rate, for any burst sizes. */
static void test_choice(void **state)
{
	(void)state;
	for (uint8_t shift = 1; shift <= SHED_SHIFT_MAX; shift++) {
		struct shed_worker whole, cut;
		struct random random;
		uint64_t chosen = 0, both = 0, packets = UINT64_C(1) << 18;
		double mean = ldexp((double)packets, -shift), pairs = ldexp(mean, -shift);
		bool last = false;

		random_init(&random, shift);
		shed_worker_init(&whole, 5, 3);
		shed_worker_init(&cut, 5, 3);
		whole.state.shift = cut.state.shift = shift;
		for (uint64_t at = 0; at < packets; at += BURST) {
			uint64_t bits, parts = 0;

			shed_worker_take(&whole, BURST);
			bits = shed_worker_choose(&whole, BURST);
			for (uint32_t begin = 0, n; begin < BURST; begin += n) {
				n = 1 + (uint32_t)random_below(&random, BURST - begin);
				shed_worker_take(&cut, n);
				parts |= shed_worker_choose(&cut, n) << begin;
			}
			assert_int_equal(bits, parts);
			for (uint32_t i = 0; i < BURST; i++) {
				bool is_chosen = bits >> i & 1;

				chosen += is_chosen;
				both += is_chosen && last;
				last = is_chosen;
			}
		}
		/* Within five standard deviations. */
		assert_true(fabs((double)chosen - mean) < 5 * sqrt(mean));
		assert_true(fabs((double)both - pairs) < 5 * sqrt(pairs) + 5);
	}
}

/* Other workers and other seeds choose different packets. */
static void test_choice_of_others(void **state)
{
	struct shed_worker a, b, c;

	(void)state;
	shed_worker_init(&a, 5, 0);
	shed_worker_init(&b, 5, 1);
	shed_worker_init(&c, 6, 0);
	a.state.shift = b.state.shift = c.state.shift = 1;
	a.packet = b.packet = c.packet = BURST;
	assert_int_not_equal(shed_worker_choose(&a, BURST), shed_worker_choose(&b, BURST));
	assert_int_not_equal(shed_worker_choose(&a, BURST), shed_worker_choose(&c, BURST));
}

/* Below the level that samples, the controller's whole share is processed. */
static void test_cut_of_level(void **state)
{
	struct shed_worker shed;

	(void)state;
	shed_worker_init(&shed, 5, 0);
	assert_int_equal(shed_worker_cut(&shed, UINT64_MAX, BURST), BURST);
	queue_shedding_init(&shed.shedding, 1);
	assert_int_equal(shed_worker_cut(&shed, UINT64_MAX, BURST), BURST);
	shed.shedding.level = SHED_LEVEL_WAIT;
	assert_int_equal(shed_worker_cut(&shed, UINT64_MAX, BURST), BURST);
	shed.shedding.level = SHED_LEVEL_SOME;
	assert_int_equal(shed_worker_cut(&shed, UINT64_MAX, BURST), SHED_LOOKS_MAX);
}

/* A measurement of lower priority that is due does not wait, also if the other one is off. */
static void test_first(void **state)
{
	const struct counting counting = {.set = 7, .nb_measurements = 2, .low_ranked = 1 << 1};
	struct shed_setting setting = SHED_SETTING_WHOLE;
	struct shed_worker shed;

	(void)state;
	shed_worker_init(&shed, 5, 0);
	setting.of = counting.set;
	setting.off = 1 << 0;
	shed.states = &setting;
	shed.level = (struct burst_shed_level){.level = SHED_LEVEL_WAIT};
	assert_true(shed_worker_state(&shed, &counting, 0)->count_only);
	setting.first = 1 << 1;
	shed.stale = true;
	assert_false(shed_worker_state(&shed, &counting, 0)->count_only);
	assert_int_equal(shed_worker_state(&shed, &counting, 0)->off, 1 << 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_guarantee),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_beyond),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_cut_of_level),
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_choice_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
