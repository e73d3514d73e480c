/* SPDX-License-Identifier: BSD-3-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "make_sketch.h"

static void finds_itself(void **state)
{
	const struct sketch_ops *ops = sketch_find("toy-table");
	struct sketch *sketch;

	(void)state;
	assert_non_null(ops);
	sketch = make_sketch(ops, (struct sketch_params){0});
	assert_true(ops->lists_all_keys(sketch));
	ops->destroy(sketch);
	assert_none_without_memory(ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(finds_itself)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
