/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Properties of DPDK drivers that their devices do not report, one row per driver. Driver names
 * appear only here. Without DPDK, so that the doctor can read the rows too.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ethernet header and two VLAN tags, which an MTU does not include */
#define PORT_FRAME_OVERHEAD (14 + 2 * 4)

/* Driver for kernel interfaces. */
#define PORT_DRIVER_OF_INTERFACE "net_af_packet"

enum port_column {
	PORT_RECEIVED, /* packets in the receive queues of this process */
	PORT_MISSED,   /* lost: no room */
	PORT_ERRORS,   /* lost: damaged */
	PORT_NO_MBUF,  /* lost: no buffer; without allocations that are tried again */
	PORT_DOUBTFUL, /* may be lost, counted elsewhere, or not for this process */
	PORT_COLUMN_COUNT,
};

/* A counter and its ledger column */
struct counter_mapping {
	const char *counter; /* NULL: end of the list of a driver */
	enum port_column column;
	uint8_t bits; /* width of the counter; 0: 64 bits */
	bool derived; /* see rx/port/device_counter.h */
};

enum port_queues {
	PORT_QUEUES_FREE,   /* only receive queues or only send queues are possible */
	PORT_QUEUES_PAIRED, /* equal numbers of both */
};

enum port_frames {
	PORT_FRAMES_MTU, /* at most the MTU that DPDK sets */
	/* limited by the kernel interface; the MTU of DPDK has no effect */
	PORT_FRAMES_KERNEL,
	PORT_FRAMES_CHAINED, /* any length, always in chained mbufs */
};

/* Information about the fill level of a receive queue. */
enum port_fill {
	PORT_FILL_UNKNOWN,
	PORT_FILL_TOLD,
	PORT_FILL_GUESSED, /* not reported: estimated from consecutive polls */
};

/* Kind of device timestamps. */
enum port_stamps {
	PORT_STAMPS_TICKS, /* ticks of rte_eth_read_clock(), if available */
	PORT_STAMPS_NS,    /* ns of UTC, if offered */
	PORT_STAMPS_US,    /* us of UTC, always */
};

/* DEVARGS of the socket of a device, and of its role as a listener */
struct port_listener {
	const char *path_key, *role_key, *listens;
	bool by_default;      /* listens by default */
	const char *fallback; /* default path */
	const char *abstract; /* key with value "no" if the socket is a file; NULL: always a file */
};

struct port_driver {
	const char *name; /* name reported by the device; "": row of all others */
	/* Prefixes of virtual device names, also older ones, up to a NULL */
	const char *devices[3];
	/* Kernel drivers of the same cards, up to a NULL; known before EAL starts */
	const char *kernel[3];

	/* --- requirements --- */
	/* Capabilities, as bits; tested as described in docs/OPERATIONS.md */
	uint64_t needs;
	uint64_t needs_to_send; /* additional capabilities for sending */
	bool locks_memory;      /* pins its frames, within RLIMIT_MEMLOCK */
	bool shares_memory; /* shares all memory with its peer, which accepts up to eight files */
	/* true if the kernel driver remains bound, with module `verbs`; NULL: none */
	bool beside_kernel;
	const char *verbs;
	bool card_by_interface;               /* true if the kernel interface selects the card */
	const struct port_listener *listener; /* NULL: several processes can use the device */

	/* --- kernel interface --- */
	bool on_interface;    /* uses an interface, which reports the link */
	bool makes_interface; /* creates the interface, or shares an existing one */
	bool reads_files;     /* uses an interface only if its DEVARGS name one */
	int sockets;          /* family of its sockets, one per queue; 0: none */

	/* --- counters (rx/port/loss.h, docs/LOSS.md) --- */
	const struct counter_mapping *feeds;
	bool complete;    /* its counters include every lost packet */
	bool polled;      /* counts received packets in software at the poll, not in the device */
	bool per_queue;   /* counters are sums of its first RTE_ETHDEV_QUEUE_STAT_CNTRS queues */
	bool has_peer;    /* its peer may leave: counters are then 0, packets in rings lost */
	uint16_t late_ms; /* ms, maximum delay of its counters */
	/*
	 * true: oerrors counts accepted packets that were not sent. false: packets that were not
	 * accepted.
	 */
	bool gives_up;
	const char *unsaid;           /* message to the user if counts are incomplete */
	const char *counts_otherwise; /* message if its packets differ from those received */

	/* --- queues and frames (docs/PORTS.md) --- */
	enum port_queues queues;
	enum port_frames frames;
	enum port_stamps stamps;
	enum port_fill fill;
	/*
	 * Mechanism that distributes packets over queues instead of RSS, and its effect; NULL: RSS
	 * or none. A device that also offers RSS uses RSS, unless that is only for flow rules.
	 */
	const char *spreader, *spreads;
	bool rss_is_for_rules;
	/*
	 * Its close frees memory that the interrupt thread may still read. Other drivers need that
	 * thread to close.
	 */
	bool races_interrupts;
	/* Bytes without FCS of the longest received frame if no MTU limits it; 0: the MTU does. */
	uint32_t largest_frame;
	uint32_t longest_sent; /* longest frame that it can send; 0: as received */
	/*
	 * DEVARGS of which one sets the destination of sent packets, up to a NULL; none: can always
	 * send
	 */
	const char *sends_to[4];
	uint16_t queues_max;      /* maximum queues, if below that of the device; else 0 */
	bool queues_power_of_two; /* number of receive queues must be a power of two, at least 1 */
	const char *queues_arg;   /* DEVARG with the number of queues; NULL: none */
	uint16_t queues_arg_each; /* maximum value that is set if not given; 0: not set */
	uint16_t descriptors;     /* ring size that it needs, if others have no effect; 0: any */
	uint16_t mbuf_most;       /* maximum mbuf bytes with headroom; 0: no limit */
};

/* All rows. The first one is for drivers without a row. */
extern const struct port_driver port_drivers[];
extern const size_t port_drivers_nb;

/*
 * Returns the row of a driver, of a virtual device by its name (DEVARGS may follow), or of a card
 * by its kernel driver. If there is none, the first row, which does not claim complete loss
 * counters.
 */
const struct port_driver *port_driver_find(const char *name);
const struct port_driver *port_driver_of_device(const char *device);
const struct port_driver *port_driver_of_card(const char *kernel);

/* Returns the usable receive queues of a device that reports `offered`. */
uint16_t port_driver_queues(const struct port_driver *driver, uint16_t offered);

/*
 * Returns the capabilities that a device of the driver needs, with or without a kernel interface.
 */
uint64_t port_driver_needs(const struct port_driver *driver, bool on_interface);

/* Returns the name of needed capability `number`, such as "CAP_NET_RAW"; NULL after the last. */
const char *port_capability_name(uint32_t number);
