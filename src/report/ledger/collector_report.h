/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Adds the collector's part to the ledger and the report of a closed epoch. */

#include <stdbool.h>

#include "parallel/run/run.h"
#include "report/rows/report.h"

/* Completes the ledger of the epoch; `fed`: packets that the feeder took from the capture. */
void collector_report_account(
	const struct run *run, uint64_t epoch, uint64_t fed, struct ledger *ledger);

/* Returns true if exporters sent anything in the epoch, decodable or not. */
bool collector_report_anything(const struct run *run, uint64_t epoch);

/* Moves the epoch's rows to the report. False without memory; what is there is reported. */
bool collector_report_report(const struct run *run, uint64_t epoch, struct report_epoch *report);

/*
 * Widens the bounds of rows by packets that several exporters may have reported. Call it before
 * collector_report_widen(), since these packets are also sampled. docs/ESTIMATES.md.
 */
void collector_report_doubt(struct report_measurement *measurement, const struct ledger *ledger);

/*
 * Widens the intervals of the rows by what sampling leaves open, of measured packets in `ledger`,
 * so that with probability 1 - risk no key's count lies outside of its own. docs/ESTIMATES.md.
 */
void collector_report_widen(
	struct report_measurement *measurement, const struct ledger *ledger, double risk);
