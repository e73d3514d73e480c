/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Where complete files go: stats.csv becomes stats-20261120T170000Z.csv, by the second in UTC in
 * which its first row starts, and stats-20261120T170000Z_0001.csv where that name is taken. In the
 * C locale names sort by time. Nothing is ever overwritten.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/regular_file.h"

/* When an output file is complete. 0: not by it. */
struct rotate_limits {
	uint64_t period; /* ns: at its multiples in UTC */
	uint64_t size;   /* bytes: before it grows beyond them */
};

/*
 * Renames the file, whose first row starts at start_ns since 1970, within its folder, and writes
 * its new name. Returns 0 or an errno, and then nothing was changed.
 */
int rotation_rename(const struct file_entry *entry, int64_t start_ns, char name[NAME_MAX + 1]);

/* Gives the renamed file its name back unless that is taken. Returns 0 or an errno. */
int rotation_undo(const struct file_entry *entry, const char *name);

/* Makes the names in the folder outlive a power cut. Returns 0 or an errno. */
int rotation_sync_folder(const struct file_entry *entry);

/*
 * Opens the latest complete file of `path` for reading. Another user's files are ignored where
 * base/regular_file.h does not allow them. -1: there is none.
 */
int rotation_latest(const char *path);
