/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/link_monitor.h"

#include <stddef.h>
#include <time.h>

#include <rte_ethdev.h>

#include "base/clock.h"
#include "base/signals.h"
#include "rx/port/interface.h"
#include "rx/port/kernel_interface.h"
#include "rx/port/port.h"

#define LOOK_EVERY_NS 20000000

/* Drivers on a kernel interface always report a link that is up, so the kernel is asked. */
static bool look_at_interface(const struct link_monitor *monitor, struct link_monitor *now)
{
	struct kernel_interface interface;

	switch (kernel_interface_read(monitor->interface, &interface)) {
	case KERNEL_THERE: now->up = interface.up; return true;
	case KERNEL_GONE: return false;
	case KERNEL_UNSAID: break;
	}
	return true;
}

static bool look_at_device(const struct link_monitor *monitor, struct link_monitor *now)
{
	struct rte_eth_link link;

	if (!port_is_plugged(monitor->port))
		return false;
	if (rte_eth_link_get_nowait(monitor->port->id, &link) != 0)
		return true;
	now->up = link.link_status == RTE_ETH_LINK_UP;
	if (now->up && link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
		now->speed = link.link_speed;
	return true;
}

static bool read_link(const struct link_monitor *monitor, struct link_monitor *now)
{
	*now = *monitor;
	return monitor->interface != 0 ? look_at_interface(monitor, now)
				       : look_at_device(monitor, now);
}

void link_monitor_start(struct link_monitor *monitor, const struct port *port)
{
	struct link_monitor now;

	*monitor = (struct link_monitor){.port = port, .up = true};
	if (port->driver->on_interface)
		monitor->interface = port_interface_index(port);
	if (read_link(monitor, &now))
		*monitor = now;
}

enum port_change link_monitor_look(struct link_monitor *monitor)
{
	struct link_monitor before = *monitor;

	if (monitor->gone)
		return PORT_SAME;
	if (!read_link(&before, monitor)) {
		monitor->gone = true;
		monitor->up = false;
		return PORT_GONE;
	}
	if (monitor->up != before.up)
		return monitor->up ? PORT_UP : PORT_DOWN;
	return monitor->up && monitor->speed != before.speed ? PORT_SPEED : PORT_SAME;
}

bool port_link_is_up(const struct port *port)
{
	struct port_interface interface;
	struct rte_eth_link link;

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
