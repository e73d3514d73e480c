/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/run/devices.h"

#include <rte_ethdev.h>

#include "rx/port/rss.h"

void devices_ask(const struct plan *plan, const struct port *ports, struct plan_device *devices)
{
	for (uint32_t p = 0; p < plan->nb_ports; p++) {
		struct rte_eth_dev_info info;
		uint16_t rx = ports[p].driver->descriptors, tx = PORT_SEND_DESCRIPTORS;

		if (rx == 0)
			rx = (uint16_t)plan->ports[p].descriptors;
		devices[p] = (struct plan_device){
			.entries = rx,
			.mbuf_room = port_mbuf_room(&ports[p], plan->mbuf_room),
		};
		devices[p].queues = (struct plan_queues){
			.max = ports[p].driver->queues_max,
			.power_of_two = ports[p].driver->queues_power_of_two,
		};
		if (rte_eth_dev_info_get(ports[p].id, &info) == 0)
			devices[p].queues_max =
				port_rss_queues(ports[p].driver, ports[p].config, &info);
		/* A driver without limits accepts any number. */
		if (rte_eth_dev_adjust_nb_rx_tx_desc(ports[p].id, &rx, &tx) == 0)
			devices[p].entries = rx;
		devices[p].send_entries = tx;
	}
}
