/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Runs `sketchtap generate`: writes generated packets to a capture file, or sends them on a port.
 * Each function returns the exit status. If it is not 0, an error was logged.
 */

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "rx/port/port.h"
#include "rx/source.h"

struct send_options {
	const char *output; /* file of --output; "-": standard output; NULL: none */
	bool force;
	uint64_t linger; /* time for which the port stays open after the last packet, ns */
};

OPTION_OWNER(send)

int send_to_file(const struct config *config, struct source *source);

/*
 * Sends on a port and closes it. The caller has initialized EAL with the plan of the sender, and
 * probed the port.
 */
int send_to_port(const struct config *config, const struct plan *plan, struct source *source,
	struct port *port);

/* Option --port of a sender. */
extern const struct option_owner send_port_owner;
