/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "parallel/run/run.h"
#include "report/rows/report.h"

/*
 * Adds the keys to the report of `epoch`. Call it before workers reuse the memory of the epoch, two
 * epochs later. Returns false if out of memory.
 */
bool drill_down_update(struct run *run, uint64_t epoch, struct report_epoch *report);
