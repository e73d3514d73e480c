/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What each rule of --prefixes saw in an epoch, over all workers. */

#include "parallel/run/run.h"
#include "report/rows/report.h"

/* Fills report->rules with the rules that saw packets. Returns false where there is no memory. */
bool prefix_rows_report(struct run *run, uint64_t epoch, struct report_epoch *report);
