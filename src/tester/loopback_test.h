/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Loopback test of `sketchtap generate --port OUT --rx-port IN`: one thread numbers and stamps
 * every packet, sends it, and receives it again. Packets that are lost, late, repeated, reordered
 * or changed show the behavior of the device between the two ports. --find-rate searches its
 * highest rate.
 */

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "rx/port/port.h"
#include "rx/source.h"

struct loopback_options {
	const char *port; /* NAME[,DEVARGS]; NULL: does not receive */
	struct loopback_find {
		bool asked;
		double loss; /* allowed loss as a share of packets, below 1 */
	} find;
};

OPTION_OWNER(loopback)

/* Logs an error of the receiving port, with --rx-port instead of --port. */
void loopback_log_error(const char *error);

/*
 * Runs the test. EAL must be up with the plan of a sender that receives, and the ports probed:
 * ports[0] sends, ports[nb_ports - 1] receives. Closes all ports. Returns the exit status, after a
 * log line if it is not 0.
 */
int loopback_measure(const struct config *config, const struct plan *plan, struct source *source,
	struct port *ports, uint32_t nb_ports);
