/* SPDX-License-Identifier: BSD-3-Clause */

/* The table of information elements: each row is found. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flow_protocols/netflow/element.h"

static void each_row_is_found(void **state)
{
	(void)state;
	assert_true(nb_elements > 40);
	for (uint32_t i = 0; i < nb_elements; i++)
		assert_ptr_equal(
			element_find(elements[i].enterprise, elements[i].number), &elements[i]);
}

static void others_are_not(void **state)
{
	uint32_t found = 0;

	(void)state;
	for (uint32_t number = 0; number <= UINT16_MAX; number++) {
		found += element_find(0, (uint16_t)number) != NULL;
		assert_null(element_find(29305, (uint16_t)number));
		assert_null(element_find(UINT32_MAX, (uint16_t)number));
	}
	assert_int_equal(found, nb_elements);
}

/* The choice between two elements must not depend on their order. */
static void ranks_of_a_use_differ(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < nb_elements; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_false(elements[i].use == elements[j].use &&
				     elements[i].reverse == elements[j].reverse &&
				     elements[i].rank == elements[j].rank &&
				     elements[i].use != USE_SAMPLER);
}

/* Elements of the IANA registry that all exporters use. */
static void well_known_ones(void **state)
{
	static const struct {
		uint16_t number, use;
	} rows[] = {{1, USE_BYTES}, {2, USE_PACKETS}, {4, USE_PROTO}, {5, USE_DSCP},
		{6, USE_TCP_FLAGS}, {7, USE_SRC_PORT}, {8, USE_SRC_IPV4}, {10, USE_INPUT},
		{11, USE_DST_PORT}, {12, USE_DST_IPV4}, {14, USE_OUTPUT}, {27, USE_SRC_IPV6},
		{28, USE_DST_IPV6}, {34, USE_SAMPLING}, {48, USE_SAMPLER}, {85, USE_TOTAL_BYTES},
		{86, USE_TOTAL_PACKETS}, {44, USE_SRC_IPV4}, {45, USE_DST_IPV4}, {164, USE_LOST},
		{168, USE_LOST}, {169, USE_DST_IPV6}, {170, USE_SRC_IPV6}};

	(void)state;
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_non_null(element_find(0, rows[i].number));
		assert_int_equal(element_find(0, rows[i].number)->use, rows[i].use);
	}
	assert_true(element_find(0, 299)->reverse);
	assert_false(element_find(0, 298)->reverse);
}

static void lengths(void **state)
{
	(void)state;
	assert_true(element_length_fits(element_find(0, 8), 4));
	assert_false(element_length_fits(element_find(0, 8), 5));
	assert_false(element_length_fits(element_find(0, 27), 4));
	assert_true(element_length_fits(element_find(0, 1), 3));
	assert_false(element_length_fits(element_find(0, 1), 0));
	assert_false(element_length_fits(element_find(0, 1), 9));
	assert_true(element_length_fits(element_find(0, 82), 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_is_found),
		cmocka_unit_test(others_are_not),
		cmocka_unit_test(ranks_of_a_use_differ),
		cmocka_unit_test(well_known_ones),
		cmocka_unit_test(lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
