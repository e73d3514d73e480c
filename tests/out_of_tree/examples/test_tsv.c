/* SPDX-License-Identifier: BSD-3-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/formats/format.h"

static void is_a_word(void **state)
{
	(void)state;
	assert_int_equal(destination_of("tsv:file").format, FORMAT_TSV);
	assert_ptr_equal(formats[FORMAT_TSV], &format_tsv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(is_a_word)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
