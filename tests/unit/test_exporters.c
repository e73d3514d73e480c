/* SPDX-License-Identifier: BSD-3-Clause */

/* Slots of exporters, compared with a list that is searched linearly, and in floods. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "base/random.h"
#include "collect/exporters/exporter.h"
#include "collect/exporters/exporter_rule.h"
#include "collect/exporters/observation.h"
#include "config/option.h"

static struct exporter_id id_of(uint32_t address, uint32_t domain)
{
	struct exporter_id id = {.domain = domain, .protocol = FLOW_PROTOCOL_IPFIX};
	uint32_t wire = htonl(address);

	id.address.s6_addr[10] = id.address.s6_addr[11] = 0xff;
	memcpy(id.address.s6_addr + 12, &wire, 4);
	return id;
}

static int64_t test_time;

/* Handles one message of a datagram, like a collector. */
static uint32_t hear_message(
	struct exporter_table *table, const struct exporter_id *id, bool *evicted)
{
	uint32_t slot = exporter_find(table, id);

	*evicted = false;
	if (slot == EXPORTER_NONE)
		return exporter_admit(table, id, evicted);
	exporter_heard(table, slot);
	return slot;
}

/* Handles one datagram, like a collector. */
static uint32_t hear(struct exporter_table *table, const struct exporter_id *id, bool *evicted)
{
	exporter_datagram(table, test_time);
	return hear_message(table, id, evicted);
}

static void hear_twice(struct exporter_table *table, uint32_t address)
{
	struct exporter_id id = id_of(address, 0);
	bool evicted;

	hear(table, &id, &evicted);
	hear(table, &id, &evicted);
}

static bool is_there(struct exporter_table *table, uint32_t address)
{
	struct exporter_id id = id_of(address, 0);

	return exporter_find(table, &id) != EXPORTER_NONE;
}

static void slots_come_in_order(void **state)
{
	struct exporter_table *table = exporter_table_create(100, 1);
	bool evicted;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		struct exporter_id id = id_of(i * 7 + 1, i % 3);

		assert_int_equal(hear(table, &id, &evicted), i);
		assert_false(evicted);
	}
	assert_int_equal(exporter_table_used(table), 100);
	exporter_table_destroy(table);
}

#define MODEL_SLOTS 16

/* Expected contents of the slots. */
struct model {
	struct exporter_id ids[MODEL_SLOTS];
	uint32_t used;
};

static void check_model(const struct exporter_table *table, const struct model *model)
{
	for (uint32_t i = 0; i < model->used; i++) {
		const struct exporter_id *id = &model->ids[i];
		uint32_t of_address = 0, found = 0;

		assert_int_equal(exporter_find(table, id), i);
		for (uint32_t j = 0; j < model->used; j++)
			of_address += memcmp(&model->ids[j].address, &id->address, 16) == 0;
		for (uint32_t slot = exporter_at(table, &id->address); slot != EXPORTER_NONE;
			slot = exporter_sibling(table, slot), found++)
			assert_memory_equal(&model->ids[slot].address, &id->address, 16);
		assert_int_equal(found, of_address);
	}
}

static void it_is_what_a_list_is(void **state)
{
	struct exporter_table *table = exporter_table_create(MODEL_SLOTS, 1);
	struct model model = {0};
	struct random random;
	uint64_t evictions = 0;

	(void)state;
	random_init(&random, 1);
	for (int i = 0; i < 20000; i++) {
		struct exporter_id id = id_of(
			(uint32_t)random_below(&random, 12), (uint32_t)random_below(&random, 3));
		bool evicted;
		uint32_t slot = hear(table, &id, &evicted);

		if (slot != EXPORTER_NONE) {
			model.ids[slot] = id;
			if (slot == model.used)
				model.used++;
		} else {
			assert_int_equal(exporter_find(table, &id), EXPORTER_NONE);
		}
		evictions += evicted && slot != EXPORTER_NONE;
		if (random_below(&random, 20) == 0)
			exporter_end_epoch(table);
		check_model(table, &model);
	}
	assert_true(evictions > 100);
	exporter_table_destroy(table);
}

static void a_flood_takes_nobodys_slot(void **state)
{
	struct exporter_table *table = exporter_table_create(64, 1);
	struct random random;
	bool evicted;

	(void)state;
	random_init(&random, 2);
	for (uint32_t i = 1; i <= 40; i++)
		hear_twice(table, i);
	for (uint32_t i = 0; i < 1000000; i++) {
		struct exporter_id id =
			id_of(1000 + (uint32_t)random_below(&random, UINT32_MAX - 1000), i);

		hear(table, &id, &evicted);
		if (i % 10000 == 0)
			exporter_end_epoch(table);
	}
	for (uint32_t i = 1; i <= 40; i++)
		assert_true(is_there(table, i));
	exporter_table_destroy(table);
}

