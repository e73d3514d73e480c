/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/json_tree.h"

static void test_values(void **state)
{
	struct json_node *root = json_read(
		"{\"a\": {\"n\": -12, \"f\": 1.5e3, \"t\": \"say \\\"hi\\\"\\n\\\\\", \"none\": null, "
		"\"empty\": {}}, \"b\":\"\"}");
	const struct json_node *a = json_find(root, "a");

	(void)state;
	assert_non_null(a);
	assert_true(a->is_object);
	assert_string_equal(json_value(a, "n"), "-12");
	assert_string_equal(json_value(a, "f"), "1.5e3");
	assert_string_equal(json_value(a, "t"), "say \"hi\"\n\\");
	assert_non_null(json_find(a, "none"));
	assert_false(json_find(a, "none")->is_object);
	assert_string_equal(json_value(a, "none"), "");
	assert_true(json_find(a, "empty")->is_object);
	assert_string_equal(json_value(root, "b"), "");
	assert_null(json_find(a, "b"));
	assert_null(json_find(NULL, "b"));
	json_free(root);
}

static void test_what_is_none(void **state)
{
	static const char *const texts[] = {"", "{", "{\"a\"", "{\"a\":}", "{\"a\":1", "{\"a\":1,}",
		"{\"a\":\"x}", "{a:1}", "{\"a\":[1]}",
		"{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}}}}}"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (json_read(texts[i]) != NULL)
			fail_msg("%s", texts[i]);
}

static void assert_printed(const char *text, const char *expected)
{
	struct json_node *root = json_read(text);
	char *printed = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&printed, &size);

	assert_non_null(root);
	assert_non_null(out);
	json_print(root, out);
	fclose(out);
	assert_string_equal(printed, expected);
	free(printed);
	json_free(root);
}

static void test_print(void **state)
{
	(void)state;
	assert_printed("{\"epoch\":1,\"long name\":\"x\",\"none\":null,\"none of it\":{}}",
		"epoch      1\nlong name  x\n");
	assert_printed(
		"{\"rows\":{\"1\":{\"key\":\"a\",\"n\":100},\"10\":{\"n\":2,\"more\":\"y\"}}}",
		"\nrows\n"
		"    key    n  more\n"
		" 1  a    100      \n"
		"10         2  y   \n");
	assert_printed("{\"total\":{\"epochs\":3}}", "       epochs\ntotal       3\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_what_is_none),
		cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
