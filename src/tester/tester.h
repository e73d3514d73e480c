/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * `sketchtap generate`: what the generator makes, into a capture file or out of a port. Each
 * function returns the exit status, and says in one line what went wrong.
 */

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "rx/port/port.h"
#include "rx/source.h"

struct send_options {
	const char *output; /* "-": standard output; NULL: none */
	bool force;
	uint64_t linger; /* ns that a sender keeps its port after the last packet */
};

OPTION_OWNER(send)

int send_to_file(const struct config *config, struct source *source);

/* EAL is up with the sender's plan, the port is probed; it is stopped in the end. */
int send_to_port(const struct config *config, const struct plan *plan, struct source *source,
	struct port *port);

/* --port of a sender. */
extern const struct option_owner send_port_owner;
