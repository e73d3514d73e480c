/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Loopback test: `sketchtap generate --port OUT --rx-port IN`. One thread stamps packets with
 * numbers and times, sends them, and receives them again. It reports loss, order, duplicates,
 * changes and latency of the device between the two ports. --find-rate searches the highest rate of
 * the device.
 */

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "rx/port/port.h"
#include "rx/source.h"

struct loopback_options {
	const char *port; /* value of --rx-port, NAME[,DEVARGS]; NULL: none */
	struct loopback_find {
		bool asked;
		double loss; /* --find-rate: allowed share of lost packets, below 1 */
	} find;
};

OPTION_OWNER(loopback)

/* Logs an error of the port of --rx-port; shared functions call it --port in their errors. */
void loopback_log_error(const char *error);

/*
 * Runs the test. The caller has initialized EAL with the plan of a sender that receives, and probed
 * the ports. ports[0] sends, ports[nb_ports - 1] receives; they may be the same port. Closes all
 * ports. Returns the exit status. If it is not 0, an error was logged.
 */
int loopback_measure(const struct config *config, const struct plan *plan, struct source *source,
	struct port *ports, uint32_t nb_ports);
