/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Skips a byte order mark. Never blocks. Returns NULL with errno; 0: not a regular file. */
FILE *regular_file_open(const char *path);

/* Takes ownership of fd. Fails with errno if fd is -1. */
FILE *regular_file_text(int fd);

/* Reads a line, or its next room - 1 bytes. Returns the number of bytes, or -1 at the end. */
ssize_t regular_file_line(FILE *file, char *text, size_t room);

/*
 * Creates or empties a file. Returns -1 with errno for file_error(). EEXIST: a regular file exists
 * and `replace` is false.
 */
int regular_file_create(const char *path, bool replace);

/*
 * Opens files safely in folders where other users may replace a name by a link, a FIFO or a file
 * of their own. "Trusted" users are root and the user of this process.
 * - A symbolic link of an untrusted user is followed only to a file or folder of the same user.
 * - In a folder that an untrusted user owns or that all users may write to, an existing file must
 * belong to a trusted user or to the folder's owner, and must not be a hard link to a trusted
 * user's file. A folder's group is trusted.
 * - A missing file is never created through a link.
 * All checks use open descriptors. No path is opened twice.
 */

/* Added to the numbers of errno. */
enum {
	FILE_LINK_OF_ANOTHER = 4096,
	FILE_LINK_TO_NOTHING,
	FILE_OF_ANOTHER,
	FILE_HAS_OTHER_NAMES,
	FILE_REPLACED,
	FOLDER_OF_ANOTHER,
	FOLDER_SHARED,
};

const char *file_error(int error);

struct file_entry {
	int folder; /* descriptor for openat(), or -1 */
	char name[NAME_MAX + 1];
	bool is_link;       /* true: a symbolic link led to this entry */
	bool is_descriptor; /* true: found below /proc/PID/fd; the file is not in `folder` */
	bool exists;
	struct stat status; /* valid if `exists` */
};

/* Follows symbolic links. Returns 0 or an error. After 0, the caller must close the entry. */
int file_entry_find(struct file_entry *entry, const char *path);
void file_entry_close(struct file_entry *entry);

/* Returns 0, or the error that forbids opening the existing file. */
int file_entry_check(const struct file_entry *entry);

/*
 * Blocks on a FIFO without a reader unless flags have O_NONBLOCK. Returns -1 with errno. EEXIST:
 * another process has just created the file.
 */
int file_entry_open(const struct file_entry *entry, int flags, mode_t mode);

/* Returns 0 if only trusted users can replace the file. EINVAL: not a regular file. */
int file_entry_check_own(const struct file_entry *entry);

/*
 * Returns 0 if only trusted users can change the folder, else an error. Trusts the group of root's
 * folders, unless root runs this process. `sticky`: accept a folder with the sticky bit, such as
 * /tmp.
 */
int file_folder_check(const struct stat *folder, bool sticky);

/* Creates a missing folder with mode 0700. Returns -1 with errno. */
int file_folder_open(const char *path);

/* Rejects another user's file. Returns -1 with errno. EINVAL: not a regular file. */
int file_folder_file(int folder, const char *name, int flags, mode_t mode);

/* Returns the length of a byte order mark at the start of the text, or 0. */
static inline size_t byte_order_mark(const char *text)
{
	static const char mark[] = "\xEF\xBB\xBF";

	return strncmp(text, mark, sizeof(mark) - 1) == 0 ? sizeof(mark) - 1 : 0;
}
