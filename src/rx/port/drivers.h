/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Properties of DPDK drivers that their devices do not report, one row per driver. No other file
 * names drivers. Independent of DPDK, so that `sketchtap doctor` can read the rows.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a frame that its MTU does not include: Ethernet header and two VLAN tags */
#define PORT_FRAME_OVERHEAD (14 + 2 * 4)

/* Driver of a --port that is a kernel interface */
#define PORT_DRIVER_OF_INTERFACE "net_af_packet"

enum port_column {
	PORT_RECEIVED, /* received by the queues of this process */
	PORT_MISSED,   /* lost: no room */
	PORT_ERRORS,   /* lost: damaged */
	/* Lost: no buffer. Does not include failed allocations that the driver repeats. */
	PORT_NO_MBUF,
	/* Lost, or counted in another column, or not for this process */
	PORT_DOUBTFUL,
	PORT_COLUMN_COUNT,
};

/* A counter of a driver, and the ledger column to which it adds */
struct counter_mapping {
	const char *counter; /* name of the counter; NULL: end of the list */
	enum port_column column;
	uint8_t bits; /* width of the counter; 0: 64 bits */
	bool derived; /* derived counter (rx/port/device_counter.h) */
};

enum port_queues {
	PORT_QUEUES_FREE,   /* can have only receive queues, or only send queues */
	PORT_QUEUES_PAIRED, /* equal numbers of both */
};

enum port_frames {
	PORT_FRAMES_MTU, /* up to the MTU that DPDK sets */
	/* Limited by the kernel interface. The MTU of DPDK has no effect. */
	PORT_FRAMES_KERNEL,
	PORT_FRAMES_CHAINED, /* any length, always in chained mbufs */
};

/* Source of the fill level of a receive queue */
enum port_fill {
	PORT_FILL_UNKNOWN,
	PORT_FILL_TOLD,
	PORT_FILL_GUESSED, /* estimated from consecutive polls */
};

/* Unit of the timestamps of a device, and when it has them */
enum port_stamps {
	PORT_STAMPS_TICKS, /* ticks of rte_eth_read_clock(), if available */
	PORT_STAMPS_NS,    /* ns of UTC, if offered */
	PORT_STAMPS_US,    /* us of UTC, always */
};

/* DEVARGS of a device that can listen on a socket */
struct port_listener {
	const char *path_key, *role_key, *listens;
	bool by_default;      /* listens by default */
	const char *fallback; /* default path */
	const char *abstract; /* key; its value "no" selects a socket file; NULL: always a file */
};

struct port_driver {
	const char *name; /* name that the device reports; "": row of all other drivers */
	/* Prefixes of virtual device names, also older ones, up to a NULL */
	const char *devices[3];
	/* Kernel drivers of the same cards, up to a NULL; known before EAL starts */
	const char *kernel[3];

	/* --- requirements --- */
	/* Capabilities that it needs, as bits. docs/OPERATIONS.md describes the test of them. */
	uint64_t needs;
	uint64_t needs_to_send; /* further capabilities that it needs to send */
	bool locks_memory;      /* locks frames in memory, up to RLIMIT_MEMLOCK */
	/* Shares all memory with its peer, which accepts at most eight files */
	bool shares_memory;
	/*
	 * True if the kernel driver stays bound to the card. `verbs`: module that the card then
	 * needs; NULL: none.
	 */
	bool beside_kernel;
	const char *verbs;
	bool card_by_interface;               /* the name of a kernel interface selects its card */
	const struct port_listener *listener; /* socket for only one process; NULL: none */

	/* --- kernel interface --- */
	bool on_interface;    /* uses a kernel interface, which reports the link */
	bool makes_interface; /* creates the interface, or shares an existing one */
	bool reads_files;     /* uses an interface only if its DEVARGS name one */
	int sockets;          /* address family of its sockets, one per queue; 0: no sockets */

	/* --- counters (rx/port/loss.h, docs/LOSS.md) --- */
	const struct counter_mapping *feeds;
	bool complete;    /* its counters include every lost packet */
	bool polled;      /* the poll counts received packets in software, not the device */
	bool per_queue;   /* counters include only its first RTE_ETHDEV_QUEUE_STAT_CNTRS queues */
	bool has_peer;    /* if its peer leaves, counters become 0 and packets in rings are lost */
	uint16_t late_ms; /* maximum delay of its counters, ms */
	/*
	 * Meaning of oerrors. true: accepted packets that were not sent. false: packets that were
	 * not accepted.
	 */
	bool gives_up;
	const char *unsaid;           /* warning if not all lost packets are counted; NULL: none */
	const char *counts_otherwise; /* warning if packets count in another way; NULL: none */

	/* --- queues and frames (docs/PORTS.md) --- */
	enum port_queues queues;
	enum port_frames frames;
	enum port_stamps stamps;
	enum port_fill fill;
	/*
	 * spreader: mechanism that distributes packets over queues instead of RSS; NULL: RSS or
	 * none. spreads: its effect. A device that also offers RSS uses RSS, except if
	 * rss_is_for_rules: it then offers RSS only for flow rules.
	 */
	const char *spreader, *spreads;
	bool rss_is_for_rules;
	/*
	 * Closing the device frees memory that the interrupt thread may still read. All other
	 * devices need that thread to close.
	 */
	bool races_interrupts;
	/* Bytes of the longest received frame, without FCS. 0: the MTU limits it. */
	uint32_t largest_frame;
	uint32_t longest_sent; /* bytes of the longest frame that it can send; 0: as received */
	/*
	 * DEVARGS that set the destination of sent packets, up to a NULL. One of them is enough.
	 * None: the device can always send.
	 */
	const char *sends_to[4];
	uint16_t queues_max;      /* maximum queues, if the device reports more; else 0 */
	bool queues_power_of_two; /* needs a power of two of receive queues, at least 1 */
	const char *queues_arg;   /* DEVARG that sets the number of queues; NULL: none */
	/* port_probe() sets queues_arg to the wanted number of queues, up to this one; 0: never. */
	uint16_t queues_arg_each;
	uint16_t descriptors; /* ring size that it needs, whatever is set; 0: any */
	uint16_t mbuf_most;   /* maximum mbuf bytes with headroom; 0: no limit */
};

/* All rows. The first one is for drivers without a row. */
extern const struct port_driver port_drivers[];
extern const size_t port_drivers_nb;

/*
 * Return the row of a driver by its name; of a virtual device by its name, which DEVARGS may
 * follow; of a card by its kernel driver. If there is no such row, return the first one, which does
 * not claim complete loss counters.
 */
const struct port_driver *port_driver_find(const char *name);
const struct port_driver *port_driver_of_device(const char *device);
const struct port_driver *port_driver_of_card(const char *kernel);

/* Returns the usable receive queues of a device that reports `offered`. */
uint16_t port_driver_queues(const struct port_driver *driver, uint16_t offered);

/*
 * Returns the capabilities that a device of the driver needs. on_interface: it uses a kernel
 * interface.
 */
uint64_t port_driver_needs(const struct port_driver *driver, bool on_interface);

/* Returns the name of capability `number`, such as "CAP_NET_RAW"; NULL if no driver needs it. */
const char *port_capability_name(uint32_t number);
