/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/link_monitor.h"

#include <rte_ethdev.h>

#include "rx/port/kernel_interface.h"
#include "rx/port/port.h"

/* Drivers over an interface call their link up whatever the interface's is: the kernel is asked. */
static bool look_at_interface(const struct link_monitor *watch, struct link_monitor *now)
{
	struct kernel_interface interface;

	switch (kernel_interface_read(watch->interface, &interface)) {
	case KERNEL_THERE: now->up = interface.up; return true;
	case KERNEL_GONE: return false;
	case KERNEL_UNSAID: break; /* as it was */
	}
	return true;
}

static bool look_at_device(const struct link_monitor *watch, struct link_monitor *now)
{
	struct rte_eth_link link;

	if (!port_is_plugged(watch->port))
		return false;
	if (rte_eth_link_get_nowait(watch->port->id, &link) != 0)
		return true;
	now->up = link.link_status == RTE_ETH_LINK_UP;
	if (now->up && link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
		now->speed = link.link_speed;
	return true;
}

static bool read_link(const struct link_monitor *watch, struct link_monitor *now)
{
	*now = *watch;
	return watch->interface != 0 ? look_at_interface(watch, now) : look_at_device(watch, now);
}

void link_monitor_start(struct link_monitor *watch, const struct port *port)
{
	struct link_monitor now;

	*watch = (struct link_monitor){.port = port, .up = true};
	if (port->driver->on_interface)
		watch->interface = port_interface_index(port);
	if (read_link(watch, &now))
		*watch = now;
}

enum port_change link_monitor_look(struct link_monitor *watch)
{
	struct link_monitor before = *watch;

	if (watch->gone)
		return PORT_SAME;
	if (!read_link(&before, watch)) {
		watch->gone = true;
		watch->up = false;
		return PORT_GONE;
	}
	if (watch->up != before.up)
		return watch->up ? PORT_UP : PORT_DOWN;
	return watch->up && watch->speed != before.speed ? PORT_SPEED : PORT_SAME;
}
