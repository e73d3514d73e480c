/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Opens /dev/null as each of the descriptors 0 to 2 that is closed. Otherwise a file opened later
 * could get number 2 and receive error messages. Writes to standard output still fail if it was
 * closed.
 */
void standard_files_fill(void);

/* Returns true if all of standard output was written, or if its reader has closed the pipe. */
bool standard_files_printed(void);

/*
 * Reopens an inherited pipe for nonblocking writes. Setting O_NONBLOCK on fd itself would also
 * affect other processes that share it. Returns -1 if fd is not a pipe.
 */
int standard_files_own_pipe(int fd);

/*
 * Same as write(2), after poll() reported room. Another process may have filled the pipe or socket
 * since. Then, for a socket or a pipe of standard_files_own_pipe(), returns -1 with EAGAIN.
 */
ssize_t standard_files_write(int fd, const char *data, size_t len);

/* Returns true if the name of an output file means standard output. */
bool standard_files_is_output(const char *name);
