/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sets that wait for templates: they come out in order as they were put in, and exporters with few
 * sets lose none.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/random.h"
#include "collect/exporters/waiting.h"

#define EXPORTERS 40
#define SETS_MAX  4096

/* The sets of each exporter by number, and which of them wait. */
struct model {
	struct waiting *waiting;
	uint32_t n[EXPORTERS], first[EXPORTERS];
	bool there[EXPORTERS][SETS_MAX];
	uint32_t gone[EXPORTERS];
	bool proven[EXPORTERS];
	/* State of an offer. */
	uint32_t exporter, at;
	uint16_t wanted; /* template ID */
	bool takes;
};

/* Fills the bytes of set `number`, which also determines its length. Returns the length. */
static uint32_t fill(uint32_t exporter, uint32_t number, uint8_t *data)
{
	uint64_t seed = (uint64_t)exporter << 32 | number;
	uint32_t len = (uint32_t)(random_split(&seed) % 3000);

	for (uint32_t i = 0; i < len; i++)
		data[i] = (uint8_t)random_split(&seed);
	return len;
}

static void on_gone(void *arg, uint32_t exporter)
{
	struct model *model = arg;

	model->gone[exporter]++;
	/* The oldest one is dropped. */
	for (uint32_t i = 0; i < model->n[exporter]; i++) {
		if (model->there[exporter][i]) {
			model->there[exporter][i] = false;
			return;
		}
	}
}

static void put(struct model *model, uint32_t exporter)
{
	uint8_t data[3000];
	uint32_t number = model->n[exporter];
	struct waiting_set set = {
		.header = {.domain = exporter, .sequence = number},
		.time = number,
		.template_id = (uint16_t)(256 + number % 3),
		.proven = model->proven[exporter],
		.data = data,
	};

	assert_true(number < SETS_MAX);
	set.len = fill(exporter, number, data);
	waiting_put(model->waiting, exporter, &set, on_gone, model);
	model->there[exporter][number] = true;
	model->n[exporter]++;
}

static bool take(void *arg, const struct waiting_set *set)
{
	struct model *model = arg;
	uint8_t data[3000];
	bool taken = model->takes;

	/* Only sets of this template are offered. */
	assert_int_equal(set->template_id, model->wanted);
	while (!model->there[model->exporter][model->at] || 256 + model->at % 3 != model->wanted)
		assert_true(++model->at < model->n[model->exporter]);
	assert_int_equal(set->header.sequence, model->at);
	assert_int_equal(set->header.domain, model->exporter);
	assert_int_equal(set->time, model->at);
	assert_int_equal(set->len, fill(model->exporter, model->at, data));
	assert_memory_equal(set->data, data, set->len);
	if (taken)
		model->there[model->exporter][model->at] = false;
	model->at++;
	return taken;
}

static uint32_t count(const struct model *model, uint32_t exporter)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < model->n[exporter]; i++)
		n += model->there[exporter][i];
	return n;
}

static void offer(struct model *model, uint32_t exporter, uint16_t template_id)
{
	model->exporter = exporter;
	model->wanted = template_id;
	model->at = 0;
	model->takes = false;
	waiting_offer(model->waiting, exporter, template_id, take, model);
	model->at = 0;
	model->takes = true;
	waiting_offer(model->waiting, exporter, template_id, take, model);
	assert_int_equal(waiting_count(model->waiting, exporter), count(model, exporter));
}

static void it_is_what_lists_are(void **state)
{
	struct model *model = calloc(1, sizeof(*model));
	struct random random;

	(void)state;
	random_init(&random, 1);
	model->waiting = waiting_create(800000, EXPORTERS, 1);
	for (int i = 0; i < 10000; i++) {
		uint32_t exporter = (uint32_t)random_below(&random, EXPORTERS);
		uint64_t what = random_below(&random, 100);

		if (what < 30 && model->n[exporter] < SETS_MAX) {
			put(model, exporter);
		} else if (what < 50) {
			offer(model, exporter, (uint16_t)(256 + random_below(&random, 3)));
		} else if (what == 99) {
			assert_int_equal(
				waiting_forget(model->waiting, exporter), count(model, exporter));
			memset(model->there[exporter], 0, sizeof(model->there[exporter]));
			model->proven[exporter] = random_below(&random, 2);
		}
		assert_int_equal(waiting_count(model->waiting, exporter), count(model, exporter));
	}
	for (uint32_t i = 0; i < EXPORTERS; i++)
		for (uint16_t id = 256; id < 259; id++)
			offer(model, i, id);
	for (uint32_t i = 0; i < EXPORTERS; i++)
		assert_int_equal(waiting_count(model->waiting, i), 0);
	waiting_destroy(model->waiting);
	free(model);
}

