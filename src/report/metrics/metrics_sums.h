/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Sums over all epochs of a run, for the counters of /metrics. */

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

/* Value of a label, and offset of its count. An empty row ends a table. */
struct metrics_word {
	const char *word;
	size_t at;
};

/* offsets in struct exporter_row */
extern const struct metrics_word metrics_datagram_fates[], metrics_record_fates[];

struct metrics_measurement {
	char name[64];
	uint64_t last; /* last epoch that had the measurement; epochs are counted from 1 */
	struct ledger ledger;
};

struct metrics_sums {
	uint64_t epochs, late;
	uint64_t last; /* last epoch that had packets; epochs are counted from 1 */
	uint64_t closing_ns;
	uint64_t expired;
	struct ledger ledger;
	/* sums over all exporters: only the fates, and unknown_template */
	struct exporter_row exporters;
	uint32_t nb_workers;
	struct metrics_worker workers[PLAN_WORKERS_MAX];
	/* Measurements of earlier epochs stay as long as there is room. */
	uint32_t nb_measurements;
	struct metrics_measurement measurements[CONFIG_MEASUREMENTS_MAX];
};

/* Call it for each epoch in order, also without packets, but not for reports of flow records. */
void metrics_sums_add(struct metrics_sums *sums, const struct report_epoch *epoch);

/* Returns true if the last epoch with packets had the measurement. */
static inline bool metrics_sums_show(
	const struct metrics_sums *sums, const struct metrics_measurement *measurement)
{
	return measurement->last == sums->last;
}
