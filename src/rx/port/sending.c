/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/sending.h"

#include <sys/socket.h>

#include <rte_ethdev.h>
#include <rte_ether.h>

#include "rx/port/interface.h"

static void set_longest(struct port_send *send, uint32_t longest, uint32_t tagged)
{
	atomic_store_explicit(&send->longest, longest, memory_order_relaxed);
	atomic_store_explicit(&send->longest_tagged, tagged, memory_order_relaxed);
}

/* If a frame has two VLAN tags, the kernel counts the second one in the MTU. */
static void obey_interface(struct port *port, uint32_t mtu)
{
	uint32_t longest = mtu + RTE_ETHER_HDR_LEN;

	set_longest(&port->send, longest, longest + RTE_VLAN_HLEN);
}

/* Senders on this machine leave checksums and segmentation to a device. */
static void warn_offloads(struct port *port)
{
	struct port_interface interface;
	char options[PORT_JOINING_MAX];

	if (port->interface[0] == '\0' || !port->driver->on_interface ||
		!port_interface_read(port->interface, &interface))
		return;
	port_interface_joining(&interface, options);
	if (options[0] != '\0')
		port_warn(&port->messages,
			"--forward: %s joins packets: they are sent joined, or dropped if too "
			"long; prevent it: ethtool -K %s%s",
			port->name, port->interface, options);
	if (interface.bus[0] == '\0')
		port_warn(&port->messages,
			"--forward: %s is a virtual interface: if a sender relies on offloads, its "
			"packets are forwarded without checksums, or joined; on the sender: "
			"ethtool -K INTERFACE tx off tso off gso off",
			port->name);
}

void port_sending_sockets(
	const struct port *port, uint32_t interface, struct kernel_sockets *sockets)
{
	struct kernel_sockets receiving = {.family = AF_PACKET};
	const struct kernel_sockets *const others[] = {&receiving};

	if (port->sockets != NULL)
		receiving.nb = socket_queues_fds(port->sockets, receiving.fds);
	kernel_sockets_find(
		sockets, port->driver->sockets, interface, KERNEL_SOCKETS_MAX, others, 1);
}

void port_sending_start(struct port *port)
{
	struct rte_eth_dev_info info = {0};
	const struct port_driver *driver = port->driver;
	struct port_send *send = &port->send;
	uint32_t longest = driver->longest_sent > 0 ? driver->longest_sent : port->largest_frame;

	if (rte_eth_dev_info_get(port_sender(port), &info) != 0)
		info = (struct rte_eth_dev_info){0};
	send->chains = (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0 ||
		       driver->frames == PORT_FRAMES_CHAINED;
	if (port->interface_mtu > 0 && driver->on_interface && !driver->makes_interface)
		obey_interface(port, port->interface_mtu);
	else
		set_longest(send, longest, longest);
	if (!port->sends)
		port_warn(&port->messages,
			"--forward: %s has no destination: forwarded packets are dropped; set it "
			"in DEVARGS (%s=...)",
			port->name, driver->sends_to[0]);
	warn_offloads(port);
	if (driver->sockets == AF_PACKET)
		port_sending_sockets(port, port->interface_index, &port->send.sockets);
}

void port_sending_look(struct port *port)
{
	struct port_interface interface;

	if (port->interface_mtu == 0 || !port->driver->on_interface ||
		port->driver->makes_interface || !port_interface_read(port->interface, &interface))
		return;
	port->interface_mtu = interface.mtu;
	obey_interface(port, interface.mtu);
}

static bool read_device(const struct port *port, uint64_t *sent, uint64_t *unsent)
{
	struct rte_eth_stats stats;

	if (rte_eth_stats_get(port_sender(port), &stats) != 0)
		return false;
	*sent = stats.opackets;
	*unsent = port->driver->gives_up || !port->driver->polled ? stats.oerrors : 0;
	return true;
}

void port_sent_start(struct port_sent *sent, const struct port *port)
{
	*sent = (struct port_sent){.port = port};
	sent->begun = read_device(port, &sent->sent_read, &sent->unsent_read);
}

void port_sent_read(struct port_sent *sent)
{
	uint64_t now, unsent;

	if (!sent->begun || !read_device(sent->port, &now, &unsent)) {
		sent->gap = true;
		return;
	}
	/* The counters were reset, because the peer left. */
	if (now < sent->sent_read || unsent < sent->unsent_read) {
		sent->gap = true;
		sent->sent_read = sent->unsent_read = 0;
	}
	sent->sent += now - sent->sent_read;
	sent->unsent += unsent - sent->unsent_read;
	sent->sent_read = now;
	sent->unsent_read = unsent;
}

bool port_sent_is_exact(const struct port_sent *sent)
{
	const struct port_driver *driver = sent->port->driver;

	return !sent->gap && driver->polled && !(driver->has_peer && sent->sent_read == 0) &&
	       (!driver->per_queue || sent->port->send_queues <= RTE_ETHDEV_QUEUE_STAT_CNTRS);
}
