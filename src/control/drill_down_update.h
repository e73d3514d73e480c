/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* From what a closed epoch reports to what the epoch after next looks into. */

#include "parallel/run/run.h"
#include "report/rows/report.h"

/*
 * Learns which networks are heavy, for every measurement that looks closer, and says so in the
 * report. Before the generation of `epoch` is handed back. Returns false where there is no memory.
 */
bool drill_down_update(struct run *run, uint64_t epoch, struct report_epoch *report);
