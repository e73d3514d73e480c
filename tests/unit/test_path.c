/* SPDX-License-Identifier: BSD-3-Clause */

/* Order of hops, with hand-made cases. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "collect/dedup/path.h"

static struct hop hop(uint32_t exporter, uint32_t input, uint32_t output, uint32_t next)
{
	return (struct hop){
		.exporter = exporter, .input = input, .output = output, .next = next, .used = true};
}

static uint32_t order(struct hop *hops, uint32_t n, struct path_hop *path, bool *ordered)
{
	const struct hop *pointers[PATH_HOPS_MAX];

	for (uint32_t i = 0; i < n; i++)
		pointers[i] = &hops[i];
	return path_order(pointers, n, path, ordered);
}

static void test_next_hops(void **state)
{
	struct path_hop path[PATH_HOPS_MAX];
	bool ordered;

	(void)state;
	/* A line of 1 to 32 routers is found from any order. */
	for (uint32_t n = 1; n <= PATH_HOPS_MAX; n++) {
		struct hop hops[PATH_HOPS_MAX];
		struct random random;

		random_init(&random, n);
		for (uint32_t i = 0; i < n; i++)
			hops[i] = hop(i, i * 2 + 1, i * 2 + 2, i + 1 < n ? i + 1 : EXPORTER_NONE);
		for (uint32_t i = n; i > 1; i--) {
			uint32_t k = (uint32_t)random_below(&random, i);
			struct hop other = hops[k];

			hops[k] = hops[i - 1];
			hops[i - 1] = other;
		}
		assert_int_equal(order(hops, n, path, &ordered), n);
		assert_true(ordered);
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(path[i].exporter, i);
			assert_int_equal(path[i].input, i * 2 + 1);
			assert_int_equal(path[i].output, i * 2 + 2);
		}
	}
}

static void test_edges_and_first_sight(void **state)
{
	struct path_hop path[PATH_HOPS_MAX];
	struct hop hops[3] = {hop(5, 1, 2, EXPORTER_NONE), hop(6, 3, 4, EXPORTER_NONE),
		hop(7, 5, 6, EXPORTER_NONE)};
	bool ordered;

	(void)state;
	assert_int_equal(order(hops, 3, path, &ordered), 3);
	assert_false(ordered);
	assert_int_equal(path[0].exporter, 5);
	assert_int_equal(path[2].exporter, 7);
	hops[2].flags = OBSERVATION_ENTERS;
	hops[0].flags = OBSERVATION_LEAVES;
	assert_int_equal(order(hops, 3, path, &ordered), 3);
	assert_true(ordered);
	assert_int_equal(path[0].exporter, 7);
	assert_int_equal(path[1].exporter, 6);
	assert_int_equal(path[2].exporter, 5);
}

/* Both sides of a switch are one hop; a loop of next hops terminates without a known order. */
static void test_sides_and_loops(void **state)
{
	struct path_hop path[PATH_HOPS_MAX];
	struct hop hops[3] = {hop(5, 0, 2, 6), hop(5, 1, 0, 6), hop(6, 3, 4, EXPORTER_NONE)};
	bool ordered;

	(void)state;
	hops[0].side = OBSERVED_EGRESS;
	hops[1].side = OBSERVED_INGRESS;
	assert_int_equal(order(hops, 3, path, &ordered), 2);
	assert_true(ordered);
	assert_int_equal(path[0].input, 1);
	assert_int_equal(path[0].output, 2);
	hops[2].next = 5;
	assert_int_equal(order(hops, 3, path, &ordered), 2);
	assert_false(ordered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next_hops),
		cmocka_unit_test(test_edges_and_first_sight),
		cmocka_unit_test(test_sides_and_loops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
