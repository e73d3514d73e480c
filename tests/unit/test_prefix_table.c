/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Longest prefix match, compared with a linear search, at the edges of lengths, ranges and words.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "key/key_burst.h"
#include "fewer.h"
#include "rx/filter/prefix_table.h"
#include "base/random.h"

#define PREFIXES 4096

static struct prefix prefixes[PREFIXES];
static uint32_t nb_prefixes;

static uint32_t mask_of(uint32_t length)
{
	return length == 0 ? 0 : UINT32_MAX << (32 - length);
}

static void add(uint32_t address, uint32_t length)
{
	assert_true(nb_prefixes < PREFIXES);
	prefixes[nb_prefixes++] = (struct prefix){address & mask_of(length), length};
}

static int compare(const void *a, const void *b)
{
	const struct prefix *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (int)x->length - (int)y->length;
}

/* Makes a table of the added prefixes, sorted and unique. */
static struct prefix_table *make_table(void)
{
	struct prefix_table *table;
	uint32_t n = 0;

	qsort(prefixes, nb_prefixes, sizeof(prefixes[0]), compare);
	for (uint32_t i = 0; i < nb_prefixes; i++)
		if (n == 0 || compare(&prefixes[i], &prefixes[n - 1]) != 0)
			prefixes[n++] = prefixes[i];
	nb_prefixes = n;
	table = prefix_table_create(prefixes, n);
	assert_non_null(table);
	return table;
}

static uint32_t search(uint32_t address)
{
	uint32_t best = PREFIX_NONE;

	for (uint32_t p = 0; p < nb_prefixes; p++)
		if ((address & mask_of(prefixes[p].length)) == prefixes[p].address &&
			(best == PREFIX_NONE || prefixes[p].length > prefixes[best].length))
			best = p;
	return best;
}

