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
bool measured_create(struct measurements *measurements);
void measured_destroy(struct measurements *measurements);

/* What was taken in of an epoch that is not reported after all. */
void measured_drop_expired(const struct measurements *measurements);

struct merger *measured_merger(const struct measurements *measurements, uint32_t m);

/* Fills report->measurements, and warns of what they lack. Returns false where there is no
 * memory. */
bool measured_report(const struct run *run, uint64_t epoch, struct report_epoch *report);
