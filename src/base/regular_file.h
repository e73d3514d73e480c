/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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

/* Bytes of the byte order mark with which editors of other systems begin a text; 0: none. */
static inline size_t byte_order_mark(const char *text)
{
	static const char mark[] = "\xEF\xBB\xBF";

	return strncmp(text, mark, sizeof(mark) - 1) == 0 ? sizeof(mark) - 1 : 0;
}
