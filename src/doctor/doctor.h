/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Runs `sketchtap doctor`: checks whether this host can run a plan. Changes nothing. */

#include <stdio.h>

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "rx/port/port_name.h"

/*
 * Runs all checks and prints the findings. names: resolved values of --port. topology: the one used
 * for the plan. Returns the exit status. 0: nothing is missing, but there may be warnings. 1: the
 * run could not start, or not measure as configured, or `out` could not be written.
 */
int doctor(const struct config *config, const struct topology *topology, const struct plan *plan,
	const struct port_name *names, FILE *out);
