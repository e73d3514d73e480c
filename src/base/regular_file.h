/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/*
 * Opens a file of text that is to be read again while a run goes on, and so must have an end.
 * Reading begins behind a byte order mark. A FIFO holds nobody up. NULL with errno, which is 0
 * where it is no regular file.
 */
FILE *regular_file_open(const char *path);

/*
 * Opens an empty file to be written; devices and pipes too. -1 with errno. EEXIST: there is a
 * regular file already, and it must not be replaced.
 */
int regular_file_create(const char *path, bool replace);
