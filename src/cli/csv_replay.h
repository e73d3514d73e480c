/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Epochs read again from the CSV files of a run: rows of --output, and of --stats where they are
 * given too. Rotated files follow one another as they are named. What neither says is not known;
 * what a measurement counts is told by the shares of its rows.
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
 * Opens the first file of each kind and reads its header. NULL where it cannot, or is another kind
 * of file: with a line in error[CSV_REPLAY_ERROR_MAX] and the exit status in *status.
 */
struct csv_replay *csv_replay_open(const struct csv_replay_files *outputs,
	const struct csv_replay_files *stats, char *error, int *status);
void csv_replay_close(struct csv_replay *replay); /* NULL is allowed */

/*
 * Takes every "--stats FILE" out of words[*n], which become fewer; the files stand behind them then,
 * in their order.
 */
void csv_replay_take_stats(char **words, int *n, struct csv_replay_files *stats);

/* The next epoch of which there are rows, which is the caller's; NULL: that was all, or there is
 * something wrong. */
struct epoch_view *csv_replay_next(struct csv_replay *replay);

/* The exit status that follows from what was read so far: 0, or with its line in *error. */
int csv_replay_status(const struct csv_replay *replay, const char **error);
/* Whether the last line of a file had no end: its writer is writing it, or was cut off. */
bool csv_replay_cut(const struct csv_replay *replay);
