/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Monitors the link status, link speed and presence of a port during a run */

#include <stdbool.h>
#include <stdint.h>

struct port;

enum port_change {
	PORT_SAME,
	PORT_UP,
	PORT_DOWN,
	PORT_SPEED, /* speed changed, link still up */
	PORT_GONE,  /* unplugged, deleted, or moved to another network namespace; permanent */
};

/* Status at the last call */
struct link_monitor {
	const struct port *port;
	uint32_t interface; /* index of the kernel interface below the driver; 0: none */
	bool up, gone;
	uint32_t speed; /* Mbit/s; 0: unknown */
};

void link_monitor_start(struct link_monitor *monitor, const struct port *port);

/* Returns the change since the last call; the latest of several. */
enum port_change link_monitor_look(struct link_monitor *monitor);
