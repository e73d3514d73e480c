/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* `sketchtap generate`: writes generated packets to a capture file, or sends them on a port. */

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "rx/port/port.h"
#include "rx/source.h"

struct send_options {
	const char *output;
	bool force;
	uint64_t linger; /* ns for which the port stays open after the last packet */
};

OPTION_OWNER(send)

int send_to_file(const struct config *config, struct source *source);

/* EAL must run, and the port be probed. Closes the port. Returns the exit status. */
int send_to_port(const struct config *config, const struct plan *plan, struct source *source,
	struct port *port);

extern const struct option_owner send_port_owner;
