/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/drivers.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/socket.h>

/* Counters of each ledger column, which docs/LOSS.md explains */

#define FEED(to, name, ...)                                                                        \
	{                                                                                          \
		.counter = name, .column = PORT_##to, __VA_ARGS__                                  \
	}

static const struct counter_mapping feeds_basic[] = {
	FEED(RECEIVED, "ipackets"),
	FEED(MISSED, "imissed"),
	FEED(ERRORS, "ierrors"),
	{.counter = NULL},
};
/* Sums of 32-bit registers. The driver subtracts their start values, but does not extend them. */
static const struct counter_mapping feeds_intel_32[] = {
	FEED(RECEIVED, "ipackets", .bits = 32, .derived = true),
	FEED(MISSED, "imissed", .bits = 32),
	FEED(ERRORS, "ierrors", .bits = 32),
	{.counter = NULL},
};
static const struct counter_mapping feeds_iavf[] = {
	FEED(RECEIVED, "ipackets", .bits = 32, .derived = true),
	FEED(MISSED, "imissed", .bits = 32),
	{.counter = NULL},
};
/* imissed does not include packets that the physical port discards. */
static const struct counter_mapping feeds_mlx5[] = {
	FEED(RECEIVED, "ipackets"),
	FEED(MISSED, "imissed"),
	FEED(MISSED, "rx_phy_discard_packets"),
	FEED(ERRORS, "ierrors"),
	FEED(ERRORS, "rx_phy_crc_errors"),
	FEED(ERRORS, "rx_phy_in_range_len_errors"),
	FEED(ERRORS, "rx_phy_symbol_errors"),
	{.counter = NULL},
};
/* On some cards, ierrors includes xec: delivered packets with bad checksums. */
static const struct counter_mapping feeds_ixgbe[] = {
	FEED(RECEIVED, "ipackets"),
	FEED(MISSED, "imissed"),
	FEED(ERRORS, "rx_crc_errors"),
	FEED(ERRORS, "rx_mac_short_packet_dropped"),
	FEED(ERRORS, "rx_length_errors"),
	FEED(ERRORS, "rx_undersize_errors"),
	FEED(ERRORS, "rx_oversize_errors"),
	FEED(ERRORS, "rx_illegal_byte_errors"),
	FEED(ERRORS, "rx_fragment_errors"),
	{.counter = NULL},
};
/* ierrors counts delivered packets with bad checksums, so it is not in this table. */
static const struct counter_mapping feeds_ena[] = {
	FEED(RECEIVED, "ipackets"),
	FEED(MISSED, "imissed"),
	{.counter = NULL},
};
static const struct counter_mapping feeds_virtio[] = {
	FEED(RECEIVED, "ipackets"),
	FEED(ERRORS, "ierrors"),
	{.counter = NULL},
};
/* rx_dropped also counts frames that a packet socket received, so it is not in this table. */
static const struct counter_mapping feeds_af_packet[] = {
	FEED(RECEIVED, "PACKET_STATISTICS.received"),
	FEED(MISSED, "PACKET_STATISTICS.lost"),
	FEED(MISSED, "kernel.rx_missed_errors"),
	FEED(ERRORS, "kernel.rx_errors"),
	{.counter = NULL},
};
/* imissed does not have all counters of XDP_STATISTICS. */
static const struct counter_mapping feeds_af_xdp[] = {
	FEED(RECEIVED, "ipackets"),
	FEED(MISSED, "XDP_STATISTICS"),
	FEED(MISSED, "kernel.rx_missed_errors"),
	FEED(ERRORS, "kernel.rx_errors"),
	{.counter = NULL},
};
/* The port receives what the kernel sends on the interface, so tx_dropped counts lost packets. */
static const struct counter_mapping feeds_tap[] = {
	FEED(RECEIVED, "ipackets"),
	FEED(MISSED, "kernel.tx_dropped"),
	FEED(ERRORS, "ierrors"),
	FEED(NO_MBUF, "rx_nombuf"),
	{.counter = NULL},
};
/* If no mbuf is free, a packet that libpcap returned is lost. */
static const struct counter_mapping feeds_pcap[] = {
	FEED(RECEIVED, "ipackets"),
	FEED(MISSED, "imissed"),
	FEED(ERRORS, "ierrors"),
	FEED(NO_MBUF, "rx_nombuf"),
	{.counter = NULL},
};
/* A ring in memory loses no packets. */
static const struct counter_mapping feeds_rings[] = {
	FEED(RECEIVED, "ipackets"),
	{.counter = NULL},
};

