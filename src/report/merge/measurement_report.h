/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Turns the sketches of a closed epoch into reported measurements. */

#include "parallel/run/run.h"
#include "report/merge/merge.h"
#include "report/rows/report.h"

/* Returns false if out of memory. Call measurement_report_destroy() in either case. */
bool measurement_report_create(struct measurements *measurements);
void measurement_report_destroy(struct measurements *measurements);

/* Drops the expired flows of an epoch for which there is no report. */
void measurement_report_drop_expired(const struct measurements *measurements);

struct merger *measurement_report_merger(const struct measurements *measurements, uint32_t m);

/* Logs a warning for each measurement with missing data. Returns false if out of memory. */
bool measurement_report_report(const struct run *run, uint64_t epoch, struct report_epoch *report);
