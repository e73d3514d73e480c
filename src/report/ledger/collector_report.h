/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Adds the collector's counts to the ledger and the report of a closed epoch. */

#include <stdbool.h>

#include "parallel/run/run.h"
#include "report/rows/report.h"

/* Completes the ledger of the epoch; `fed`: packets that the feeder took from the capture. */
void collector_report_account(
	const struct run *run, uint64_t epoch, uint64_t fed, struct ledger *ledger);

/* Returns true if exporters sent anything in the epoch, decodable or not. */
bool collector_report_anything(const struct run *run, uint64_t epoch);

/*
 * Moves the rows of the epoch to the report. Returns false if out of memory; the report then has
 * the remaining rows.
 */
bool collector_report_report(const struct run *run, uint64_t epoch, struct report_epoch *report);

/*
 * Widens the bounds of rows by packets that may be duplicates of several exporters. Call it before
 * collector_report_widen(), since these packets are also sampled. See docs/ESTIMATES.md.
 */
void collector_report_doubt(struct report_measurement *measurement, const struct ledger *ledger);

/*
 * Widens the bounds of rows for sampling. With probability 1 - risk, the bounds hold for all keys.
 * `ledger` has the measured packets. See docs/ESTIMATES.md.
 */
void collector_report_widen(
	struct report_measurement *measurement, const struct ledger *ledger, double risk);
