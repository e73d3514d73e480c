/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/traits.h"

#include <stddef.h>
#include <string.h>

#include "rx/port/frames.h"

/* IPv4's longest datagram. What passes through memory has no MTU. */
#define LONGEST            (UINT16_MAX + PORT_FRAME_OVERHEAD)
/* What libpcap accepts for a packet of a file: its MAXIMUM_SNAPLEN. */
#define LONGEST_OF_CAPTURE 262144

/* The first row is for every driver that has none. docs/PORTS.md says where each fact is from. */
static const struct port_traits traits[] = {
	{.driver = ""},
	{
		.driver = "net_af_packet",
		.frames = PORT_FRAMES_KERNEL,
		.stamps = PORT_STAMPS_NS, /* offered from 24.11 on: the kernel's */
		.spreader = "the kernel",
		.spreads = "a flow stays on one worker until that worker's queue is full, then its "
			   "packets roll over to another",
		/* Its fan-out group has PACKET_FANOUT_FLAG_DEFRAG, with one queue too. */
		.counts_otherwise = "the kernel puts IPv4 fragments together before they are "
				    "counted: a datagram is one packet, as long as its fragments",
		.queues_arg = "qpairs",
		.queues_arg_each = 16,
	},
	{
		.driver = "net_af_xdp",
		/* Its stats_get() of 22.11 writes behind struct rte_eth_stats from 49 on. */
		.queues_max = 48,
		.queues = PORT_QUEUES_PAIRED,
		.frames = PORT_FRAMES_KERNEL,
		.spreader = "the interface itself",
		.spreads = "its flow hash is set with ethtool -X and -N, and queues that sketchtap "
			   "does not receive stay with the kernel",
		.queues_arg = "queue_count",
	},
	{
		.driver = "net_tap",
		.queues = PORT_QUEUES_PAIRED,
		.frames = PORT_FRAMES_KERNEL,
		.spreader = "the kernel",
		.spreads =
			"a flow stays on one worker, which the kernel's own flow hash chooses: the "
			"directions of a connection may be on two",
		.rss_is_for_rules = true,
		/* Mbufs for one frame, no ring: what waits is in the kernel. 64 KB in all. */
		.descriptors = 32,
	},
	{
		.driver = "net_memif",
		.races_interrupts = true, /* the handle of a listening socket */
		.frames = PORT_FRAMES_CHAINED,
		.largest_frame = LONGEST,
		.spreader = "the peer",
		.spreads = "which worker a packet reaches is the sender's choice",
	},
	{
		.driver = "net_vhost",
		.queues = PORT_QUEUES_PAIRED,
		.frames = PORT_FRAMES_CHAINED,
		.largest_frame = LONGEST,
		.spreader = "the guest",
		.spreads = "which worker a packet reaches is the sender's choice",
		.queues_arg = "queues",
	},
	{
		.driver = "net_e1000_em",
		.kernel = {"e1000", "e1000e"},
		.queues_max = 1, /* it says 2; without RSS nothing gets to the second */
	},
	{
		.driver = "net_vmxnet3",
		.kernel = {"vmxnet3"},
		.queues_power_of_two = true, /* but for version 6 of the device and later */
	},
	{
		.driver = "net_ixgbe_vf",
		.kernel = {"ixgbevf"},
		.queues_power_of_two = true,
	},
	{
		.driver = "net_txgbe_vf",
		.kernel = {"txgbevf"},
		.queues_power_of_two = true,
	},
	{
		.driver = "net_mana",
		.kernel = {"mana"},
		.queues = PORT_QUEUES_PAIRED,
		.queues_power_of_two = true,
	},
	{
		.driver = "net_virtio",
		.spreader = "the host",
		.spreads = "which worker a packet reaches is the choice of its vhost",
	},
	{
		.driver = "net_virtio_user",
		.spreader = "the host",
		.spreads = "which worker a packet reaches is the choice of its vhost",
		.queues_arg = "queues",
	},
	{
		.driver = "net_pcap",
		.frames = PORT_FRAMES_CHAINED,
		.stamps = PORT_STAMPS_US, /* libpcap's; those of a file are of another time */
		.largest_frame = LONGEST_OF_CAPTURE,
		.spreader = "its DEVARGS",
		.spreads = "each rx_pcap or rx_iface is one worker's queue",
	},
	{
		.driver = "net_ring",
		.frames = PORT_FRAMES_CHAINED,
		.largest_frame = LONGEST,
		.spreader = "whoever fills the rings",
		.spreads = "which worker a packet reaches is the sender's choice",
	},
};

uint16_t port_traits_queues(const struct port_traits *of, uint16_t offered)
{
	return of->queues_max > 0 && of->queues_max < offered ? of->queues_max : offered;
}

const struct port_traits *port_traits_find(const char *driver)
{
	for (size_t i = 1; i < sizeof(traits) / sizeof(traits[0]); i++)
		if (strcmp(traits[i].driver, driver) == 0)
			return &traits[i];
	return &traits[0];
}

const struct port_traits *port_traits_of_card(const char *kernel)
{
	for (size_t i = 1; i < sizeof(traits) / sizeof(traits[0]); i++)
		for (const char *const *name = traits[i].kernel; *name != NULL; name++)
			if (strcmp(*name, kernel) == 0)
				return &traits[i];
	return &traits[0];
}
