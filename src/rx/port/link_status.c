/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/link_status.h"

#include <stddef.h>
#include <time.h>

#include <rte_ethdev.h>

#include "base/clock.h"
#include "base/signals.h"
#include "rx/port/port.h"
#include "rx/port/interface.h"

#define LOOK_EVERY_NS 20000000

bool port_link_is_up(const struct port *port)
{
	struct port_interface interface;
	struct rte_eth_link link;

	/* drivers on a kernel interface always report a link that is up */
	if (port->interface[0] != '\0' && port_interface_read(port->interface, &interface))
		return interface.running;
	return rte_eth_link_get_nowait(port->id, &link) != 0 || link.link_status == RTE_ETH_LINK_UP;
}

static const struct port *first_down(const struct port *ports, uint32_t nb_ports)
{
	for (uint32_t p = 0; p < nb_ports; p++)
		if (!port_link_is_up(&ports[p]))
			return &ports[p];
	return NULL;
}

enum port_wait port_wait_links(
	const struct port *ports, uint32_t nb_ports, uint64_t ns, const struct port **down)
{
	const struct timespec pause = {.tv_nsec = LOOK_EVERY_NS};
	int64_t start = clock_now(CLOCK_MONOTONIC);

	while ((*down = first_down(ports, nb_ports)) != NULL) {
		if (signals_stop_requested())
			return PORT_WAIT_STOPPED;
		if ((uint64_t)(clock_now(CLOCK_MONOTONIC) - start) >= ns)
			return PORT_WAIT_TIMEOUT;
		nanosleep(&pause, NULL);
	}
	return PORT_WAIT_UP;
}
