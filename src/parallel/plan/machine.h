/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Input of a plan: this machine, or a copy given by --topology, without the CPUs that --lcores
 * excludes, and the node of each --port.
 */

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
	const char *directory; /* directory with the files of a machine; NULL: this machine */
};

OPTION_OWNER(topology)

#define MACHINE_ERROR_MAX 512

struct machine {
	struct topology topology;
	struct plan_ports ports;
};

/*
 * Reads the machine; EAL need not run. `names` are the resolved ports of config, if the machine is
 * this one. Returns true, or false with one line in error[MACHINE_ERROR_MAX].
 */
bool machine_read(struct machine *machine, const struct config *config,
	const struct port_name *names, char *error);
