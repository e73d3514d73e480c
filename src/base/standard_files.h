/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Opens closed descriptors 0 to 2, so that the first opened files do not get their numbers and
 * receive standard error. I/O on them fails as on closed ones.
 */
void standard_files_fill(void);

/* Returns true if standard output was written completely, or its reader has closed it. */
bool standard_files_printed(void);

/*
 * Reopens an inherited pipe for writing, so that O_NONBLOCK does not affect other processes.
 * Returns -1 if it is not a pipe.
 */
int standard_files_own_pipe(int fd);

/*
 * Same as write(2) after poll(). Another writer of the pipe or socket may have filled it since:
 * then returns -1 with EAGAIN, for a socket or a pipe of standard_files_own_pipe().
 */
ssize_t standard_files_write(int fd, const char *data, size_t len);

/* Returns true if the name of an output means standard output. */
bool standard_files_is_output(const char *name);
