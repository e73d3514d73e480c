/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Renames complete output files. stats.csv becomes stats-20261120T170000Z.csv, with the time (UTC)
 * of its first row. If that name exists, the file becomes stats-20261120T170000Z_0001.csv, and so
 * on.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/regular_file.h"

/* 0: no limit */
struct rotate_limits {
	uint64_t period; /* ns; a file ends at each multiple of the period, in UTC */
	uint64_t size;   /* bytes; a file ends before it would become larger */
};

/*
 * start_ns: start of the first row, ns since 1970-01-01 UTC. Never overwrites a file. Stores the
 * new name, or returns an errno.
 */
int rotation_rename(const struct file_entry *entry, int64_t start_ns, char name[NAME_MAX + 1]);

/* Restores the old name, unless a file of that name exists. Returns 0 or an errno. */
int rotation_undo(const struct file_entry *entry, const char *name);

/* Makes the renaming survive a power failure. Returns 0 or an errno. */
int rotation_sync_folder(const struct file_entry *entry);

/*
 * Opens the latest complete file of the output file `path` for reading. Skips files of other users.
 * Returns -1 if there is none.
 */
int rotation_latest(const char *path);