/* Messages of one datagram do not evict each other, and do not gain rank. */
static void a_datagram_keeps_its_domains(void **state)
{
	struct exporter_table *table = exporter_table_create(2, 1);
	struct exporter_id ids[] = {id_of(1, 0), id_of(2, 0), id_of(3, 0), id_of(4, 0)};
	bool evicted;

	(void)state;
	hear_twice(table, 9);
	exporter_datagram(table, test_time);
	assert_int_equal(hear_message(table, &ids[0], &evicted), 1);
	assert_int_equal(hear_message(table, &ids[1], &evicted), EXPORTER_NONE);
	assert_int_equal(hear_message(table, &ids[0], &evicted), 1);
	assert_int_equal(hear_message(table, &ids[1], &evicted), EXPORTER_NONE);
	assert_true(is_there(table, 1));
	/* One datagram came, with any number of messages. */
	assert_int_equal(hear(table, &ids[2], &evicted), 1);
	assert_true(evicted);
	assert_false(is_there(table, 1));
	assert_int_equal(hear(table, &ids[2], &evicted), 1);
	exporter_end_epoch(table);
	assert_int_equal(hear(table, &ids[3], &evicted), EXPORTER_NONE);
	exporter_table_destroy(table);
}

static void the_oldest_silent_one_goes(void **state)
{
	struct exporter_table *table = exporter_table_create(3, 1);
	struct exporter_id newcomer = id_of(9, 0);
	bool evicted;

	(void)state;
	for (uint32_t i = 1; i <= 3; i++)
		hear_twice(table, i);
	/* All slots are active: a second datagram is refused as well. */
	assert_int_equal(hear(table, &newcomer, &evicted), EXPORTER_NONE);
	assert_int_equal(hear(table, &newcomer, &evicted), EXPORTER_NONE);
	exporter_end_epoch(table);
	hear_twice(table, 1);
	hear_twice(table, 3);
	assert_int_equal(hear(table, &newcomer, &evicted), EXPORTER_NONE);
	exporter_end_epoch(table);
	/* Address 2 was silent in this and the last epoch. */
	assert_int_equal(hear(table, &newcomer, &evicted), 1);
	assert_true(evicted);
	assert_false(is_there(table, 2));
	assert_true(is_there(table, 1));
	assert_true(is_there(table, 3));
	/* The first datagram of a new exporter is refused. */
	exporter_end_epoch(table);
	exporter_end_epoch(table);
	newcomer = id_of(10, 0);
	assert_int_equal(hear(table, &newcomer, &evicted), EXPORTER_NONE);
	assert_int_equal(hear(table, &newcomer, &evicted), 0);
	exporter_table_destroy(table);
}

#define MINUTE_NS INT64_C(60000000000)
#define START_NS  (INT64_C(1700000000) * 1000000000)

static void set_time(struct exporter_table *table, int64_t time)
{
	test_time = time;
	exporter_datagram(table, time);
}

/* Sends n datagrams with usable contents. */
static void send_good(struct exporter_table *table, uint32_t address, uint32_t domain, uint32_t n)
{
	struct exporter_id id = id_of(address, domain);
	bool evicted;

	while (n-- > 0) {
		uint32_t slot;

		slot = hear(table, &id, &evicted);
		if (slot != EXPORTER_NONE)
			exporter_prove(table, slot);
	}
}

static uint32_t count_proven(const struct exporter_table *table)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < exporter_table_used(table); i++)
		n += exporter_is_proven(table, i);
	return n;
}

/* Senders that send more, and more often, than exporters that are silent meanwhile. */
static void no_number_of_datagrams_evicts_a_proven_one(void **state)
{
	struct exporter_table *table = exporter_table_create(100, 1);

	(void)state;
	set_time(table, START_NS);
	for (uint32_t i = 1; i <= 60; i++)
		send_good(table, i, 0, EXPORTER_PROOFS);
	assert_int_equal(count_proven(table), 60);
	for (uint32_t minute = 1; minute < 60; minute++) {
		set_time(table, START_NS + minute * MINUTE_NS);
		exporter_end_epoch(table);
		for (uint32_t i = 0; i < 300; i++)
			send_good(table, 1000 + i, 0, minute);
		for (uint32_t i = 0; i < 300; i++)
			hear_twice(table, 5000 + i);
	}
	for (uint32_t i = 1; i <= 60; i++)
		assert_true(is_there(table, i));
	assert_in_range(count_proven(table), 60, 87);
	exporter_table_destroy(table);
}

