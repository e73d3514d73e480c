/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Data of a chart: the heaviest flows of one measurement over the whole time, with rate, bounds and
 * share, and the losses. If there are many epochs, they are merged into steps, which add their
 * values and bounds.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cli/csv_replay.h"

#define SERIES_FLOWS 8
#define SERIES_STEPS 600

struct series_figure {
	double value, low, high;
	double total;    /* total of all flows, for the share */
	uint64_t epochs; /* number of epochs with a row of the flow */
	bool high_known; /* the upper bound is known in all of these */
};

struct series_step {
	int64_t start, end; /* ns since 1970-01-01 UTC */
	double seconds;     /* duration of its epochs, without gaps */
	uint64_t epochs;
	struct series_figure flows[SERIES_FLOWS];
	uint64_t lost[LEDGER_COLUMNS]; /* lost packets by ledger column */
};

struct series {
	char *measurement;
	bool bytes;  /* the metric is bytes; else packets */
	bool others; /* there are other measurements */
	bool cut;    /* the last line of a file was incomplete */
	bool told_losses;
	uint64_t epochs, untold; /* number of epochs, and of those without ledger */
	uint32_t nb_flows;
	char *flows[SERIES_FLOWS]; /* heaviest first */
	uint32_t nb_steps;
	struct series_step *steps;
};

/*
 * Reads the files twice. measurement: name; NULL: the first one. Returns NULL with a line in
 * error[CSV_REPLAY_ERROR_MAX], and the exit status.
 */
struct series *series_read(const struct csv_replay_files *outputs,
	const struct csv_replay_files *stats, const char *measurement, char *error, int *status);
void series_free(struct series *series); /* NULL is allowed */