#define HOST_DROPS "its driver does not report drops of the host: some lost packets are not counted"
#define PORT_DROPS                                                                                 \
	"a virtual function does not report drops of the physical port: some lost packets "        \
	"are not counted"

/* docs/PORTS.md has the source of each property of a driver. */

#define UNKNOWN                                                                                    \
	.feeds = feeds_basic,                                                                      \
	.unsaid = "unknown driver: imissed and ierrors count as lost packets, and more may "       \
		  "be lost"

#define CAP(name) (UINT64_C(1) << (name))

/* Devices in memory have no MTU, so this is the longest IPv4 datagram. */
#define LONGEST            (UINT16_MAX + PORT_FRAME_OVERHEAD)
#define LONGEST_OF_CAPTURE 262144
/* RTE_ETH_PCAP_SNAPLEN of net_pcap */
#define LONGEST_TO_CAPTURE 16128

#define MLX5                                                                                       \
	.kernel = {"mlx5_core"}, .needs = CAP(CAP_NET_RAW), .beside_kernel = true,                 \
	.verbs = "mlx5_ib", .card_by_interface = true, .feeds = feeds_mlx5, .polled = true,        \
	.complete = true, .fill = PORT_FILL_TOLD

#define COUNTED_CARD(driver, module, counters)                                                     \
	.name = driver, .kernel = {module}, .feeds = counters, .complete = true,                   \
	.fill = PORT_FILL_TOLD

/* The driver counts packets in software, but only in its first queues. */
#define SOFTWARE_DEVICE(counters)                                                                  \
	.feeds = counters, .polled = true, .complete = true, .per_queue = true

#define VIRTIO                                                                                     \
	.feeds = feeds_virtio, .polled = true, .unsaid = HOST_DROPS, .spreader = "the host",       \
	.spreads = "its vhost selects the worker of a packet", .fill = PORT_FILL_GUESSED

static const struct port_listener memif_listener = {
	"socket", "role", "server", false, "/run/memif.sock", "socket-abstract"};
static const struct port_listener vhost_listener = {"iface", "client", "0", true, NULL, NULL};
static const struct port_listener virtio_user_listener = {"path", "server", "1", false, NULL, NULL};