/* A datagram is one proof, with any number of messages. */
static void a_datagram_proves_once(void **state)
{
	struct exporter_table *table = exporter_table_create(8, 1);
	struct exporter_id id = id_of(1, 0);
	bool evicted;
	uint32_t slot;

	(void)state;
	set_time(table, START_NS);
	slot = hear(table, &id, &evicted);
	for (uint32_t i = 0; i < 10; i++)
		exporter_prove(table, slot);
	assert_false(exporter_is_proven(table, slot));
	set_time(table, START_NS);
	exporter_prove(table, slot);
	assert_true(exporter_is_proven(table, slot));
	exporter_table_destroy(table);
}

static void newcomers_have_their_part(void **state)
{
	struct exporter_table *table = exporter_table_create(100, 1);
	struct exporter_id id = id_of(7777, 0);
	bool evicted;

	(void)state;
	set_time(table, START_NS);
	for (uint32_t i = 1; i <= 1000; i++)
		send_good(table, i, 0, 10);
	assert_int_equal(count_proven(table), 87);
	exporter_end_epoch(table);
	exporter_end_epoch(table);
	/* The 13 others were heard once and are silent: the second datagram has room. */
	hear(table, &id, &evicted);
	assert_int_not_equal(hear(table, &id, &evicted), EXPORTER_NONE);
	assert_int_equal(count_proven(table), 87);
	exporter_table_destroy(table);
}

static void an_hour_of_silence_gives_room(void **state)
{
	struct exporter_table *table = exporter_table_create(8, 1);

	(void)state;
	set_time(table, START_NS);
	for (uint32_t i = 1; i <= 7; i++)
		send_good(table, i, 0, 2);
	assert_int_equal(count_proven(table), 7);
	set_time(table, START_NS + 40 * MINUTE_NS);
	for (uint32_t i = 2; i <= 7; i++)
		send_good(table, i, 0, 1);
	set_time(table, START_NS + 60 * MINUTE_NS);
	send_good(table, 8, 0, 5);
	assert_int_equal(count_proven(table), 7);
	assert_true(is_there(table, 1));
	set_time(table, START_NS + 60 * MINUTE_NS + 1);
	send_good(table, 8, 0, 1);
	assert_int_equal(count_proven(table), 7);
	send_good(table, 9, 0, 1);
	exporter_end_epoch(table);
	exporter_end_epoch(table);
	send_good(table, 9, 0, 1);
	assert_true(is_there(table, 9));
	assert_false(is_there(table, 1));
	for (uint32_t i = 2; i <= 8; i++)
		assert_true(is_there(table, i));
	/* A clock that is set back does not count as silence. */
	set_time(table, START_NS - 600 * MINUTE_NS);
	for (uint32_t i = 100; i < 200; i++)
		send_good(table, i, 0, 3);
	for (uint32_t i = 2; i <= 8; i++)
		assert_true(is_there(table, i));
	exporter_table_destroy(table);
}

/* One address that invents new domains never has more than its share of slots. */
static void one_address_has_a_part(void **state)
{
	struct exporter_table *table = exporter_table_create(200, 1);
	struct random random;

	(void)state;
	random_init(&random, 3);
	set_time(table, START_NS);
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t address = 1 + (uint32_t)random_below(&random, 2), of_address[2] = {0};
		uint32_t domain = (uint32_t)random_below(&random, 1000);

		set_time(table, START_NS + i * MINUTE_NS / 10);
		send_good(table, address, domain, 1 + (uint32_t)random_below(&random, 3));
		if (i % 100 != 0)
			continue;
		exporter_end_epoch(table);
		for (uint32_t slot = 0; slot < exporter_table_used(table); slot++)
			of_address[exporter_id(table, slot)->address.s6_addr[15] - 1] +=
				exporter_is_proven(table, slot);
		assert_in_range(of_address[0], 0, 43);
		assert_in_range(of_address[1], 0, 43);
	}
	assert_in_range(count_proven(table), 43, 2 * 43);
	exporter_end_epoch(table);
	exporter_end_epoch(table);
	for (uint32_t i = 10; i < 90; i++)
		send_good(table, i, 0, 3);
	for (uint32_t i = 10; i < 90; i++)
		assert_true(is_there(table, i));
	exporter_table_destroy(table);
}

