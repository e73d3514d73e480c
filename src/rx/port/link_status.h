/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The links of ports, before a run begins. */

#include <stdbool.h>
#include <stdint.h>

struct port;

/* Is the port's link up? True where the device cannot tell. */
bool port_link_is_up(const struct port *port);

enum port_wait {
	PORT_WAIT_UP,      /* all of them */
	PORT_WAIT_STOPPED, /* a signal asked to end */
	PORT_WAIT_TIMEOUT,
};

/* Waits up to `ns` until all links are up. *down: a port whose link is down. */
enum port_wait port_wait_links(
	const struct port *ports, uint32_t nb_ports, uint64_t ns, const struct port **down);