const struct port_driver port_drivers[] = {
	{.name = "", UNKNOWN},
	{.name = "mlx5_pci", MLX5},
	{.name = "mlx5_auxiliary", MLX5},
	{
		/*
		 * Both ports of a card have the same PCI address, so an interface does not select a
		 * port.
		 */
		.name = "net_mlx4",
		.kernel = {"mlx4_core"},
		.needs = CAP(CAP_NET_RAW),
		.beside_kernel = true,
		.verbs = "mlx4_ib",
		UNKNOWN,
	},
	{
		.name = "net_mana",
		.kernel = {"mana"},
		.needs = CAP(CAP_NET_RAW),
		.beside_kernel = true,
		.queues = PORT_QUEUES_PAIRED,
		.queues_power_of_two = true,
		UNKNOWN,
	},
	{COUNTED_CARD("net_ice", "ice", feeds_intel_32)},
	{COUNTED_CARD("net_i40e", "i40e", feeds_intel_32)},
	{
		.name = "net_iavf",
		.kernel = {"iavf"},
		.feeds = feeds_iavf,
		.unsaid = PORT_DROPS,
		.fill = PORT_FILL_TOLD,
	},
	{COUNTED_CARD("net_ixgbe", "ixgbe", feeds_ixgbe)},
	{
		.name = "net_ixgbe_vf",
		.kernel = {"ixgbevf"},
		.feeds = feeds_rings,
		.unsaid = PORT_DROPS,
		.queues_power_of_two = true,
		.fill = PORT_FILL_TOLD,
	},
	{
		.name = "net_txgbe_vf",
		.kernel = {"txgbevf"},
		.queues_power_of_two = true,
		UNKNOWN,
	},
	{
		.name = "net_e1000_em",
		.kernel = {"e1000", "e1000e"},
		.feeds = feeds_basic,
		.complete = true,
		/* The device reports 2 queues. Without RSS, the second one receives nothing. */
		.queues_max = 1,
		.fill = PORT_FILL_TOLD,
	},
	{COUNTED_CARD("net_e1000_igb", "igb", feeds_basic)},
	{
		.name = "net_e1000_igb_vf",
		.kernel = {"igbvf"},
		.feeds = feeds_rings,
		.unsaid = PORT_DROPS,
		.fill = PORT_FILL_GUESSED,
	},
	{COUNTED_CARD("net_igc", "igc", feeds_basic)},
	{COUNTED_CARD("net_bnxt", "bnxt_en", feeds_basic), .per_queue = true},
	{
		.name = "net_cxgbe",
		.kernel = {"cxgb4"},
		.feeds = feeds_basic,
		.polled = true,
		.complete = true,
		.fill = PORT_FILL_GUESSED,
	},
	{
		.name = "net_ena",
		.kernel = {"ena"},
		.feeds = feeds_ena,
		.late_ms = 1200, /* the device updates imissed once a second */
		.unsaid = "allowances of the cloud network drop packets, and the device does not "
			  "count them as lost",
		.fill = PORT_FILL_GUESSED,
	},
	{
		.name = "net_vmxnet3",
		.kernel = {"vmxnet3"},
		.feeds = feeds_basic,
		.unsaid = HOST_DROPS,
		.queues_power_of_two = true, /* device versions before 6 need it */
		.fill = PORT_FILL_GUESSED,
	},
	{.name = "net_virtio", VIRTIO},
	{
		.name = "net_virtio_user",
		.devices = {"net_virtio_user", "virtio_user"},
		.listener = &virtio_user_listener,
		.shares_memory = true,
		.queues_arg = "queues",
		VIRTIO,
	},
	{
		.name = PORT_DRIVER_OF_INTERFACE,
		.devices = {"net_af_packet", "eth_af_packet"},
		.needs = CAP(CAP_NET_RAW),
		.needs_to_send = CAP(
			CAP_NET_ADMIN), /* the start of the device sets flags of the interface */
		.on_interface = true,
		.sockets = AF_PACKET,
		SOFTWARE_DEVICE(feeds_af_packet),
		.gives_up = true,
		.frames = PORT_FRAMES_KERNEL,
		.stamps = PORT_STAMPS_NS,
		.spreader = "the kernel",
		.spreads = "both directions of a flow stay on one worker",
		.queues_arg = "qpairs",
		.queues_arg_each = 16,
		.fill = PORT_FILL_GUESSED,
	},
	{
		.name = "net_af_xdp",
		.devices = {"net_af_xdp"},
		.needs = CAP(CAP_NET_RAW) | CAP(CAP_NET_ADMIN) | CAP(CAP_SYS_ADMIN),
		.locks_memory = true,
		.on_interface = true,
		.sockets = AF_XDP,
		.feeds = feeds_af_xdp,
		.polled = true,
		.complete = true,
		/* With more queues, stats_get() of 22.11 writes beyond struct rte_eth_stats. */
		.queues_max = 48,
		.queues = PORT_QUEUES_PAIRED,
		.frames = PORT_FRAMES_KERNEL,
		.spreader = "the interface itself",
		.spreads = "set its flow hash with ethtool -X and -N; the kernel receives the "
			   "queues that sketchtap does not use",
		.queues_arg = "queue_count",
		/* The driver lends this number of mbufs to the kernel. */
		.descriptors = 2048,
		/* An mbuf with its struct must fit in a page. */
		.mbuf_most = 4096 - 256,
		.fill = PORT_FILL_GUESSED,
	},
	{
		.name = "net_tap",
		.devices = {"net_tap", "eth_tap"},
		.needs = CAP(CAP_NET_ADMIN),
		.on_interface = true,
		.makes_interface = true,
		SOFTWARE_DEVICE(feeds_tap),
		.queues = PORT_QUEUES_PAIRED,
		.frames = PORT_FRAMES_KERNEL,
		.spreader = "the kernel",
		.spreads = "a hash of the flow selects the worker: the two directions of a "
			   "connection may reach different workers",
		.rss_is_for_rules = true,
		/* Packets wait in the kernel, not in a ring. 32 mbufs hold one frame of 64 KB. */
		.descriptors = 32,
		.fill = PORT_FILL_GUESSED,
	},
	{
		.name = "net_tun",
		.devices = {"net_tun"},
		.needs = CAP(CAP_NET_ADMIN),
		.on_interface = true,
		.makes_interface = true,
		SOFTWARE_DEVICE(feeds_tap),
		.counts_otherwise =
			"its packets have no Ethernet header and count as non_ip; use net_tap",
		.fill = PORT_FILL_GUESSED,
	},
	{
		.name = "net_memif",
		.devices = {"net_memif"},
		.listener = &memif_listener,
		SOFTWARE_DEVICE(feeds_rings),
		.has_peer = true,
		.races_interrupts =
			true, /* the driver closes the interrupt handle of a listening socket */
		/* With queues in only one direction, a peer would receive its own packets. */
		.queues = PORT_QUEUES_PAIRED,
		.frames = PORT_FRAMES_CHAINED,
		.largest_frame = LONGEST,
		.spreader = "the peer",
		.spreads = "the sender selects the worker of a packet",
		.fill = PORT_FILL_GUESSED,
	},
	{
		.name = "net_vhost",
		.devices = {"net_vhost", "eth_vhost"},
		.listener = &vhost_listener,
		SOFTWARE_DEVICE(feeds_rings),
		.has_peer = true,
		.queues = PORT_QUEUES_PAIRED,
		.frames = PORT_FRAMES_CHAINED,
		.largest_frame = LONGEST,
		.spreader = "the guest",
		.spreads = "the sender selects the worker of a packet",
		.queues_arg = "queues",
		.fill = PORT_FILL_TOLD,
	},
	{
		.name = "net_pcap",
		.devices = {"net_pcap", "eth_pcap"},
		.needs = CAP(CAP_NET_RAW),
		.reads_files = true,
		SOFTWARE_DEVICE(feeds_pcap),
		.gives_up = true,
		.frames = PORT_FRAMES_CHAINED,
		.stamps = PORT_STAMPS_US,
		.largest_frame = LONGEST_OF_CAPTURE,
		.longest_sent = LONGEST_TO_CAPTURE,
		.sends_to = {"tx_pcap", "tx_iface", "iface"},
		.spreader = "its DEVARGS",
		.spreads = "each rx_pcap= or rx_iface= is the queue of one worker",
		.fill = PORT_FILL_GUESSED,
	},
	{
		.name = "net_null",
		.devices = {"net_null", "eth_null"},
		SOFTWARE_DEVICE(feeds_rings),
		.fill = PORT_FILL_GUESSED,
	},
	{
		.name = "net_ring",
		.devices = {"net_ring", "eth_ring"},
		SOFTWARE_DEVICE(feeds_rings),
		.frames = PORT_FRAMES_CHAINED,
		.largest_frame = LONGEST,
		.spreader = "the producer of the rings",
		.spreads = "the sender selects the worker of a packet",
		.fill = PORT_FILL_GUESSED,
	},
	{.name = "net_bonding", .devices = {"net_bonding", "eth_bond"}, UNKNOWN},
};