static void expect_rule(const char *text, const char *name, uint32_t bits, uint32_t sampling,
	uint32_t nb_edges, bool all_edges)
{
	struct exporter_rule rule;
	char why[OPTION_WHY_MAX];

	assert_true(exporter_rule_parse(text, &rule, why));
	assert_string_equal(rule.name, name);
	assert_int_equal(rule.bits, bits);
	assert_int_equal(rule.sampling, sampling);
	assert_int_equal(rule.nb_edges, nb_edges);
	assert_int_equal(rule.all_edges, all_edges);
}

static void rules_are_read(void **state)
{
	static const char *const wrong[] = {"", "x", "10.0.0.0/33", "::/129",
		"10.0.0.1=", "10.0.0.1=a b", "10.0.0.1,", "10.0.0.1,sampling=0",
		"10.0.0.1,sampling=-1", "10.0.0.1,edge=", "10.0.0.1,edge=1+", "10.0.0.1,edge=3-1",
		"10.0.0.1,edge=1-65", "10.0.0.1,edge=4294967296", "10.0.0.1/", "10.0.0.1,other=1",
		"10.0.0.1,edge=a", "10.0.0.1,edge=0-4294967295"};
	struct exporter_rule rule;
	char why[OPTION_WHY_MAX];

	(void)state;
	expect_rule("10.0.0.1", "", 128, 0, 0, false);
	expect_rule("10.0.0.0/8=core,sampling=1000", "core", 104, 1000, 0, false);
	expect_rule("2001:db8::/32=v6,edge=all", "v6", 32, 0, 0, true);
	expect_rule("::1,edge=7+1-3+9,sampling=1K", "", 128, 1000, 5, false);
	expect_rule("10.0.0.1,edge=1-64", "", 128, 0, 64, false);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		why[0] = '\0';
		assert_false(exporter_rule_parse(wrong[i], &rule, why));
		assert_true(why[0] != '\0');
	}
}

static void rules_are_found(void **state)
{
	struct exporter_rule rules[3];
	struct exporter_id id;
	char why[OPTION_WHY_MAX];

	(void)state;
	assert_true(exporter_rule_parse("10.0.0.0/8=wide", &rules[0], why));
	assert_true(exporter_rule_parse("10.1.2.128/25=near,edge=2+4-6", &rules[1], why));
	assert_true(exporter_rule_parse("2001:db8::/32=six", &rules[2], why));
	id = id_of(0x0a010280, 0);
	assert_ptr_equal(exporter_rule_find(rules, 3, &id.address), &rules[1]);
	id = id_of(0x0a01027f, 0);
	assert_ptr_equal(exporter_rule_find(rules, 3, &id.address), &rules[0]);
	id = id_of(0x0b000001, 0);
	assert_null(exporter_rule_find(rules, 3, &id.address));
	assert_int_equal(inet_pton(AF_INET6, "2001:db8:1::1", &id.address), 1);
	assert_ptr_equal(exporter_rule_find(rules, 3, &id.address), &rules[2]);
	for (uint32_t i = 0; i < 3; i++)
		assert_false(exporter_rule_is_any(&rules[i]));
	assert_true(exporter_rule_parse("192.0.2.1/0", &rules[0], why));
	assert_true(exporter_rule_parse("::/0=six", &rules[1], why));
	assert_true(exporter_rule_parse("::/96", &rules[2], why));
	assert_true(exporter_rule_is_any(&rules[0]));
	assert_true(exporter_rule_is_any(&rules[1]));
	assert_false(exporter_rule_is_any(&rules[2]));
	assert_true(exporter_rule_parse("10.1.2.128/25=near,edge=2+4-6", &rules[1], why));
	for (uint32_t i = 0; i < 9; i++)
		assert_int_equal(
			exporter_rule_edge(&rules[1], i), i == 2 || i == 4 || i == 5 || i == 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_come_in_order),
		cmocka_unit_test(it_is_what_a_list_is),
		cmocka_unit_test(a_flood_takes_nobodys_slot),
		cmocka_unit_test(a_datagram_keeps_its_domains),
		cmocka_unit_test(the_oldest_silent_one_goes),
		cmocka_unit_test(no_number_of_datagrams_evicts_a_proven_one),
		cmocka_unit_test(a_datagram_proves_once),
		cmocka_unit_test(newcomers_have_their_part),
		cmocka_unit_test(an_hour_of_silence_gives_room),
		cmocka_unit_test(one_address_has_a_part),
		cmocka_unit_test(rules_are_read),
		cmocka_unit_test(rules_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
