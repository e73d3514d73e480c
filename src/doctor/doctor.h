/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Runs `sketchtap doctor`: checks whether this host can run a plan. */

#include <stdio.h>

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "rx/port/port_name.h"

/*
 * names: resolved values of --port. topology: the one used for the plan. Returns 1 if the run could
 * not start or measure as configured, or if writing to `out` failed.
 */
int doctor(const struct config *config, const struct topology *topology, const struct plan *plan,
	const struct port_name *names, FILE *out);
