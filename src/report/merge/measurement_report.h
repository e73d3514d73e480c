/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * From the sketches of a closed epoch's measurements to what is reported of them. What that takes
 * belongs to a set of measurements, beside its sketches.
 */

#include "parallel/run/run.h"
#include "report/merge/merge.h"
#include "report/rows/report.h"

/* Takes the memory; returns false where there is none. It is freed either way. */
bool measurement_report_create(struct measurements *measurements);
void measurement_report_destroy(struct measurements *measurements);

/* What was taken in of an epoch that is not reported after all. */
void measurement_report_drop_expired(const struct measurements *measurements);

struct merger *measurement_report_merger(const struct measurements *measurements, uint32_t m);

/* Fills report->measurements, and warns of what they lack. Returns false where there is no
 * memory. */
bool measurement_report_report(const struct run *run, uint64_t epoch, struct report_epoch *report);
