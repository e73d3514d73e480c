/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Renames complete files: stats.csv becomes stats-20261120T170000Z.csv, with the UTC second in
 * which its first row starts, or stats-20261120T170000Z_0001.csv if that name exists. Names sort by
 * time in the C locale. No file is ever overwritten.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/regular_file.h"

/* Limits that complete an output file. 0: no limit. */
struct rotate_limits {
	uint64_t period; /* ns; complete at its multiples in UTC */
	uint64_t size;   /* bytes; complete before it exceeds them */
};

/*
 * Renames the file within its folder and writes its new name. start_ns is the start of its first
 * row, ns since 1970-01-01 UTC. Returns 0, or an errno if nothing was changed.
 */
int rotation_rename(const struct file_entry *entry, int64_t start_ns, char name[NAME_MAX + 1]);

/* Restores the old name of the renamed file, unless it exists. Returns 0 or an errno. */
int rotation_undo(const struct file_entry *entry, const char *name);

/* Syncs the folder, so that its names survive a power failure. Returns 0 or an errno. */
int rotation_sync_folder(const struct file_entry *entry);

/*
 * Opens the latest complete file of `path` for reading. Skips files of other users where
 * base/regular_file.h does not allow them. Returns -1 if there is none.
 */
int rotation_latest(const char *path);
