/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Packets and busy time of each worker in an epoch. */

#include <stdbool.h>

#include "parallel/run/run.h"
#include "report/rows/report.h"

struct worker_loads {
	const struct run *run;
	struct report_load fixed[PLAN_WORKERS_MAX];
	char *ports[PLAN_WORKERS_MAX];
};

/* Returns false if out of memory. Call worker_loads_fini() in either case. */
bool worker_loads_init(struct worker_loads *loads, const struct run *run);
void worker_loads_fini(struct worker_loads *loads);

/* The ports[] of the report's loads point into `loads`, which must outlive the report. */
void worker_loads_report(
	const struct worker_loads *loads, uint64_t epoch, struct report_epoch *report);
