/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/metrics/metrics_sums.h"

#include <stdio.h>
#include <string.h>

#include "base/assertion.h"

#define AT(member) offsetof(struct exporter_row, member)

const struct metrics_word metrics_datagram_fates[] = {
	{"received", AT(datagrams)},
	{"malformed", AT(malformed)},
	{"refused", AT(refused)},
	{"shed", AT(shed)},
	{"lost_network", AT(lost_network)},
	{"lost_socket", AT(lost_socket)},
	{"reordered", AT(reordered)},
	{"repeated", AT(repeated)},
	{0},
};

const struct metrics_word metrics_record_fates[] = {
	{"counted", AT(counts.counted)},
	{"duplicate", AT(counts.duplicate)},
	{"unusable", AT(unusable)},
	{0},
};

static void add_fates(struct exporter_row *sum, const struct metrics_word *fates,
	const struct exporter_row *exporter)
{
	for (; fates->word != NULL; fates++)
		*(uint64_t *)((char *)sum + fates->at) +=
			*(const uint64_t *)((const char *)exporter + fates->at);
}

static void add_exporter(struct exporter_row *sum, const struct exporter_row *exporter)
{
	add_fates(sum, metrics_datagram_fates, exporter);
	add_fates(sum, metrics_record_fates, exporter);
	sum->unknown_template += exporter->unknown_template;
}

static void add_worker(struct metrics_worker *worker, const struct report_load *load)
{
	worker->lcore = load->lcore;
#define ADD_COUNT(name) worker->name += load->name;
	LOAD_COUNTS(ADD_COUNT)
}

static struct metrics_measurement *find_measurement(struct metrics_sums *sums, const char *name)
{
	for (uint32_t m = 0; m < sums->nb_measurements; m++)
		if (strcmp(sums->measurements[m].name, name) == 0)
			return &sums->measurements[m];
	return NULL;
}

/*
 * If no entry is free, returns that of the measurement that has been inactive for the longest time.
 */
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
	struct metrics_measurement *sum = find_measurement(sums, measurement->name);

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
	VERIFY(epoch->nb_measurements, <=, (uint32_t)CONFIG_MEASUREMENTS_MAX);
	sums->epochs++;
	sums->late += epoch->late;
	sums->closing_ns += epoch->closing_ns;
	sums->expired += epoch->expired;
	ledger_add(&sums->ledger, &epoch->ledger);
	for (uint64_t e = 0; epoch->collected != NULL && e < epoch->collected->nb_exporters; e++)
		add_exporter(&sums->exporters, &epoch->collected->exporters[e]);
	sums->nb_workers = epoch->workers < PLAN_WORKERS_MAX ? epoch->workers : PLAN_WORKERS_MAX;
	for (uint32_t w = 0; w < sums->nb_workers; w++)
		add_worker(&sums->workers[w], &epoch->loads[w]);
	if (epoch->nb_measurements > 0)
		sums->last = sums->epochs;
	/*
	 * Measurements that have an entry are added first, so that a new one cannot take their
	 * entry.
	 */
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		if (find_measurement(sums, epoch->measurements[m].name) != NULL)
			add_measurement(sums, epoch, &epoch->measurements[m]);
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		if (find_measurement(sums, epoch->measurements[m].name) == NULL)
			add_measurement(sums, epoch, &epoch->measurements[m]);
}
