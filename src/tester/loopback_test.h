/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Loopback test: one thread stamps and sends packets, receives them again, and reports loss, order,
 * duplicates, changes and latency. Command: `sketchtap generate --port OUT --rx-port IN`.
 */

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "rx/port/port.h"
#include "rx/source.h"

struct loopback_options {
	const char *port;
	struct loopback_find {
		bool asked;
		double loss; /* allowed share of lost packets with --find-rate */
	} find;
};

OPTION_OWNER(loopback)

/* Shared functions write --port in errors about --rx-port; this function corrects them. */
void loopback_log_error(const char *error);

/*
 * ports[0] sends, ports[nb_ports - 1] receives; they may be the same port. EAL must run, and the
 * ports be probed. Closes all ports. Returns the exit status.
 */
int loopback_measure(const struct config *config, const struct plan *plan, struct source *source,
	struct port *ports, uint32_t nb_ports);