const size_t port_drivers_nb = sizeof(port_drivers) / sizeof(port_drivers[0]);

const struct port_driver *port_driver_find(const char *name)
{
	for (size_t i = 1; i < port_drivers_nb; i++)
		if (strcmp(port_drivers[i].name, name) == 0)
			return &port_drivers[i];
	return &port_drivers[0];
}

const struct port_driver *port_driver_of_device(const char *device)
{
	for (size_t i = 1; i < port_drivers_nb; i++)
		for (const char *const *name = port_drivers[i].devices; *name != NULL; name++)
			if (strncmp(device, *name, strlen(*name)) == 0)
				return &port_drivers[i];
	return &port_drivers[0];
}

const struct port_driver *port_driver_of_card(const char *kernel)
{
	for (size_t i = 1; i < port_drivers_nb; i++)
		for (const char *const *name = port_drivers[i].kernel; *name != NULL; name++)
			if (strcmp(*name, kernel) == 0)
				return &port_drivers[i];
	return &port_drivers[0];
}

uint16_t port_driver_queues(const struct port_driver *driver, uint16_t offered)
{
	return driver->queues_max > 0 && driver->queues_max < offered ? driver->queues_max
								      : offered;
}

uint64_t port_driver_needs(const struct port_driver *driver, bool on_interface)
{
	return driver->reads_files && !on_interface ? 0 : driver->needs;
}

const char *port_capability_name(uint32_t number)
{
	switch (number) {
	case CAP_NET_RAW: return "CAP_NET_RAW";
	case CAP_NET_ADMIN: return "CAP_NET_ADMIN";
	case CAP_SYS_RAWIO: return "CAP_SYS_RAWIO";
	case CAP_SYS_ADMIN: return "CAP_SYS_ADMIN";
	default: return NULL;
	}
}
