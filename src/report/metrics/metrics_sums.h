/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Sums over the epochs of a run, for counters (report/metrics/metrics_text.h). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"
#include "config/config.h"
#include "parallel/plan/plan.h"
#include "report/rows/report.h"

struct metrics_worker {
	uint32_t lcore;
	LOAD_COUNTS(LOAD_COUNT)
};

/* A label value and the offset of its count. An empty row ends the table. */
struct metrics_word {
	const char *word;
	size_t at;
};

/* Offsets in struct exporter_row. */
extern const struct metrics_word metrics_datagram_fates[], metrics_record_fates[];

/* Sum of the --stats rows of one measurement. */
struct metrics_measurement {
	char name[64];
	uint64_t last; /* last epoch with the measurement, counted from 1 */
	struct ledger ledger;
};

struct metrics_sums {
	uint64_t epochs, late;
	uint64_t last; /* last epoch with packets, counted from 1 */
	uint64_t closing_ns;
	uint64_t expired;
	struct ledger ledger;
	struct exporter_row exporters; /* sum of the fates, and of unknown_template */
	uint32_t nb_workers;
	struct metrics_worker workers[PLAN_WORKERS_MAX];
	/* Measurements of the last epoch with packets, and older ones if there is room. */
	uint32_t nb_measurements;
	struct metrics_measurement measurements[CONFIG_MEASUREMENTS_MAX];
};

/* Adds epochs in order, including silent ones, but not reports with only flows. */
void metrics_sums_add(struct metrics_sums *sums, const struct report_epoch *epoch);

/* Returns true if the measurement is active. Sums of others are kept in case it returns. */
static inline bool metrics_sums_show(
	const struct metrics_sums *sums, const struct metrics_measurement *measurement)
{
	return measurement->last == sums->last;
}
