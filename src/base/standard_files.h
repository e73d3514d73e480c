/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Descriptors 0 to 2 that the caller closed would be given to the first files opened, and what is
 * meant for standard error would land in an output. Each is filled with what fails as a closed one.
 */
void standard_files_fill(void);

/* Whether what was printed is there, or whoever reads it has gone. */
bool standard_files_printed(void);

/*
 * Opens a pipe that the process inherited once more, for writing, so that O_NONBLOCK is set here and
 * not for the other processes that have it. Returns -1 if it is not a pipe.
 */
int standard_files_own_pipe(int fd);

/*
 * As write(2) after poll() reported room. Another writer of the same pipe or socket may have taken
 * the room since: then returns -1 with EAGAIN, for a socket, or a pipe of standard_files_own_pipe().
 */
ssize_t standard_files_write(int fd, const char *data, size_t len);

/* Whether the name of an output means standard output. */
bool standard_files_is_output(const char *name);
