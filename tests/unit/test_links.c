/* SPDX-License-Identifier: BSD-3-Clause */

/* Interface loads of exporters that come, restart and go, compared with a simple table. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/units.h"
#include "collect/exporters/links.h"

#define EXPORTERS  4
#define INTERFACES 100

struct expected_link {
	bool there;
	uint64_t in_packets, out_packets;
	int64_t counters_at; /* 0: no previous counters */
	uint64_t counter, counted, counted_ns;
};

struct model {
	struct links *links;
	struct random random;
	int64_t time;
	uint32_t nb_rows;
	uint64_t nowhere[EXPORTERS]; /* packets without interface */
	struct expected_link known[EXPORTERS][INTERFACES + 1];
};

static void count_packets(struct model *model, uint32_t exporter)
{
	uint32_t input = (uint32_t)random_below(&model->random, INTERFACES + 1);
	uint32_t output = (uint32_t)random_below(&model->random, INTERFACES + 1);
	struct observation observation = {
		.exporter = (uint16_t)exporter,
		.input = input,
		.output = output,
		.packets = 1 + random_below(&model->random, 9),
		.bytes = 100,
		.sampling = 1,
		.side = OBSERVED_INGRESS,
	};

	links_count(model->links, &observation, 1);
	if (input == 0 && output == 0)
		model->nowhere[exporter] += observation.packets;
	model->known[exporter][input].in_packets += observation.packets;
	model->known[exporter][output].out_packets += observation.packets;
}

static void read_counters(struct model *model, uint32_t exporter)
{
	struct interface_counters counters = {
		.interface = 1 + (uint32_t)random_below(&model->random, INTERFACES),
	};
	struct expected_link *known = &model->known[exporter][counters.interface];
	uint64_t now = known->counter + random_below(&model->random, 100);

	counters.in_packets = counters.out_packets = now;
	counters.in_bytes = counters.out_bytes = now * 100;
	links_counters(model->links, exporter, &counters, model->time);
	if (known->counters_at != 0) {
		known->counted += now - known->counter;
		known->counted_ns += (uint64_t)(model->time - known->counters_at);
	}
	known->counter = now;
	known->counters_at = model->time;
}

static void check_row(void *arg, uint32_t exporter, struct link_row *row)
{
	struct model *model = arg;
	const struct expected_link *known = &model->known[exporter][row->interface];

	model->nb_rows++;
	if (!row->has_interface) {
		assert_int_equal(row->direction, LINK_NEITHER);
		assert_int_equal(row->packets, model->nowhere[exporter]);
		return;
	}
	assert_in_range(row->interface, 1, INTERFACES);
	assert_int_equal(
		row->packets, row->direction == LINK_IN ? known->in_packets : known->out_packets);
	assert_int_equal(row->counter_packets, known->counted);
	assert_int_equal(row->counted_ns, known->counted_ns);
}

static void end_epoch(struct model *model)
{
	uint32_t rows = 0;

	for (uint32_t i = 0; i < EXPORTERS; i++)
		rows += model->nowhere[i] > 0;
	for (uint32_t i = 0; i < EXPORTERS; i++)
		for (uint32_t j = 1; j <= INTERFACES; j++) {
			const struct expected_link *known = &model->known[i][j];

			rows += (known->in_packets > 0 || known->counted_ns > 0) +
				(known->out_packets > 0 || known->counted_ns > 0);
		}
	model->nb_rows = 0;
	links_end_epoch(model->links, check_row, model);
	assert_int_equal(model->nb_rows, rows);
	memset(model->nowhere, 0, sizeof(model->nowhere));
	for (uint32_t i = 0; i < EXPORTERS; i++)
		for (uint32_t j = 0; j <= INTERFACES; j++) {
			struct expected_link *known = &model->known[i][j];

			known->in_packets = known->out_packets = 0;
			known->counted = known->counted_ns = 0;
		}
}

static void a_step(struct model *model)
{
	uint32_t exporter = (uint32_t)random_below(&model->random, EXPORTERS);
	uint64_t what = random_below(&model->random, 1000);

	model->time += SECOND_NS / 10;
	if (what < 500) {
		count_packets(model, exporter);
	} else if (what < 980) {
		read_counters(model, exporter);
	} else if (what < 985) {
		end_epoch(model);
	} else if (what < 992) {
		links_restart(model->links, exporter);
		for (uint32_t j = 0; j <= INTERFACES; j++)
			model->known[exporter][j].counters_at = 0;
	} else {
		links_forget(model->links, exporter);
		memset(model->known[exporter], 0, sizeof(model->known[exporter]));
		model->nowhere[exporter] = 0;
	}
}

