/* SPDX-License-Identifier: BSD-3-Clause */

/* The longest prefix against a search through all of them, where lengths and groups have edges. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/key_burst.h"
#include "rx/packet/prefix_table.h"
#include "base/random.h"

struct prefix {
	uint32_t address, length;
};

static uint32_t mask_of(uint32_t length)
{
	return length == 0 ? 0 : UINT32_MAX << (32 - length);
}

/* Prefixes stand in the order of their lengths; the value of one is its place + 1. */
static uint32_t search(const struct prefix *prefixes, uint32_t n, uint32_t address)
{
	while (n > 0 && (address & mask_of(prefixes[n - 1].length)) != prefixes[n - 1].address)
		n--;
	return n;
}

static struct prefix_table *make_table(
	const struct prefix *prefixes, uint32_t n, uint32_t nb_groups)
{
	struct prefix_table *table = prefix_table_create(nb_groups);

	assert_non_null(table);
	for (uint32_t i = 0; i < n; i++)
		assert_true(
			prefix_table_add(table, prefixes[i].address, prefixes[i].length, i + 1));
	return table;
}

static void check(const struct prefix_table *table, const struct prefix *prefixes, uint32_t n,
	const uint32_t *addresses, uint32_t nb_addresses)
{
	uint32_t values[BURST_MAX];

	prefix_table_look_up(table, addresses, values, nb_addresses);
	for (uint32_t i = 0; i < nb_addresses; i++)
		assert_int_equal(values[i], search(prefixes, n, addresses[i]));
}

/* Both ends of every prefix, and what is just beside them. */
static void check_ends(const struct prefix_table *table, const struct prefix *prefixes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = prefixes[i].address, last = first | ~mask_of(prefixes[i].length);
		uint32_t addresses[] = {first, last, first - 1, last + 1, first ^ 1, last ^ 0x80};

		check(table, prefixes, n, addresses, 6);
	}
}

static void edges(void **state)
{
	static const struct prefix prefixes[] = {{0, 0}, {0x80000000, 1}, {0x0a000000, 8},
		{0x0a010200, 23}, {0x0a010200, 24}, {0xffffff00, 24}, {0x0a010200, 25},
		{0x0a010280, 25}, {0x0a010300, 25}, {0x0a010280, 31}, {0, 32}, {0x0a010281, 32},
		{0xffffffff, 32}};
	const uint32_t n = sizeof(prefixes) / sizeof(prefixes[0]);

	(void)state;
	/* Without the shortest ones some addresses have no value. */
	for (uint32_t from = 0; from < n; from++) {
		struct prefix_table *table = make_table(prefixes + from, n - from, 4);

		check_ends(table, prefixes + from, n - from);
		prefix_table_destroy(table);
	}
}

static void nothing_is_in_an_empty_table(void **state)
{
	struct prefix_table *table = make_table(NULL, 0, 0);
	uint32_t addresses[] = {0, 1, 0x0a010203, UINT32_MAX};

	(void)state;
	check(table, NULL, 0, addresses, 4);
	prefix_table_destroy(table);
}

/* A prefix that finds no group is refused, and the table stays as it was. */
static void groups_run_out(void **state)
{
	static const struct prefix prefixes[] = {
		{0x0a010000, 16}, {0x0a010200, 25}, {0x0a010300, 32}, {0x0a0102ff, 32}};
	struct prefix_table *table = make_table(prefixes, 4, 2);
	uint32_t refused[] = {0x0a010400, 0x0a010401, 0x0a0104ff};

	(void)state;
	assert_false(prefix_table_add(table, 0x0a010400, 25, 5));
	assert_false(prefix_table_add(table, 0xffffffff, 32, 5));
	check(table, prefixes, 4, refused, 3);
	check_ends(table, prefixes, 4);
	assert_true(prefix_table_add(table, 0x0a010301, 32, PREFIX_VALUE_MAX));
	prefix_table_look_up(table, (uint32_t[]){0x0a010301}, refused, 1);
	assert_int_equal(refused[0], PREFIX_VALUE_MAX);
	prefix_table_destroy(table);
}

#define PREFIXES 400

/* Many in few beginnings of 24 bits, so that they hold each other. */
static void random_prefixes(void **state)
{
	static struct prefix prefixes[PREFIXES];
	struct prefix_table *table;
	struct random random;
	uint32_t n = 0;

	(void)state;
	random_init(&random, 4);
	for (uint32_t length = 0; length <= 32; length++)
		for (uint32_t i = 0; i < PREFIXES / 33; i++) {
			uint32_t address = 0xc0a80000 | (uint32_t)random_below(&random, 1 << 12);

			prefixes[n++] = (struct prefix){address & mask_of(length), length};
		}
	table = make_table(prefixes, n, 16);
	check_ends(table, prefixes, n);
	for (uint32_t base = 0xc0a80000; base < 0xc0a80000 + (1 << 12); base += BURST_MAX) {
		uint32_t addresses[BURST_MAX];

		for (uint32_t i = 0; i < BURST_MAX; i++)
			addresses[i] = base + i;
		check(table, prefixes, n, addresses, BURST_MAX);
	}
	prefix_table_destroy(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges),
		cmocka_unit_test(nothing_is_in_an_empty_table),
		cmocka_unit_test(groups_run_out),
		cmocka_unit_test(random_prefixes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
