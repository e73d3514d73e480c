/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A port during a run: whether its link is up, how fast, and whether it is still there. */

#include <stdbool.h>
#include <stdint.h>

struct port;

enum port_change {
	PORT_SAME,
	PORT_UP,
	PORT_DOWN,
	PORT_SPEED, /* another one, while it stayed up */
	PORT_GONE,  /* unplugged, deleted, or moved to another network namespace. For good */
};

/* As it was last looked at. */
struct link_monitor {
	const struct port *port;
	uint32_t interface; /* index of the kernel interface below the driver; 0: none */
	bool up, gone;
	uint32_t speed; /* Mbit/s; 0: not known */
};

void link_monitor_start(struct link_monitor *monitor, const struct port *port);

/* Returns the change since the last call; the last of several. */
enum port_change link_monitor_look(struct link_monitor *monitor);
