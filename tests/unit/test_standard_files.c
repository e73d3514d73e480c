/* SPDX-License-Identifier: BSD-3-Clause */

/* A pipe shared with other processes, opened again: if it is full, writing does not block. */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/standard_files.h"

static const char page[4096];

/* Returns the number of pages written. */
static int fill(int fd)
{
	int pages = 0;

	while (standard_files_write(fd, page, sizeof(page)) > 0)
		pages++;
	assert_int_equal(errno, EAGAIN);
	return pages;
}

static void full_pipe_does_not_block(void **state)
{
	int ends[2], own;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	own = standard_files_own_pipe(ends[1]);
	assert_true(own >= 0);
	alarm(60);
	assert_true(fill(own) > 0);
	alarm(0);
	assert_int_equal(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
	close(own);
	close(ends[0]);
	close(ends[1]);
}

static void full_socket_does_not_block(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(standard_files_own_pipe(ends[0]), -1);
	alarm(60);
	assert_true(fill(ends[0]) > 0);
	alarm(0);
	close(ends[0]);
	close(ends[1]);
}

static void other_files_stay(void **state)
{
	int ends[2], file = memfd_create("file", 0);

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(standard_files_own_pipe(file), -1);
	assert_int_equal(standard_files_write(file, "abc", 3), 3);
	assert_int_equal(lseek(file, 0, SEEK_CUR), 3);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(standard_files_own_pipe(ends[0]), -1); /* not writable */
	assert_int_equal(standard_files_own_pipe(-1), -1);
	close(ends[0]);
	close(ends[1]);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_pipe_does_not_block),
		cmocka_unit_test(full_socket_does_not_block),
		cmocka_unit_test(other_files_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
