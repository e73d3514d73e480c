/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/metrics_sums.h"

#include <stdio.h>
#include <string.h>

static void add_worker(struct metrics_worker *worker, const struct report_load *load)
{
	worker->lcore = load->lcore;
	worker->received += load->received;
	worker->measured += load->measured;
	worker->ring_full += load->ring_full;
	worker->skipped += load->skipped;
	worker->bytes += load->bytes;
	worker->busy_ns += load->busy_ns;
}

static struct metrics_measurement *find(struct metrics_sums *sums, const char *name)
{
	for (uint32_t m = 0; m < sums->nb_measurements; m++)
		if (strcmp(sums->measurements[m].name, name) == 0)
			return &sums->measurements[m];
	return NULL;
}

/* In the place of the one that was not measured for longest, where there is no other: an epoch has no
 * more measurements than there are places. */
static struct metrics_measurement *make_room(struct metrics_sums *sums)
{
	struct metrics_measurement *oldest = &sums->measurements[0];

	if (sums->nb_measurements < CONFIG_MEASUREMENTS_MAX)
		return &sums->measurements[sums->nb_measurements++];
	for (uint32_t m = 1; m < sums->nb_measurements; m++)
		if (sums->measurements[m].last < oldest->last)
			oldest = &sums->measurements[m];
	return oldest;
}

static void add_measurement(struct metrics_sums *sums, const struct report_epoch *epoch,
	const struct report_measurement *measurement)
{
	struct ledger ledger = report_ledger(epoch, measurement);
	struct metrics_measurement *sum = find(sums, measurement->name);

	if (sum == NULL) {
		sum = make_room(sums);
		*sum = (struct metrics_measurement){0};
		snprintf(sum->name, sizeof(sum->name), "%s", measurement->name);
	}
	sum->last = sums->epochs;
	ledger_add(&sum->ledger, &ledger);
}

void metrics_sums_add(struct metrics_sums *sums, const struct report_epoch *epoch)
{
	sums->epochs++;
	sums->late += epoch->late;
	sums->closing_ns += epoch->closing_ns;
	sums->expired += epoch->expired;
	ledger_add(&sums->ledger, &epoch->ledger);
	sums->nb_workers = epoch->workers < PLAN_WORKERS_MAX ? epoch->workers : PLAN_WORKERS_MAX;
	for (uint32_t w = 0; w < sums->nb_workers; w++)
		add_worker(&sums->workers[w], &epoch->loads[w]);
	if (epoch->nb_measurements > 0)
		sums->last = sums->epochs;
	/* Those that go on first: their places are not free. */
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		if (find(sums, epoch->measurements[m].name) != NULL)
			add_measurement(sums, epoch, &epoch->measurements[m]);
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		if (find(sums, epoch->measurements[m].name) == NULL)
			add_measurement(sums, epoch, &epoch->measurements[m]);
}
