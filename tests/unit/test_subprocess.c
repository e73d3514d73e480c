/* SPDX-License-Identifier: BSD-3-Clause */

/* Programs that succeed, fail, write much, hang or do not exist. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/subprocess.h"

static bool cannot_kill, left_group;
static pid_t child; /* argument of the last kill() */
static bool endless;
static uint32_t reads; /* since the last poll() */

/* The linker option --wrap gives these names. */
int __real_kill(pid_t pid, int signal);
int __wrap_kill(pid_t pid, int signal);
int __real_poll(struct pollfd *polled, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *polled, nfds_t n, int timeout);
ssize_t __real_read(int fd, void *bytes, size_t size);
ssize_t __wrap_read(int fd, void *bytes, size_t size);

int __wrap_kill(pid_t pid, int signal)
{
	child = pid;
	if (!cannot_kill && !(left_group && pid < 0))
		return __real_kill(pid, signal);
	errno = cannot_kill ? EPERM : ESRCH;
	return -1;
}

int __wrap_poll(struct pollfd *polled, nfds_t n, int timeout)
{
	reads = 0;
	return __real_poll(polled, n, endless ? 0 : timeout);
}

ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
	if (!endless)
		return __real_read(fd, bytes, size);
	assert_true(++reads < 1000);
	memset(bytes, 'x', size);
	return (ssize_t)size;
}

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
	assert_int_equal(subprocess_find(argv[0]), ENOENT);
	assert_int_equal(subprocess_find("nonexistent-program"), ENOENT);
	assert_int_equal(subprocess_find("/"), EACCES);
	assert_int_equal(subprocess_find("sh"), 0);
	assert_int_equal(subprocess_find("/bin/sh"), 0);
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

/* A program that left its process group is killed. */
static void test_own_group(void **state)
{
	struct subprocess_result result;

	(void)state;
	left_group = true;
	assert_false(run_shell("exec sleep 1000", 1, NULL, &result));
	left_group = false;
	assert_string_equal(result.error, "timed out");
}

/* A program that writes faster than it is read is killed. */
static void test_endless(void **state)
{
	struct subprocess_result result;

	(void)state;
	endless = true;
	assert_false(run_shell("sleep 1000", 1, NULL, &result));
	endless = false;
	assert_string_equal(result.error, "timed out");
}

/* Programs that cannot be killed are left, and reaped after their end. A few are allowed. */
static void test_unkillable(void **state)
{
	struct subprocess_result result;
	pid_t children[16];
	size_t n = 0;

	(void)state;
	cannot_kill = true;
	while (!run_shell("exec sleep 1000", 0, NULL, &result) &&
		strcmp(result.error, "cannot be killed") == 0) {
		assert_in_range(n, 0, 15);
		children[n++] = child;
	}
	cannot_kill = false;
	assert_string_equal(result.error, "earlier programs still run, and cannot be killed");
	assert_in_range(n, 1, 16);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(kill(children[i], SIGKILL), 0);
	/* A zombie can be signaled. */
	for (size_t i = 0; i < n; i++)
		while (kill(children[i], 0) == 0)
			run_shell("true", 60, NULL, &result);
	assert_true(run_shell("true", 60, NULL, &result));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_hanging),
		cmocka_unit_test(test_own_group),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_unkillable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
