/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/metrics/metrics_sums.h"

#include <stdio.h>
#include <string.h>

#include "collect/exporters/collector_rows.h"

#define AT(member) offsetof(struct exporter_row, member)

const struct metrics_word metrics_datagram_fates[METRICS_DATAGRAM_FATES] = {
	{"received", AT(datagrams)},
	{"malformed", AT(malformed)},
	{"refused", AT(refused)},
	{"shed", AT(shed)},
	{"lost_network", AT(lost_network)},
	{"lost_socket", AT(lost_socket)},
	{"reordered", AT(reordered)},
	{"repeated", AT(repeated)},
};

const struct metrics_word metrics_record_fates[METRICS_RECORD_FATES] = {
	{"counted", AT(counts.counted)},
	{"duplicate", AT(counts.duplicate)},
	{"unusable", AT(unusable)},
};

static void add_fates(uint64_t *sums, const struct metrics_word *fates, uint32_t n,
	const struct exporter_row *exporter)
{
	for (uint32_t f = 0; f < n; f++)
		sums[f] += *(const uint64_t *)((const char *)exporter + fates[f].at);
}

static void add_exporters(struct metrics_sums *sums, const struct report_collected *collected)
{
	for (uint64_t e = 0; e < collected->nb_exporters; e++) {
		const struct exporter_row *exporter = &collected->exporters[e];

		add_fates(
			sums->datagrams, metrics_datagram_fates, METRICS_DATAGRAM_FATES, exporter);
		add_fates(sums->records, metrics_record_fates, METRICS_RECORD_FATES, exporter);
		sums->unknown_template += exporter->unknown_template;
	}
}

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

static struct metrics_measurement *find_measurement(struct metrics_sums *sums, const char *name)
{
	for (uint32_t m = 0; m < sums->nb_measurements; m++)
		if (strcmp(sums->measurements[m].name, name) == 0)
			return &sums->measurements[m];
	return NULL;
}

/*
 * Returns a free entry, or the entry that was inactive longest. An epoch never has more
 * measurements than there are entries.
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
	sums->epochs++;
	sums->late += epoch->late;
	sums->closing_ns += epoch->closing_ns;
	sums->expired += epoch->expired;
	ledger_add(&sums->ledger, &epoch->ledger);
	if (epoch->collected != NULL)
		add_exporters(sums, epoch->collected);
	sums->nb_workers = epoch->workers < PLAN_WORKERS_MAX ? epoch->workers : PLAN_WORKERS_MAX;
	for (uint32_t w = 0; w < sums->nb_workers; w++)
		add_worker(&sums->workers[w], &epoch->loads[w]);
	if (epoch->nb_measurements > 0)
		sums->last = sums->epochs;
	/* Known measurements first, so that new ones do not take their entries. */
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		if (find_measurement(sums, epoch->measurements[m].name) != NULL)
			add_measurement(sums, epoch, &epoch->measurements[m]);
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		if (find_measurement(sums, epoch->measurements[m].name) == NULL)
			add_measurement(sums, epoch, &epoch->measurements[m]);
}
