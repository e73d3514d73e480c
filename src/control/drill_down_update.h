/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Selects the heavy keys of a closed epoch for the drill-down of the epoch after next. */

#include "parallel/run/run.h"
#include "report/rows/report.h"

/*
 * Updates the networks of every drill-down and adds them to the report, before the generation of
 * `epoch` is returned. Returns false if out of memory.
 */
bool drill_down_update(struct run *run, uint64_t epoch, struct report_epoch *report);
