/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/series.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "base/units.h"

#define EXIT_MACHINE 1
#define EXIT_TEXT    2

/* A flow, and its sum over all epochs. */
struct series_sum {
	double value;
	char flow[];
};

/* Result of the first pass. */
struct series_scan {
	void *sums; /* tree of tsearch() */
	struct series_sum *heaviest[SERIES_FLOWS];
	uint32_t nb_heaviest;
	uint64_t epochs;
	uint32_t of_bytes, of_packets; /* number of epochs by metric */
	bool failed;
};

static struct series_scan *looking; /* argument of the callback of twalk(), which has none */

static double counted(const struct epoch_view_row *row, bool bytes)
{
	return (double)(bytes ? row->values.bytes : row->values.packets).value;
}

/* --- the heaviest flows --- */

static int compare_sums(const void *a, const void *b)
{
	return strcmp(((const struct series_sum *)a)->flow, ((const struct series_sum *)b)->flow);
}

static struct series_sum *make_sum(const char *flow)
{
	struct series_sum *sum = calloc(1, sizeof(*sum) + strlen(flow) + 1);

	if (sum != NULL)
		strcpy(sum->flow, flow);
	return sum;
}

static void add_row(struct series_scan *scan, const struct epoch_view_row *row, bool bytes)
{
	struct series_sum *sum = make_sum(row->flow);
	struct series_sum **found = sum != NULL ? tsearch(sum, &scan->sums, compare_sums) : NULL;

	if (found == NULL) {
		free(sum);
		scan->failed = true;
		return;
	}
	if (*found != sum)
		free(sum);
	(*found)->value += counted(row, bytes);
}

static void keep_heavy(const void *node, VISIT which, int depth)
{
	struct series_sum *sum = *(struct series_sum *const *)node;
	uint32_t at;

	(void)depth;
	if (which != postorder && which != leaf)
		return;
	VERIFY(looking->nb_heaviest, <=, (uint32_t)SERIES_FLOWS);
	at = looking->nb_heaviest;
	while (at > 0 && looking->heaviest[at - 1]->value < sum->value)
		at--;
	if (at == SERIES_FLOWS)
		return;
	if (looking->nb_heaviest < SERIES_FLOWS)
		looking->nb_heaviest++;
	memmove(&looking->heaviest[at + 1], &looking->heaviest[at],
		(looking->nb_heaviest - at - 1) * sizeof(looking->heaviest[0]));
	looking->heaviest[at] = sum;
}

/* --- reading --- */

static struct epoch_view_measurement *chosen(struct series *series, const struct epoch_view *epoch)
{
	if (series->measurement == NULL && epoch->nb_measurements > 0)
		series->measurement = strdup(epoch->measurements[0].values.name);
	if (series->measurement == NULL)
		return NULL;
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		series->others |=
			strcmp(epoch->measurements[m].values.name, series->measurement) != 0;
	return epoch_view_find(epoch, series->measurement);
}

static void scan_epoch(
	struct series *series, struct series_scan *scan, const struct epoch_view *epoch)
{
	const struct epoch_view_measurement *measurement = chosen(series, epoch);

	if (measurement == NULL)
		return;
	scan->epochs++;
	if (measurement->nb_rows > 1)
		*(measurement->values.counts_bytes ? &scan->of_bytes : &scan->of_packets) += 1;
	for (uint32_t r = 0; r < measurement->nb_rows; r++)
		add_row(scan, &measurement->rows[r], measurement->values.counts_bytes);
}

static void add_figure(struct series_figure *sum, const struct report_figure *figure)
{
	if (!figure->known)
		return;
	sum->high_known = (sum->high_known || sum->epochs == 0) && figure->high_known;
	sum->epochs++;
	sum->value += (double)figure->value;
	sum->low += (double)figure->low;
	sum->high += (double)figure->high;
}

/* Returns the total of all flows of the epoch, computed from the share of the first row. */
static double total_of(const struct epoch_view_measurement *measurement, bool bytes)
{
	const struct epoch_view_row *row = measurement->rows;

	return measurement->nb_rows > 0 && row->values.share > 0
		       ? counted(row, bytes) / row->values.share
		       : 0;
}

static void take_flows(const struct series *series, struct series_step *step,
	const struct epoch_view_measurement *measurement)
{
	double total = total_of(measurement, series->bytes);

	for (uint32_t f = 0; f < series->nb_flows; f++)
		step->flows[f].total += total;
	for (uint32_t r = 0; r < measurement->nb_rows; r++) {
		const struct epoch_view_row *row = &measurement->rows[r];

		for (uint32_t f = 0; f < series->nb_flows; f++)
			if (strcmp(series->flows[f], row->flow) == 0)
				add_figure(&step->flows[f],
					series->bytes ? &row->values.bytes : &row->values.packets);
	}
}

