/* SPDX-License-Identifier: BSD-3-Clause */

/* A failed assertion prints both values and aborts; a true assertion does nothing. */

#ifndef SKETCHTAP_ASSERTIONS
#define SKETCHTAP_ASSERTIONS
#endif
#include "base/assertion.h"

#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

#define TEXT_MAX 512

/* Runs `assertion` in a child. Returns its wait status; text: its standard error. */
static int run(void (*assertion)(void), char text[TEXT_MAX])
{
	int ends[2], status = 0;
	ssize_t len;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		const struct rlimit no_core = {0, 0};

		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL);
		dup2(ends[1], STDERR_FILENO);
		assertion();
		_exit(0);
	}
	close(ends[1]);
	len = read(ends[0], text, TEXT_MAX - 1);
	text[len > 0 ? len : 0] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void head_is_too_large(void)
{
	uint32_t head = 12, size = 8;

	ASSERT(head, <=, size);
}

static void pointer_is_null(void)
{
	const char *pointer = NULL;

	VERIFY(pointer, !=, NULL);
}

static void all_hold(void)
{
	uint64_t largest = UINT64_MAX;

	ASSERT(1, <, 2);
	VERIFY(largest, >, 0U);
	ASSERT_IF(false, 1, ==, 2);
}

static void test_failed(void **state)
{
	char text[TEXT_MAX];
	int status = run(head_is_too_large, text);

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(text, "head_is_too_large(): expected head <= size; found 12 and 8"));
	assert_non_null(strstr(text, "test_assertion.c"));
}

static void test_failed_pointer(void **state)
{
	char text[TEXT_MAX];
	int status = run(pointer_is_null, text);

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(text, "expected pointer != NULL; found 0 and 0"));
}

static void test_holds(void **state)
{
	char text[TEXT_MAX];
	int status = run(all_hold, text);

	(void)state;
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_failed_pointer),
		cmocka_unit_test(test_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
