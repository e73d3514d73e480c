/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Counts of each prefix of --prefixes in an epoch, summed over all workers. */

#include "parallel/run/run.h"
#include "report/rows/report.h"

/* Adds the prefixes that matched at least one packet. Returns false if out of memory. */
bool prefix_rows_report(struct run *run, uint64_t epoch, struct report_epoch *report);