static void links_come_and_go(void **state)
{
	struct model *model = calloc(1, sizeof(*model));

	(void)state;
	assert_non_null(model);
	random_init(&model->random, 1);
	model->time = SECOND_NS;
	model->links = links_create(EXPORTERS * 2, 1);
	for (int i = 0; i < 200000; i++)
		a_step(model);
	end_epoch(model);
	links_destroy(model->links);
	free(model);
}

static void nothing_to_emit(void *arg, uint32_t exporter, struct link_row *row)
{
	(void)exporter;
	(void)row;
	++*(uint32_t *)arg;
}

/* More interfaces in one epoch than there is room for; those of removed exporters make room. */
static void who_goes_makes_room(void **state)
{
	struct links *links = links_create(4, 2);
	struct observation observation = {
		.packets = 1, .bytes = 100, .sampling = 1, .side = OBSERVED_INGRESS};
	uint32_t rows = 0;

	(void)state;
	for (uint32_t round = 0; round < 1000; round++) {
		observation.exporter = (uint16_t)(round % 4);
		links_forget(links, round % 4);
		for (uint32_t i = 0; i < 64; i++) {
			observation.input = 1 + round * 64 + i;
			links_count(links, &observation, 1);
		}
	}
	/* One more row per exporter: packets without a row of their own. */
	links_end_epoch(links, nothing_to_emit, &rows);
	assert_int_equal(rows, 256);
	links_destroy(links);
}

#define CROWD 100

static void count_links(void *arg, uint32_t exporter, struct link_row *row)
{
	uint64_t(*packets)[2] = arg;

	packets[exporter][row->has_interface] += row->packets;
}

/* All other exporters use as many interfaces as there are: the last one still has its share. */
static void no_exporter_takes_the_links_of_another(void **state)
{
	struct links *links = links_create(CROWD, 3);
	static uint64_t packets[CROWD][2];
	struct observation observation = {
		.packets = 1, .bytes = 100, .sampling = 1, .side = OBSERVED_INGRESS};

	(void)state;
	for (uint32_t turn = 0; turn < 3; turn++) {
		memset(packets, 0, sizeof(packets));
		for (uint32_t i = 0; i < CROWD - 1; i++) {
			observation.exporter = i;
			for (uint32_t j = 1; j <= 5000; j++) {
				observation.input = turn * 5000 + j;
				links_count(links, &observation, 1);
			}
		}
		/* 32 for each exporter, plus 6400 lent ones. */
		observation.exporter = CROWD - 1;
		for (uint32_t j = 1; j <= 40; j++) {
			observation.input = j;
			links_count(links, &observation, 1);
		}
		links_end_epoch(links, count_links, packets);
		assert_int_equal(packets[CROWD - 1][true], 32);
		assert_int_equal(packets[CROWD - 1][false], 8);
		for (uint32_t i = 0; i < CROWD - 1; i++) {
			/* Packets without an interface row are in the row without interface. */
			assert_int_equal(packets[i][true] + packets[i][false], 5000);
			assert_in_range(packets[i][true], 32, 4096);
			links_forget(links, i);
		}
	}
	links_destroy(links);
}

/* Interfaces that are silent for 600 intervals return their lent room. */
static void silent_links_make_room(void **state)
{
	struct links *links = links_create(4, 4);
	static uint64_t packets[4][2];
	struct observation observation = {
		.packets = 1, .bytes = 100, .sampling = 1, .side = OBSERVED_INGRESS};

	(void)state;
	for (uint32_t round = 0; round < 602; round++) {
		memset(packets, 0, sizeof(packets));
		observation.exporter = 0;
		for (uint32_t i = 1; i <= 300 && round == 0; i++) {
			observation.input = i;
			links_count(links, &observation, 1);
		}
		observation.exporter = 1;
		for (uint32_t i = 1; i <= 300; i++) {
			observation.input = i;
			links_count(links, &observation, 1);
		}
		links_end_epoch(links, count_links, packets);
		/* 32 for each, plus 256 lent ones. */
		assert_int_equal(packets[0][true], round == 0 ? 288 : 0);
		assert_int_equal(packets[1][true] + packets[1][false], 300);
		if (round < 601)
			assert_int_equal(packets[1][true], 32);
	}
	memset(packets, 0, sizeof(packets));
	for (uint32_t i = 1; i <= 300; i++) {
		observation.input = i;
		links_count(links, &observation, 1);
	}
	links_end_epoch(links, count_links, packets);
	assert_int_equal(packets[1][true], 288);
	links_destroy(links);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_come_and_go),
		cmocka_unit_test(who_goes_makes_room),
		cmocka_unit_test(no_exporter_takes_the_links_of_another),
		cmocka_unit_test(silent_links_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
