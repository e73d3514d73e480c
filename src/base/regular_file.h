/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Opens a text file. It must be a regular file, because it may be read again during a run. Skips a
 * byte order mark. Does not block on a FIFO. Returns NULL with errno, which is 0 if the file is not
 * a regular file.
 */
FILE *regular_file_open(const char *path);

/*
 * Same as regular_file_open(), for a descriptor. Takes ownership of the descriptor. Returns NULL
 * with errno, also if fd is -1.
 */
FILE *regular_file_text(int fd);

/*
 * Reads the next line into text[room], truncated to room - 1 bytes; the next call then reads the
 * rest. Returns the number of bytes, or -1 after the last line.
 */
ssize_t regular_file_line(FILE *file, char *text, size_t room);

/*
 * Opens a file for writing. Creates it, or empties it if it is a regular file. Returns -1 with
 * errno for file_error(). EEXIST: a regular file exists and `replace` is false.
 */
int regular_file_create(const char *path, bool replace);

/*
 * Opens files safely in folders where other users may write. Such users can replace a name by a
 * link, a FIFO or a file of their own at any time. "Trusted" users are root and the user of this
 * process.
 * - A symbolic link of an untrusted user, anywhere in a path, is followed only to a file or folder
 * of the same user.
 * - Existing files are checked in a folder that an untrusted user owns or that all users may write
 * to. The file must belong to a trusted user or to the folder's owner. It must not have a hard link
 * that could be a trusted user's file. A folder's group is trusted.
 * - A missing file is created, but never through a link.
 *
 * All checks use open descriptors; no path is opened twice.
 */

/* Error numbers in addition to those of errno. */
enum {
	FILE_LINK_OF_ANOTHER = 4096,
	FILE_LINK_TO_NOTHING,
	FILE_OF_ANOTHER,
	FILE_HAS_OTHER_NAMES,
	FILE_REPLACED,
	FOLDER_OF_ANOTHER,
	FOLDER_SHARED,
};

/* Returns the text of an errno or of an error of the enum above. */
const char *file_error(int error);

/* A name in an open folder. */
struct file_entry {
	int folder; /* descriptor for openat(); -1: none */
	char name[NAME_MAX + 1];
	bool is_link;       /* a symbolic link led to this entry */
	bool is_descriptor; /* found below /proc/PID/fd: the file is not in `folder` */
	bool exists;
	struct stat status; /* if it exists */
};

/*
 * Follows the path and its symbolic links. Returns 0 or an error. After 0, the caller must close
 * the entry.
 */
int file_entry_find(struct file_entry *entry, const char *path);
void file_entry_close(struct file_entry *entry);

/* Returns 0, or the error that forbids opening an existing file. */
int file_entry_check(const struct file_entry *entry);

/*
 * Opens or creates the file. Waits for the reader of a FIFO unless flags have O_NONBLOCK. Returns
 * -1 with errno; EEXIST: another process has just created the file.
 */
int file_entry_open(const struct file_entry *entry, int flags, mode_t mode);

/*
 * Checks the place of a file that a later run will read: only trusted users may be able to replace
 * the file. Returns 0 or an error; EINVAL: not a regular file.
 */
int file_entry_check_own(const struct file_entry *entry);

/*
 * Returns 0 if only trusted users can change the folder, else an error. In a folder of root, the
 * group is trusted too, unless root runs this process. sticky: accept a folder with the sticky bit
 * (/tmp).
 */
int file_folder_check(const struct stat *folder, bool sticky);

/*
 * Opens a folder, or creates it with mode 0700, and calls file_folder_check(). Returns -1 with
 * errno.
 */
int file_folder_open(const char *path);

/*
 * Opens or creates a file in a folder of file_folder_open(). Another user's file is an error.
 * Returns -1 with errno; EINVAL: not a regular file.
 */
int file_folder_file(int folder, const char *name, int flags, mode_t mode);

/* Returns the length of a byte order mark at the start of a text; 0: none. */
static inline size_t byte_order_mark(const char *text)
{
	static const char mark[] = "\xEF\xBB\xBF";

	return strncmp(text, mark, sizeof(mark) - 1) == 0 ? sizeof(mark) - 1 : 0;
}
