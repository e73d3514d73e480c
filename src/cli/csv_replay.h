/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reads epochs from the CSV files that --output and --stats wrote. The files do not contain the
 * metric of a measurement; it is derived from the shares of rows.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cli/epoch_view.h"

#define CSV_REPLAY_ERROR_MAX 512

struct csv_replay_files {
	char *const *paths;
	uint32_t n;
};

struct csv_replay;

/*
 * Returns the next field of a line, in place, and moves *rest after it; NULL: end of the line. Returns
 * NULL if quotes enclose only a part of the field.
 */
char *csv_field(char **rest);

/*
 * Files must be in the order in which the run wrote them. On failure, returns NULL with a line in
 * error[CSV_REPLAY_ERROR_MAX] and the exit status in *status.
 */
struct csv_replay *csv_replay_open(const struct csv_replay_files *outputs,
	const struct csv_replay_files *stats, char *error, int *status);
void csv_replay_close(struct csv_replay *replay);

/*
 * Removes each "--stats FILE" from words[] and *n. *stats then points to the file
 * names, which are stored after the remaining words.
 */
void csv_replay_take_stats(char **words, int *n, struct csv_replay_files *stats);

/* Returns the next epoch that has rows, owned by the caller; NULL at the end or on error. */
struct epoch_view *csv_replay_next(struct csv_replay *replay);

int csv_replay_status(const struct csv_replay *replay, const char **error);
/* Returns true if the last line of a file had no line end. */
bool csv_replay_cut(const struct csv_replay *replay);
