/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What each worker of a run did in an epoch, for its report. */

#include <stdbool.h>

#include "parallel/run.h"
#include "report/output/report.h"

/* What does not change from epoch to epoch. */
struct loads {
	const struct run *run;
	struct report_load fixed[CONFIG_WORKERS_MAX];
	char *ports[CONFIG_WORKERS_MAX]; /* names, apart by spaces */
};

/* False where there is no memory; loads_fini() frees in either case. */
bool loads_init(struct loads *loads, const struct run *run);
void loads_fini(struct loads *loads);

/* Fills report->loads[] for a closed epoch; their ports[] live as long as `loads`. */
void loads_report(const struct loads *loads, uint64_t epoch, struct report_epoch *report);
