/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Preparation of a command: source, filter, prefixes, profile, ports and plan. Each function logs an
 * error, and returns 0 or an exit status.
 */

#include "adapt/profile.h"
#include "base/notify.h"
#include "config/config.h"
#include "parallel/plan/machine.h"
#include "parallel/plan/plan.h"
#include "rx/filter/filter_program.h"
#include "rx/filter/prefix_filter.h"
#include "rx/port/port.h"
#include "rx/source.h"

#define PREPARE_STOPPED (-1) /* stop requested before the measurement began */

/* State of the running command. */
struct prepared {
	const struct notify *notify;                  /* the service manager */
	struct filter_set filters;                    /* --filter, compiled */
	struct prefix_list *prefixes;                 /* NULL: none, or owned by the run */
	struct port_name port_names[OPTION_LIST_MAX]; /* resolved name of each --port */
	struct profile profile;                       /* --profile */
};

extern struct prepared prepared;

/* Opens the source of packets; NULL without an error on live ports. */
int prepare_source(const struct config *config, struct source **source);

int prepare_check_filter(const struct config *config);

/* Compiles the filter after the source was opened, which determines the link types. */
int prepare_filter(const struct config *config, struct source *source);

int prepare_port_names(struct config *config);
int prepare_profile(const struct config *config);
int prepare_machine(const struct config *config, struct machine *machine);
int prepare_plan(const struct config *config, struct machine *machine, struct plan *plan);

/* Measures entries that the profile lacks before the run begins, within a time limit. */
void prepare_costs(const struct config *config, const struct plan *plan);

/* Probes the ports with the receive queues of the plan; none for a sender. */
int prepare_ports(const struct config *config, const struct plan *plan, struct port *ports);

/* Adapts the plan to the limits of the probed devices. */
int prepare_fit_plan(const struct config *config, const struct machine *machine,
	const struct port *ports, struct plan *plan);

/* Frees `prepared`. */
void prepare_undo(void);
