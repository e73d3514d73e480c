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

#define RECORDED_ERROR_MAX 512

struct recorded_files {
	char *const *paths;
	uint32_t n;
};

struct recorded;

/*
 * Opens the first file of each kind and reads its header. NULL where it cannot, or is another kind
 * of file: with a line in error[RECORDED_ERROR_MAX] and the exit status in *status.
 */
struct recorded *recorded_open(const struct recorded_files *outputs,
	const struct recorded_files *stats, char *error, int *status);
void recorded_close(struct recorded *recorded); /* NULL is allowed */

/*
 * Takes every "--stats FILE" out of words[*n], which become fewer; the files stand behind them then,
 * in their order.
 */
void recorded_take_stats(char **words, int *n, struct recorded_files *stats);

/* The next epoch of which there are rows, which is the caller's; NULL: that was all, or there is
 * something wrong. */
struct seen_epoch *recorded_next(struct recorded *recorded);

/* The exit status that follows from what was read so far: 0, or with its line in *error. */
int recorded_status(const struct recorded *recorded, const char **error);
/* Whether the last line of a file had no end: its writer is writing it, or was cut off. */
bool recorded_cut(const struct recorded *recorded);
