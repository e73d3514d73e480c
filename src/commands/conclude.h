/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Last lines of a run, and its exit status. */

#include <stdbool.h>
#include <stdint.h>

#include "control/reporter.h"
#include "parallel/run/run.h"

void conclude_log(bool warning, const char *line, void *arg);

/*
 * Logs the last line of a run. Packets shed by a sketch are lost only to its measurement. If there
 * are several measurements, lists these losses by name.
 */
void conclude_log_ledger(const struct reporter_result *result);

/* Logs the results of the run and returns the exit status. */
int conclude_run(const struct run *run, const struct reporter_result *result, uint64_t lost_rows);
