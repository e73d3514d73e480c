/* SPDX-License-Identifier: BSD-3-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/rows/rows.h"

static void is_a_kind(void **state)
{
	(void)state;
	assert_ptr_equal(outputs[ROWS_TOPS], &output_tops);
	assert_string_equal(output_word(ROWS_TOPS), "tops");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(is_a_kind)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
