/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Properties of DPDK drivers that their devices do not report. `sketchtap doctor` reads them
 * without DPDK.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a frame that its MTU does not include: Ethernet header and two VLAN tags */
#define PORT_FRAME_OVERHEAD (14 + 2 * 4)

#define PORT_DRIVER_OF_INTERFACE "net_af_packet"

enum port_column {
	PORT_RECEIVED, /* packets in the queues of this process */
	PORT_MISSED,   /* lost, because there was no room */
	PORT_ERRORS,   /* lost, because damaged */
	/* Lost, because no mbuf was free. Excludes failed allocations that the driver repeats. */
	PORT_NO_MBUF,
	/* Not certainly lost: it may count in another column, or not be for this process */
	PORT_DOUBTFUL,
	PORT_COLUMN_COUNT,
};

struct counter_mapping {
	const char *counter; /* NULL: end of the list */
	enum port_column column;
	uint8_t bits; /* width of the register; 0: 64 bits */
	bool derived; /* derived counter (rx/port/device_counter.h) */
};

enum port_queues {
	PORT_QUEUES_FREE,   /* can have only receive queues, or only send queues */
	PORT_QUEUES_PAIRED, /* equal numbers of receive and send queues */
};

enum port_frames {
	PORT_FRAMES_MTU, /* up to the MTU that DPDK sets */
	/* Limited by the kernel interface. The MTU of DPDK has no effect. */
	PORT_FRAMES_KERNEL,
	PORT_FRAMES_CHAINED, /* any length, always in chained mbufs */
};

enum port_fill {
	PORT_FILL_UNKNOWN,
	PORT_FILL_TOLD,
	PORT_FILL_GUESSED, /* estimated from consecutive polls */
};

enum port_stamps {
	PORT_STAMPS_TICKS, /* ticks of rte_eth_read_clock(), if available */
	PORT_STAMPS_NS,    /* ns of UTC, if offered */
	PORT_STAMPS_US,
};

struct port_listener {
	const char *path_key, *role_key, *listens;
	bool by_default;
	const char *fallback;
	/* DEVARG whose value "no" selects a socket file; NULL: always a file */
	const char *abstract;
};

struct port_driver {
	const char *name; /* "": row for drivers without a row */
	/* Prefixes of virtual device names, ended by NULL */
	const char *devices[3];
	/* Kernel drivers of the same cards, ended by NULL */
	const char *kernel[3];

	/* Capabilities as bits. docs/OPERATIONS.md describes how they were tested. */
	uint64_t needs;
	uint64_t needs_to_send; /* additional capabilities for sending */
	bool locks_memory;      /* locks frames in memory, up to RLIMIT_MEMLOCK */
	/* Shares all memory with its peer, which accepts at most eight files */
	bool shares_memory;
	/* The kernel driver stays bound to the card. DPDK then needs the kernel module `verbs`. */
	bool beside_kernel;
	const char *verbs;
	bool card_by_interface;               /* the name of a kernel interface selects its card */
	const struct port_listener *listener; /* socket that only one process can use; NULL: none */

	bool on_interface;    /* uses a kernel interface, which reports the link */
	bool makes_interface; /* creates the interface if it does not exist */
	bool reads_files;     /* uses an interface only if its DEVARGS name one */
	int sockets;          /* address family of its sockets, one per queue; 0: none */

	const struct counter_mapping *feeds;
	bool complete; /* counters include every lost packet */
	bool polled;
	bool per_queue;   /* counters include only its first RTE_ETHDEV_QUEUE_STAT_CNTRS queues */
	bool has_peer;    /* if its peer leaves, counters become 0 and packets in rings are lost */
	uint16_t late_ms; /* in ms: maximum delay of counters */
	/* oerrors counts accepted packets that were not sent, not packets that were not accepted */
	bool gives_up;
	const char *unsaid;           /* warning if lost packets are not counted; NULL: none */
	const char *counts_otherwise; /* warning if counters have another meaning; NULL: none */

	enum port_queues queues;
	enum port_frames frames;
	enum port_stamps stamps;
	enum port_fill fill;
	/*
	 * `spreader` distributes packets over queues, with the effect `spreads`, if the device has
	 * no RSS or rss_is_for_rules is set. NULL: only RSS can distribute them.
	 */
	const char *spreader, *spreads;
	bool rss_is_for_rules;
	/*
	 * If the device is closed, EAL's interrupt thread may read freed memory. Closing the other
	 * devices needs that thread.
	 */
	bool races_interrupts;
	/* Bytes of the longest received frame, without FCS; 0: the MTU limits it */
	uint32_t largest_frame;
	uint32_t longest_sent; /* bytes of the longest sent frame, without FCS; 0: largest_frame */
	/* To send, a device needs one of these DEVARGS. NULL first: it can always send. */
	const char *sends_to[4];
	uint16_t queues_max;      /* usable queues if the device reports more; else 0 */
	bool queues_power_of_two; /* number of receive queues, not 0 */
	const char *queues_arg;   /* DEVARG that sets the number of queues; NULL: none */
	/* port_probe() sets queues_arg to at most this number; 0: never */
	uint16_t queues_arg_each;
	uint16_t descriptors; /* required ring size; 0: any */
	uint16_t mbuf_most;   /* maximum mbuf bytes with headroom; 0: no limit */
};

/* The first row is for drivers without a row. */
extern const struct port_driver port_drivers[];
extern const size_t port_drivers_nb;

/*
 * Search by driver name, by virtual device name (DEVARGS may follow), and by the card's kernel
 * driver. Without a match, they return the first row, which does not claim complete counters.
 */
const struct port_driver *port_driver_find(const char *name);
const struct port_driver *port_driver_of_device(const char *device);
const struct port_driver *port_driver_of_card(const char *kernel);

/* The device reports `offered` receive queues. */
uint16_t port_driver_queues(const struct port_driver *driver, uint16_t offered);

/* Returns capabilities as bits. `on_interface`: the device uses a kernel interface. */
uint64_t port_driver_needs(const struct port_driver *driver, bool on_interface);

/* Returns a name such as "CAP_NET_RAW"; NULL if no driver needs the capability. */
const char *port_capability_name(uint32_t number);
