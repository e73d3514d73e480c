/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Adds the collector's counts to the report of a closed epoch. */

#include <stdbool.h>

#include "parallel/run/run.h"
#include "report/rows/report.h"

/* fed: packets that were read from the capture. */
void collector_report_account(
	const struct run *run, uint64_t epoch, uint64_t fed, struct ledger *ledger);

/* Returns true if the collector received anything in the epoch, even if it could not be decoded. */
bool collector_report_anything(const struct run *run, uint64_t epoch);

/*
 * Moves the rows of exporters, interfaces and paths to the report. Returns false if out of memory;
 * some rows are then missing.
 */
bool collector_report_report(const struct run *run, uint64_t epoch, struct report_epoch *report);

/*
 * Widens the bounds of rows, because packets of several exporters may be duplicates
 * (docs/ESTIMATES.md). Call it before collector_report_widen().
 */
void collector_report_doubt(struct report_measurement *measurement, const struct ledger *ledger);

/*
 * Widens the bounds of rows for the sampling of exporters (docs/ESTIMATES.md). With probability 1 -
 * risk, they hold for all keys. `ledger` is that of the measurement.
 */
void collector_report_widen(
	struct report_measurement *measurement, const struct ledger *ledger, double risk);
