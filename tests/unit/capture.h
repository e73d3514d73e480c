/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Captures standard error. Include after cmocka.h. */

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static int saved_stderr, capture_fd;

static inline void capture_begin(void)
{
	fflush(stderr);
	saved_stderr = dup(STDERR_FILENO);
	capture_fd = memfd_create("stderr", 0);
	assert_true(saved_stderr >= 0 && capture_fd >= 0);
	assert_true(dup2(capture_fd, STDERR_FILENO) >= 0);
}

/* Stores everything written to standard error since capture_begin() in text[size]. */
static inline void capture_end(char *text, size_t size)
{
	ssize_t len;

	fflush(stderr);
	assert_true(dup2(saved_stderr, STDERR_FILENO) >= 0);
	len = pread(capture_fd, text, size - 1, 0);
	close(saved_stderr);
	close(capture_fd);
	assert_true(len >= 0);
	text[len] = '\0';
}