static void take_epoch(
	struct series *series, const struct series_scan *scan, const struct epoch_view *epoch)
{
	const struct epoch_view_measurement *measurement = chosen(series, epoch);
	uint64_t each = (scan->epochs + SERIES_STEPS - 1) / SERIES_STEPS;
	struct series_step *step;

	if (measurement == NULL)
		return;
	step = &series->steps[series->nb_steps > 0 ? series->nb_steps - 1 : 0];
	if (series->nb_steps == 0 || step->epochs == each) {
		/* The files grew since the first pass. */
		if (series->nb_steps == SERIES_STEPS)
			return;
		step = &series->steps[series->nb_steps++];
		step->start = epoch->start;
	}
	VERIFY(series->nb_steps, <=, (uint32_t)SERIES_STEPS);
	step->epochs++;
	step->end = epoch->end;
	step->seconds += (double)epoch_view_duration(epoch) / SECOND_NS;
	take_flows(series, step, measurement);
	series->told_losses |= epoch->told_account;
	series->untold += !epoch->told_account;
	series->epochs++;
	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++)
		if (ledger_columns[c].fate == LEDGER_LOST)
			step->lost[c] += ledger_column(&measurement->ledger, c);
}

/* Reads every epoch of the files, into `scan` on the first pass. */
static bool read_all(struct series *series, struct series_scan *scan,
	const struct csv_replay_files *outputs, const struct csv_replay_files *stats, char *error,
	int *status)
{
	struct csv_replay *replay = csv_replay_open(outputs, stats, error, status);
	struct epoch_view *epoch;
	const char *line;

	if (replay == NULL)
		return false;
	while ((epoch = csv_replay_next(replay)) != NULL) {
		if (series->steps == NULL)
			scan_epoch(series, scan, epoch);
		else
			take_epoch(series, scan, epoch);
		epoch_view_free(epoch);
	}
	*status = csv_replay_status(replay, &line);
	if (*status != 0)
		snprintf(error, CSV_REPLAY_ERROR_MAX, "%s", line);
	series->cut = csv_replay_cut(replay);
	csv_replay_close(replay);
	return *status == 0;
}

/* --- both passes --- */

/* Chooses metric, flows and steps from the first pass. */
static bool choose_epochs(struct series *series, struct series_scan *scan)
{
	series->bytes = scan->of_bytes > scan->of_packets;
	looking = scan;
	twalk(scan->sums, keep_heavy);
	for (; series->nb_flows < scan->nb_heaviest; series->nb_flows++) {
		series->flows[series->nb_flows] = strdup(scan->heaviest[series->nb_flows]->flow);
		if (series->flows[series->nb_flows] == NULL)
			return false;
	}
	series->steps = calloc(SERIES_STEPS, sizeof(series->steps[0]));
	return series->steps != NULL && !scan->failed;
}

static bool fail(char *error, int *status, int exit, const char *what, const char *name)
{
	snprintf(error, CSV_REPLAY_ERROR_MAX, "%s%.100s", what, name);
	*status = exit;
	return false;
}

static bool fill(struct series *series, struct series_scan *scan,
	const struct csv_replay_files *outputs, const struct csv_replay_files *stats, char *error,
	int *status)
{
	const char *path = outputs->paths[0];

	if (!read_all(series, scan, outputs, stats, error, status))
		return false;
	if (scan->epochs == 0)
		return series->measurement != NULL
			       ? fail(error, status, EXIT_TEXT,
					 "no file has rows of the measurement ",
					 series->measurement)
			       : fail(error, status, EXIT_TEXT, "no rows in ", path);
	if (!choose_epochs(series, scan))
		return fail(error, status, EXIT_MACHINE, "out of memory", "");
	return read_all(series, scan, outputs, stats, error, status);
}

struct series *series_read(const struct csv_replay_files *outputs,
	const struct csv_replay_files *stats, const char *measurement, char *error, int *status)
{
	struct series *series = calloc(1, sizeof(*series));
	struct series_scan scan = {0};
	bool filled = false;

	if (series != NULL && measurement != NULL)
		series->measurement = strdup(measurement);
	if (series == NULL || (measurement != NULL && series->measurement == NULL))
		fail(error, status, EXIT_MACHINE, "out of memory", "");
	else
		filled = fill(series, &scan, outputs, stats, error, status);
	tdestroy(scan.sums, free);
	if (filled)
		return series;
	series_free(series);
	return NULL;
}

void series_free(struct series *series)
{
	if (series == NULL)
		return;
	for (uint32_t f = 0; f < series->nb_flows; f++)
		free(series->flows[f]);
	free(series->measurement);
	free(series->steps);
	free(series);
}
