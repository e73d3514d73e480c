/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Looks whether this host suits a planned run, and prints what it finds. Changes nothing. */

#include <stdio.h>

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "rx/port/port_name.h"

/*
 * names are those of --port, topology is what the plan was made for. Returns the exit status:
 * 0 where nothing is missing (warnings there may be), 1 where something is that keeps the run from
 * starting or from measuring what is asked, or where out cannot be written.
 */
int doctor(const struct config *config, const struct topology *topology, const struct plan *plan,
	const struct port_name *names, FILE *out);
