/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Opens /dev/null as each closed descriptor 0 to 2, so that files do not get these numbers. */
void standard_files_fill(void);

/* Returns true if all output was written, or if the reader of the pipe has closed it. */
bool standard_files_printed(void);

/*
 * Reopens an inherited pipe, because O_NONBLOCK on fd would affect other processes. Returns -1 if
 * fd is not a pipe.
 */
int standard_files_own_pipe(int fd);

/*
 * Same as write(2), after poll() reported room. Returns -1 with EAGAIN if another process has
 * taken the room.
 */
ssize_t standard_files_write(int fd, const char *data, size_t len);

bool standard_files_is_output(const char *name);
