/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Checks whether this host can run a plan, and prints the findings. Changes nothing. */

#include <stdio.h>

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "rx/port/port_name.h"

/*
 * Runs all checks. names: of --port; topology: that of the plan. Returns the exit status: 0 if
 * nothing is missing (possibly with warnings); 1 if the run could not start or not measure as
 * configured, or if `out` cannot be written.
 */
int doctor(const struct config *config, const struct topology *topology, const struct plan *plan,
	const struct port_name *names, FILE *out);
