/* SPDX-License-Identifier: BSD-3-Clause */

/* Hops: what one sender selects does not slow down the index or take the room of others. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "collect/dedup/observers.h"

#define EXPORTERS 16
#define CRAFTED   500

static struct observation_points create(uint64_t seed)
{
	struct observation_points points;

	assert_true(observation_points_init(&points, EXPORTERS, seed, &sketch_allocator_malloc));
	return points;
}

static uint32_t hop(
	struct observation_points *points, uint32_t exporter, uint32_t input, uint32_t output)
{
	struct observation observation;

	memset(&observation, 0, sizeof(observation));
	observation.exporter = exporter;
	observation.input = input;
	observation.output = output;
	observation.next = EXPORTER_NONE;
	return observation_points_hop(points, &observation);
}

/* Returns the largest number of cells that a search visits. */
static uint32_t longest_run(const struct observation_points *points)
{
	uint32_t longest = 0, run = 0;

	for (uint32_t at = 0; at <= points->mask; at++) {
		run = points->index[at] ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* Pairs that share a cell under an unkeyed hash. */
static void test_crafted_pairs(void **state)
{
	struct observation_points points = create(7);
	uint32_t made = 0;

	(void)state;
	for (uint32_t pair = 0; made < CRAFTED; pair++) {
		uint64_t mixed = random_mix(pair) * UINT64_C(0x9e3779b97f4a7c15);

		if (((uint32_t)(mixed >> 32) & points.mask) != 0)
			continue;
		made++;
		assert_int_not_equal(hop(&points, 0, 0, pair), HOP_NONE);
	}
	assert_int_equal(points.nb_hops, CRAFTED);
	assert_true(longest_run(&points) < 20);
	observation_points_fini(&points, &sketch_allocator_malloc);
}

static void test_seeds_differ(void **state)
{
	struct observation_points a = create(1), b = create(2);
	uint32_t same = 0;

	(void)state;
	for (uint32_t pair = 0; pair < CRAFTED; pair++) {
		hop(&a, 0, pair, 9);
		hop(&b, 0, pair, 9);
	}
	for (uint32_t at = 0; at <= a.mask; at++)
		same += a.index[at] && a.index[at] == b.index[at];
	assert_true(same < 5);
	observation_points_fini(&a, &sketch_allocator_malloc);
	observation_points_fini(&b, &sketch_allocator_malloc);
}

/*
 * One exporter has at most a quarter of the hops; beyond that, its hops are reported without
 * interfaces.
 */
static void test_quota(void **state)
{
	struct observation_points points = create(7);
	uint32_t quarter = points.hops_max / 4, number;

	(void)state;
	for (uint32_t pair = 1; pair <= 2 * points.hops_max; pair++) {
		const struct hop *found = &points.hops[hop(&points, 3, pair, 1)];

		assert_int_equal(found->exporter, 3);
		assert_int_equal(found->input, pair <= quarter ? pair : 0);
		assert_int_equal(found->output, pair <= quarter ? 1 : 0);
	}
	assert_int_equal(points.nb_hops, quarter + 1);
	number = hop(&points, 4, 5, 6);
	assert_int_equal(points.hops[number].input, 5);
	assert_int_equal(points.hops[number].output, 6);
	/* The next exporter of the slot starts with none. */
	observation_points_forget(&points, 3);
	number = hop(&points, 3, 77, 78);
	assert_int_equal(points.hops[number].input, 77);
	observation_points_fini(&points, &sketch_allocator_malloc);
}

/* Unused hops of any exporter are freed; the others keep their numbers. */
static void test_sweep(void **state)
{
	struct observation_points points = create(7);
	uint8_t *in_use = calloc(points.hops_max, 1);
	uint32_t kept[EXPORTERS];

	(void)state;
	assert_non_null(in_use);
	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t pair = 1; pair <= 150; pair++) {
			for (uint32_t e = 0; e < EXPORTERS; e++) {
				uint32_t number = hop(&points, e, pair, round);

				assert_int_equal(points.hops[number].input, pair);
				if (pair == 100 && round == 0)
					kept[e] = number;
				in_use[number] = pair == 100 && round == 0;
			}
		}
		assert_true(observation_points_want_sweep(&points));
		observation_points_sweep(&points, in_use);
		assert_false(observation_points_want_sweep(&points));
		assert_int_equal(points.used, EXPORTERS);
		for (uint32_t e = 0; e < EXPORTERS; e++) {
			assert_int_equal(hop(&points, e, 100, 0), kept[e]);
			assert_int_equal(points.taken[e], 1);
		}
	}
	free(in_use);
	observation_points_fini(&points, &sketch_allocator_malloc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crafted_pairs),
		cmocka_unit_test(test_seeds_differ),
		cmocka_unit_test(test_quota),
		cmocka_unit_test(test_sweep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
