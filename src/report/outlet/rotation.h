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

/* When an output file is complete. 0: not by it. */
struct rotate_limits {
	uint64_t period; /* ns: at its multiples in UTC */
	uint64_t size;   /* bytes: before it grows beyond them */
};

/*
 * Renames the file `path`, whose first row starts at start_ns since 1970, and writes its new name
 * to name[PATH_MAX]. Returns 0 or an errno, and then nothing was changed.
 */
int rotation_rename(const char *path, int64_t start_ns, char name[PATH_MAX]);

/* Renames without replacing what stands there. Returns 0 or an errno. */
int rotation_move(const char *from, const char *to);

/* Makes the names in the folder of `path` outlive a power cut. Returns 0 or an errno. */
int rotation_sync_folder(const char *path);

/* Writes the name of the latest complete file of `path` to name[PATH_MAX]. False: there is none. */
bool rotation_latest(const char *path, char name[PATH_MAX]);
