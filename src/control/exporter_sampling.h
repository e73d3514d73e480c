/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Adapts the sampling of exporters to --sampling-budget and --sampling-error at the end of each
 * interval. Only the reporter calls it. A thread of its own (sampling_setter.h) executes changes.
 */

#include <stdbool.h>

#include "config/config.h"
#include "parallel/run/run.h"
#include "report/rows/report.h"

struct exporter_sampling;

/*
 * *sampling: NULL if no option needs it. The first intervals may end before the sampling of
 * exporters with ovsdb= is read. Returns false if out of memory.
 */
bool exporter_sampling_create(struct exporter_sampling **sampling, const struct run *run);
/* Cancels changes after the last interval, and logs them. NULL is allowed. */
void exporter_sampling_end(struct exporter_sampling *sampling);
void exporter_sampling_destroy(struct exporter_sampling *sampling); /* NULL is allowed */

/*
 * Adds the rows of --export sampling to the report of a closed epoch, whose exporters and
 * measurements must be set, and decides about changes. `sampling` may be NULL. Returns false if out of
 * memory.
 */
bool exporter_sampling_close(struct exporter_sampling *sampling, struct report_epoch *report);
