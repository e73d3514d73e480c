/* SPDX-License-Identifier: BSD-3-Clause */

/* Programs that succeed, fail, write much, hang or do not exist. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/subprocess.h"

static bool run_shell(const char *script, int seconds, const atomic_bool *cancel,
	struct subprocess_result *result)
{
	char text[300];
	char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, text, NULL};

	snprintf(text, sizeof(text), "%s", script);
	return subprocess_run(argv, seconds, cancel, result);
}

static void test_results(void **state)
{
	struct subprocess_result result;

	(void)state;
	assert_true(run_shell("echo one; echo two; echo no error >&2", 60, NULL, &result));
	assert_string_equal(result.output, "one\ntwo\n");
	assert_false(run_shell("echo why >&2; echo more >&2; exit 3", 60, NULL, &result));
	assert_string_equal(result.error, "why");
	assert_false(run_shell("exit 3", 60, NULL, &result));
	assert_string_equal(result.error, "exit status 3");
	assert_false(run_shell("kill -TERM $$", 60, NULL, &result));
	assert_string_equal(result.error, "signal 15");
}

static void test_missing(void **state)
{
	char *argv[] = {(char[]){"/nonexistent/program"}, NULL};
	struct subprocess_result result;

	(void)state;
	assert_false(subprocess_run(argv, 60, NULL, &result));
	assert_string_equal(result.error, "No such file or directory");
}

/* Much output is truncated, but the program does not block. Its input is empty. */
static void test_streams(void **state)
{
	struct subprocess_result result;

	(void)state;
	assert_true(run_shell("cat; head -c 300000 /dev/zero | tr '\\0' x", 60, NULL, &result));
	assert_int_equal(strlen(result.output), SUBPROCESS_OUTPUT - 1);
	assert_true(run_shell("test ! -e /dev/fd/9", 60, NULL, &result));
}

/* The program and its children are killed. */
static void test_hanging(void **state)
{
	struct subprocess_result result;
	atomic_bool cancel = true;

	(void)state;
	assert_false(run_shell("sleep 1000 & sleep 1000", 1, NULL, &result));
	assert_string_equal(result.error, "timed out");
	assert_false(run_shell("sleep 1000 & sleep 1000", 1000, &cancel, &result));
	assert_string_equal(result.error, "canceled at the end of the run");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_hanging),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
