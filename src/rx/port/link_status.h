/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Link status of ports before a run */

#include <stdbool.h>
#include <stdint.h>

struct port;

/* Returns true if the link of the port is up, or its status unknown. */
bool port_link_is_up(const struct port *port);

enum port_wait {
	PORT_WAIT_UP,      /* all links are up */
	PORT_WAIT_STOPPED, /* a signal requested the end of the run */
	PORT_WAIT_TIMEOUT,
};

/* Waits up to `ns` for all links. On a timeout, *down is a port whose link is down. */
enum port_wait port_wait_links(
	const struct port *ports, uint32_t nb_ports, uint64_t ns, const struct port **down);
