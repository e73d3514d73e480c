/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Adds the collector's counts to the ledger and the report of a closed epoch. */

#include <stdbool.h>

#include "parallel/run/run.h"
#include "report/rows/report.h"

/* Completes the ledger of the epoch. fed: packets that the feeder took from the capture. */
void collector_report_account(
	const struct run *run, uint64_t epoch, uint64_t fed, struct ledger *ledger);

/* Returns true if the collector received anything in the epoch, even if it could not be decoded. */
bool collector_report_anything(const struct run *run, uint64_t epoch);

/*
 * Moves the rows of the exporters, interfaces and paths to the report. If out of memory, returns
 * false, and some rows are missing.
 */
bool collector_report_report(const struct run *run, uint64_t epoch, struct report_epoch *report);

/*
 * Widens the bounds of rows for uncertain deduplication: packets of several exporters may be
 * duplicates. Call it before collector_report_widen(), which must also widen by these packets. See
 * docs/ESTIMATES.md.
 */
void collector_report_doubt(struct report_measurement *measurement, const struct ledger *ledger);

/*
 * Widens the bounds of rows for the sampling of exporters. With probability 1 - risk, sampling
 * breaks no bound of any key. ledger: the ledger of this measurement. See docs/ESTIMATES.md.
 */
void collector_report_widen(
	struct report_measurement *measurement, const struct ledger *ledger, double risk);
