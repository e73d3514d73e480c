/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Selects the heavy keys of a closed epoch for the drill-down of the epoch after next. */

#include "parallel/run/run.h"
#include "report/rows/report.h"

/*
 * Updates the keys of every drill-down and adds them to the report of `epoch`. Call before workers
 * reuse the memory of that epoch, two epochs later. Returns false if out of memory.
 */
bool drill_down_update(struct run *run, uint64_t epoch, struct report_epoch *report);
