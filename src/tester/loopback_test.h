/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * `sketchtap generate --port OUT --rx-port IN`: every packet is numbered and stamped, and received
 * again by the same thread. What is lost, late, repeated, out of order or changed is what the
 * device between the two ports did to it. --find-rate looks for its highest rate.
 */

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "rx/port/port.h"
#include "rx/source.h"

struct loopback_options {
	const char *port; /* NAME[,DEVARGS]; NULL: nothing is received */
	struct loopback_find {
		bool asked;
		double loss; /* share of the packets, below 1 */
	} find;
};

OPTION_OWNER(loopback)

/* What is wrong with the port of --rx-port, which is called one of --port where it is used. */
void loopback_log_error(const char *error);

/*
 * EAL is up with the plan of a sender that receives, and the ports are probed: ports[0] sends,
 * ports[nb_ports - 1] receives. All are closed in the end. Returns the exit status, and says in one
 * line what went wrong.
 */
int loopback_measure(const struct config *config, const struct plan *plan, struct source *source,
	struct port *ports, uint32_t nb_ports);
