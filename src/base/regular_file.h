/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Opens a text file that may be read again during a run, and therefore must be a regular file.
 * Skips a byte order mark. Does not block on a FIFO. Returns NULL with errno, which is 0 for other
 * kinds of files.
 */
FILE *regular_file_open(const char *path);

/*
 * Same as regular_file_open(), for an open descriptor, which the call owns. Returns NULL with
 * errno, also if fd is -1.
 */
FILE *regular_file_text(int fd);

/*
 * Reads the next line, or its first room - 1 bytes, into text[room]. Returns the number of bytes,
 * -1 after the last line.
 */
ssize_t regular_file_line(FILE *file, char *text, size_t room);

/*
 * Opens an empty file, a device or a pipe for writing. Returns -1 with errno for file_error().
 * EEXIST: a regular file exists and must not be replaced.
 */
int regular_file_create(const char *path, bool replace);

/*
 * Files in folders where other users may write. At any time, they can replace a name by a link, a
 * FIFO or a file of their own. "Trusted" users are the user of this process, and root.
 *
 * - A symbolic link of another user, anywhere in a path, is followed only to a file or folder of
 * that user.
 * - In a folder that an untrusted user owns, or that all users may write to, an existing file is
 * opened only if it belongs to a trusted user or to the folder's owner, and has no hard link that
 * might be a trusted user's file. A folder's group is trusted.
 * - A missing file is created, never through a link.
 *
 * All checks use open descriptors; no path is opened twice.
 */

/* Errors beyond those of errno. */
enum {
	FILE_LINK_OF_ANOTHER = 4096,
	FILE_LINK_TO_NOTHING,
	FILE_OF_ANOTHER,
	FILE_HAS_OTHER_NAMES,
	FILE_REPLACED,
	FOLDER_OF_ANOTHER,
	FOLDER_SHARED,
};

/* Returns strerror(), or the text of an error from above. */
const char *file_error(int error);

/* A name in an open folder. */
struct file_entry {
	int folder; /* descriptor for openat(); -1: none */
	char name[NAME_MAX + 1];
	bool is_link;       /* the path was a link to this entry */
	bool is_descriptor; /* below /proc/PID/fd: has no folder */
	bool exists;
	struct stat status; /* if it exists */
};

/* Follows the links of a path. Returns 0 or an error. The caller closes the entry if 0. */
int file_entry_find(struct file_entry *entry, const char *path);
void file_entry_close(struct file_entry *entry);

/* Returns 0, or the reason for which an existing file must not be opened. */
int file_entry_check(const struct file_entry *entry);

/*
 * Opens or creates the file. A FIFO waits for its reader unless flags have O_NONBLOCK. Returns -1
 * with errno; EEXIST: another process has just created it.
 */
int file_entry_open(const struct file_entry *entry, int flags, mode_t mode);

/*
 * Returns 0, or the reason for which a file that a later run reads must not be here: only trusted
 * users may be able to replace it. EINVAL: not a regular file.
 */
int file_entry_check_own(const struct file_entry *entry);

/*
 * Returns 0 if only trusted users can change the folder, else the reason. Other users trust the
 * group of a folder of root. sticky: accept a folder like /tmp.
 */
int file_folder_check(const struct stat *folder, bool sticky);

/*
 * Opens a folder that passes file_folder_check(), or creates it with mode 0700. Returns -1 with
 * errno.
 */
int file_folder_open(const char *path);

/*
 * Opens or creates a file of a trusted user in such a folder. Returns -1 with errno; EINVAL: not a
 * regular file.
 */
int file_folder_file(int folder, const char *name, int flags, mode_t mode);

/* Returns the length of a byte order mark at the start of a text; 0: none. */
static inline size_t byte_order_mark(const char *text)
{
	static const char mark[] = "\xEF\xBB\xBF";

	return strncmp(text, mark, sizeof(mark) - 1) == 0 ? sizeof(mark) - 1 : 0;
}