static void a_flood_costs_the_flooder(void **state)
{
	struct model *model = calloc(1, sizeof(*model));

	(void)state;
	model->waiting = waiting_create(400000, EXPORTERS, 1);
	for (int i = 0; i < 5; i++)
		put(model, 1);
	for (int i = 0; i < 4000; i++)
		put(model, 0);
	for (int i = 0; i < 5; i++)
		put(model, 2);
	assert_int_equal(model->gone[1], 0);
	assert_int_equal(model->gone[2], 0);
	assert_true(model->gone[0] > 3000);
	assert_int_equal(waiting_count(model->waiting, 1), 5);
	assert_int_equal(waiting_count(model->waiting, 2), 5);
	for (uint16_t id = 256; id < 259; id++)
		offer(model, 0, id);
	assert_int_equal(waiting_count(model->waiting, 0), 0);
	waiting_destroy(model->waiting);
	free(model);
}

/*
 * Many exporters with few sets each, and few with many: neither half of the pool takes room that
 * the other needs.
 */
static void proven_and_others_have_a_half_each(void **state)
{
	for (uint32_t turn = 0; turn < 2; turn++) {
		struct model *model = calloc(1, sizeof(*model));
		uint32_t before;

		(void)state;
		model->waiting = waiting_create(400000, EXPORTERS, 1);
		model->proven[0] = model->proven[1] = turn == 0;
		for (uint32_t i = 2; i < EXPORTERS; i++)
			model->proven[i] = turn != 0;
		/* Below a half: 2 * 40 sets of 1500 bytes and the rest of their blocks. */
		for (uint32_t i = 0; i < 80; i++)
			put(model, i % 2);
		for (uint32_t i = 0; i < 4000; i++)
			put(model, 2 + i % (EXPORTERS - 2));
		assert_int_equal(model->gone[0] + model->gone[1], 0);
		/* Above it, they drop their own sets. */
		before = 0;
		for (uint32_t i = 2; i < EXPORTERS; i++)
			before += waiting_count(model->waiting, i);
		for (uint32_t i = 0; i < 400; i++)
			put(model, i % 2);
		assert_true(model->gone[0] + model->gone[1] > 200);
		for (uint32_t i = 2; i < EXPORTERS; i++)
			before -= waiting_count(model->waiting, i);
		/* They took only the part above a half. */
		assert_in_range(before, 1, 60);
		waiting_destroy(model->waiting);
		free(model);
	}
}

static void count_gone(void *arg, uint32_t exporter)
{
	++*(uint32_t *)arg;
	assert_int_equal(exporter, 0);
}

static bool never(void *arg, const struct waiting_set *set)
{
	(void)arg;
	(void)set;
	fail();
	return false;
}

/* Returns the CPU time of offers while `sets` sets wait for another template. */
static clock_t time_of_offers(uint32_t sets)
{
	struct waiting *waiting = waiting_create(16 << 20, 1, 1);
	struct waiting_set set = {.template_id = 256, .data = (const uint8_t *)""};
	uint32_t gone = 0;
	clock_t start;

	for (uint32_t i = 0; i < sets; i++)
		waiting_put(waiting, 0, &set, count_gone, &gone);
	assert_int_equal(gone, 0);
	start = clock();
	for (uint32_t i = 0; i < 200000; i++)
		waiting_offer(waiting, 0, (uint16_t)(257 + i % 1000), never, NULL);
	start = clock() - start;
	waiting_destroy(waiting);
	return start;
}

/*
 * Otherwise a few datagrams of small templates would keep a collector busy. A scan over them would
 * take thousands of times as long.
 */
static void what_waits_costs_other_templates_nothing(void **state)
{
	(void)state;
	assert_true(time_of_offers(30000) < 100 * (time_of_offers(1) + 1));
}

static void without_room_nothing_waits(void **state)
{
	static const uint8_t data[65535];
	struct waiting *waiting = waiting_create(0, 1, 1);
	struct waiting_set set = {.data = data, .len = 0};
	uint32_t gone = 0;

	(void)state;
	waiting_put(waiting, 0, &set, count_gone, &gone);
	assert_int_equal(gone, 1);
	assert_int_equal(waiting_count(waiting, 0), 0);
	waiting_destroy(waiting);
	/* A set larger than the pool costs the others nothing. */
	waiting = waiting_create(4096, 1, 1);
	waiting_put(waiting, 0, &set, count_gone, &gone);
	set.len = sizeof(data);
	waiting_put(waiting, 0, &set, count_gone, &gone);
	assert_int_equal(gone, 2);
	assert_int_equal(waiting_count(waiting, 0), 1);
	waiting_destroy(waiting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_what_lists_are),
		cmocka_unit_test(a_flood_costs_the_flooder),
		cmocka_unit_test(proven_and_others_have_a_half_each),
		cmocka_unit_test(what_waits_costs_other_templates_nothing),
		cmocka_unit_test(without_room_nothing_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
