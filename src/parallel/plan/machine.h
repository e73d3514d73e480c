/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Reads the machine for which a run is planned: this one, or the copy of --topology. */

#include <stdbool.h>

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "parallel/plan/topology.h"
#include "rx/port/port_name.h"

struct machine_options {
	const char *lcores; /* CPU list; NULL: all CPUs allowed for the process */
};

OPTION_OWNER(machine)

struct topology_options {
	const char *directory; /* copy of /sys and /proc of another machine; NULL: this machine */
};

OPTION_OWNER(topology)

#define MACHINE_ERROR_MAX 512

struct machine {
	struct topology topology;
	struct plan_ports ports;
};

/*
 * names[] has one entry per --port. On error, returns false with a line in
 * error[MACHINE_ERROR_MAX].
 */
bool machine_read(struct machine *machine, const struct config *config,
	const struct port_name *names, char *error);