static void check(const struct prefix_table *table, const uint32_t *addresses, uint32_t n)
{
	uint32_t places[BURST_MAX];

	prefix_table_look_up(table, addresses, places, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(places[i], search(addresses[i]));
}

static void check_from(const struct prefix_table *table, uint32_t first, uint32_t n)
{
	uint32_t addresses[BURST_MAX];

	for (uint32_t from = 0; from < n; from += BURST_MAX) {
		for (uint32_t i = 0; i < BURST_MAX; i++)
			addresses[i] = first + from + i;
		check(table, addresses, BURST_MAX);
	}
}

/*
 * Checks the added prefixes: both ends of each one, adjacent addresses, and those in the next
 * networks of 24 and 16 bits.
 */
static void check_added(void)
{
	struct prefix_table *table = make_table();

	for (uint32_t p = 0; p < nb_prefixes; p++) {
		uint32_t first = prefixes[p].address, last = first | ~mask_of(prefixes[p].length);
		uint32_t addresses[] = {first, last, first - 1, last + 1, first ^ 1, last ^ 0x80,
			first - 256, last + 256, first - 65536, last + 65536};

		check(table, addresses, sizeof(addresses) / sizeof(addresses[0]));
	}
	prefix_table_destroy(table);
	nb_prefixes = 0;
}

static void edges(void **state)
{
	static const struct prefix some[] = {{0, 0}, {0x80000000, 1}, {0x0a000000, 8},
		{0x0a010200, 23}, {0x0a010200, 24}, {0xffffff00, 24}, {0x0a010200, 25},
		{0x0a010280, 25}, {0x0a010300, 25}, {0x0a010280, 31}, {0, 32}, {0x0a010281, 32},
		{0xffffffff, 32}};
	const uint32_t n = sizeof(some) / sizeof(some[0]);

	(void)state;
	/* Without the shortest prefixes, some addresses have none. */
	for (uint32_t from = 0; from < n; from++) {
		for (uint32_t i = from; i < n; i++)
			add(some[i].address, some[i].length);
		check_added();
	}
}

static void nothing_is_in_an_empty_table(void **state)
{
	struct prefix_table *table = make_table();
	uint32_t addresses[] = {0, 1, 0x0a010203, UINT32_MAX};

	(void)state;
	check(table, addresses, 4);
	prefix_table_destroy(table);
}

/* Every length around every address, so that all prefixes contain each other. */
static void prefixes_within_each_other(void **state)
{
	(void)state;
	for (uint32_t length = 0; length <= 32; length++) {
		add(0, length);
		add(0xc0a8ffff, length);
		add(UINT32_MAX, length);
	}
	check_added();
}

/*
 * One more range each time, in 16 bits and in 8, from the number that one vector holds to the
 * number that needs an entry per address; with and without a prefix at their ends.
 */
static void ranges_run_out_of_words(void **state)
{
	(void)state;
	for (uint32_t bits = 8; bits <= 16; bits += 8)
		for (uint32_t n = 1; n <= 20; n++)
			for (uint32_t kind = 0; kind < 8; kind++) {
				uint32_t base = 0x0a010000, apart = UINT32_C(1) << (bits - 5);

				for (uint32_t i = 0; i < n; i++)
					add(base + apart * i + apart - 2,
						(kind & 1) != 0 ? 31 : 32);
				if ((kind & 2) != 0)
					add(base, 32);
				if ((kind & 4) != 0)
					add(base + (UINT32_C(1) << bits) - 1, 32);
				check_added();
			}
}

/* Every address of a network and of its neighbours. */
static void all_hosts_of_a_network(void **state)
{
	struct prefix_table *table;

	(void)state;
	for (uint32_t i = 0; i < 256; i++)
		if (i % 7 != 3)
			add(0x0a010200 + i, 32);
	table = make_table();
	check_from(table, 0x0a010100, 3 * 256);
	prefix_table_destroy(table);
	nb_prefixes = 0;
}

/*
 * Few distinct high bits, so that prefixes contain each other; from few to many in 16 bits and in
 * 8.
 */
static void random_prefixes(void **state)
{
	struct random random;

	(void)state;
	random_init(&random, 4);
	for (uint32_t t = 0; t < 100; t++) {
		uint32_t n = 1 + (uint32_t)random_below(&random, 400);
		uint32_t mask = (uint32_t)random_below(&random, UINT64_C(1) << (8 + t % 25));
		struct prefix_table *table;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t length = (uint32_t)random_below(&random, 33);

			add(0xc0a80000 ^ ((uint32_t)random_next(&random) & mask),
				random_next(&random) & 1 ? length : 32);
		}
		table = make_table();
		for (uint32_t i = 0; i < 100; i++) {
			uint32_t addresses[BURST_MAX];

			for (uint32_t k = 0; k < BURST_MAX; k++)
				addresses[k] = 0xc0a80000 ^ ((uint32_t)random_next(&random) & mask);
			check(table, addresses, 1 + i % BURST_MAX);
		}
		prefix_table_destroy(table);
		check_added();
	}
}

/* The maximum number, from adjacent to far apart. */
static void the_largest(void **state)
{
	struct prefix *many = malloc(PREFIXES_MAX * sizeof(*many));

	(void)state;
	assert_non_null(many);
	for (uint32_t apart = 1; apart <= 4096; apart *= FEWER(2, 16)) {
		struct prefix_table *table;
		uint32_t addresses[BURST_MAX], places[BURST_MAX];

		for (uint32_t i = 0; i < PREFIXES_MAX; i++)
			many[i] = (struct prefix){i * apart, 32};
		table = prefix_table_create(many, PREFIXES_MAX);
		assert_non_null(table);
		for (uint32_t i = 0; i < PREFIXES_MAX; i += BURST_MAX) {
			for (uint32_t k = 0; k < BURST_MAX; k++)
				addresses[k] = (i + k) * apart + (k & 1 & (apart > 1));
			prefix_table_look_up(table, addresses, places, BURST_MAX);
			for (uint32_t k = 0; k < BURST_MAX; k++)
				assert_int_equal(places[k],
					(k & 1 & (apart > 1)) != 0 ? PREFIX_NONE : i + k);
		}
		prefix_table_destroy(table);
	}
	free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges),
		cmocka_unit_test(nothing_is_in_an_empty_table),
		cmocka_unit_test(prefixes_within_each_other),
		cmocka_unit_test(ranges_run_out_of_words),
		cmocka_unit_test(all_hosts_of_a_network),
		cmocka_unit_test(random_prefixes),
		cmocka_unit_test(the_largest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
