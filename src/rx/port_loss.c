/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port_loss.h"

#include <string.h>

#include <rte_ethdev.h>

#include "rx/port.h"

/* The first row is for every driver that has none. */
static const struct port_driver drivers[] = {
	{.name = "", .counts_losses = true},
	/* The kernel drops before the driver sees anything, and the driver does not ask. */
	{.name = "net_af_packet"},
	{.name = "net_tap"},
};

const struct port_driver *port_driver_find(const char *name)
{
	for (size_t i = 1; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (strcmp(drivers[i].name, name) == 0)
			return &drivers[i];
	return &drivers[0];
}

bool port_losses(const struct port *port, struct port_losses *losses)
{
	struct rte_eth_stats stats;

	if (rte_eth_stats_get(port->id, &stats) != 0)
		return false;
	*losses = (struct port_losses){
		.received = stats.ipackets,
		/* Drivers that count by queue add up so many queues and no more. */
		.received_known = port->nb_queues <= RTE_ETHDEV_QUEUE_STAT_CNTRS,
		.missed = stats.imissed,
		.errors = stats.ierrors,
		.no_mbuf = port->driver->no_mbuf_is_loss ? stats.rx_nombuf : 0,
	};
	return true;
}
