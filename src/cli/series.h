/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What a picture of files shows: of one measurement the heaviest flows over all of the time, each
 * with its rate, its interval and its share, and what was lost meanwhile. Epochs are put together
 * into steps where there are many: their figures and the ends of their intervals are added up.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cli/csv_replay.h"

#define SERIES_FLOWS 8
#define SERIES_STEPS 600

struct series_figure {
	double value, low, high;
	double total;    /* of all flows, for the share */
	uint64_t epochs; /* in which it has a row */
	bool high_known; /* of all of these */
};

struct series_step {
	int64_t start, end; /* ns since 1970 */
	double seconds;     /* of its epochs, without what is between them */
	uint64_t epochs;
	struct series_figure flows[SERIES_FLOWS];
	uint64_t lost[LEDGER_COLUMNS]; /* in those columns whose packets are lost */
};

struct series {
	char *measurement;
	bool bytes;  /* what it counts; else packets */
	bool others; /* there are further measurements */
	bool cut;    /* the last line of a file had no end */
	bool told_losses;
	uint64_t epochs, untold; /* of which so many have no account */
	uint32_t nb_flows;
	char *flows[SERIES_FLOWS]; /* the heaviest first */
	uint32_t nb_steps;
	struct series_step *steps;
};

/*
 * Reads the files, twice. measurement: by name; NULL: the first. NULL with a line in
 * error[CSV_REPLAY_ERROR_MAX], and the exit status.
 */
struct series *series_read(const struct csv_replay_files *outputs,
	const struct csv_replay_files *stats, const char *measurement, char *error, int *status);
void series_free(struct series *series); /* NULL is allowed */
