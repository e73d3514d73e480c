/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port;

enum port_change {
	PORT_SAME,
	PORT_UP,
	PORT_DOWN,
	PORT_SPEED,
	PORT_GONE, /* unplugged, deleted, or moved to another network namespace; permanent */
};

struct link_monitor {
	const struct port *port;
	uint32_t interface; /* index of the kernel interface below the driver; 0: none */
	bool up, gone;
	uint32_t speed; /* Mbit/s; 0: unknown */
};

void link_monitor_start(struct link_monitor *monitor, const struct port *port);

/* Returns the change since the last call; the latest one if there were several. */
enum port_change link_monitor_look(struct link_monitor *monitor);

/* True if the status of the link is unknown */
bool port_link_is_up(const struct port *port);

enum port_wait {
	PORT_WAIT_UP,
	PORT_WAIT_STOPPED,
	PORT_WAIT_TIMEOUT,
};

/* On a timeout, *down is a port whose link is down. `ns` is the maximum wait. */
enum port_wait port_wait_links(
	const struct port *ports, uint32_t nb_ports, uint64_t ns, const struct port **down);
