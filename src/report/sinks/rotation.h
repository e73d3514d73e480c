/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Renames complete output files. stats.csv becomes stats-20261120T170000Z.csv: the time is the
 * second (UTC) in which its first row starts. If that name exists, it becomes
 * stats-20261120T170000Z_0001.csv, and so on. In the C locale the names sort by time. No file is
 * ever overwritten.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/regular_file.h"

/*
 * Limits of an output file. When one is reached, the file is complete, and a new one begins. 0: no
 * limit.
 */
struct rotate_limits {
	uint64_t period; /* ns; a file ends at each multiple of the period, in UTC */
	uint64_t size;   /* bytes; a file ends before it would become larger */
};

/*
 * Renames a file within its folder, and stores the new name. start_ns: start of its first row, ns
 * since 1970-01-01 UTC. Returns 0, or an errno if the file was not renamed.
 */
int rotation_rename(const struct file_entry *entry, int64_t start_ns, char name[NAME_MAX + 1]);

/*
 * Gives the file `name` its old name again, unless a file of that name exists. Returns 0 or an
 * errno.
 */
int rotation_undo(const struct file_entry *entry, const char *name);

/*
 * Writes the folder to the disk, so that a power failure does not undo the renaming. Returns 0 or
 * an errno.
 */
int rotation_sync_folder(const struct file_entry *entry);

/*
 * Opens the latest complete file of the output file `path` for reading. Skips files of other users
 * as base/regular_file.h does. Returns -1 if there is none.
 */
int rotation_latest(const char *path);
