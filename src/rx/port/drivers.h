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
	PORT_MISSED,   /* lost: no room */
	PORT_ERRORS,   /* lost: damaged */
	/* Lost: no mbuf. Does not include failed allocations that the driver repeats. */
	PORT_NO_MBUF,
	/* Lost, or counted in another column, or not for this process */
	PORT_DOUBTFUL,
	PORT_COLUMN_COUNT,
};

struct counter_mapping {
	const char *counter; /* NULL: end of the list */
	enum port_column column;
	uint8_t bits; /* width of the counter; 0: 64 bits */
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
	const char
		*abstract; /* DEVARG whose value "no" selects a socket file; NULL: always a file */
};

struct port_driver {
	const char *name; /* "": row of all other drivers */
	/* Prefixes of virtual device names, up to a NULL */
	const char *devices[3];
	/* Kernel drivers of the same cards, up to a NULL */
	const char *kernel[3];

	/* Bits of capabilities. docs/OPERATIONS.md describes how they were tested. */
	uint64_t needs;
	uint64_t needs_to_send; /* additional bits for sending */
	bool locks_memory;      /* locks frames in memory, up to RLIMIT_MEMLOCK */
	/* Shares all memory with its peer, which accepts at most eight files */
	bool shares_memory;
	/* The kernel driver stays bound to the card, which then needs the module `verbs`. */
	bool beside_kernel;
	const char *verbs;
	bool card_by_interface;               /* the name of a kernel interface selects its card */
	const struct port_listener *listener; /* only one process can use the socket; NULL: none */

	bool on_interface;    /* uses a kernel interface, which reports the link */
	bool makes_interface; /* creates the interface, or shares an existing one */
	bool reads_files;     /* uses an interface only if its DEVARGS name one */
	int sockets;          /* address family, with one socket per queue; 0: no sockets */

	const struct counter_mapping *feeds;
	bool complete; /* its counters include every lost packet */
	bool polled;
	bool per_queue;   /* counters include only its first RTE_ETHDEV_QUEUE_STAT_CNTRS queues */
	bool has_peer;    /* if its peer leaves, counters become 0 and packets in rings are lost */
	uint16_t late_ms; /* maximum delay of counters */
	/* oerrors counts accepted packets; false: packets that were not accepted */
	bool gives_up;
	const char *unsaid;           /* warning if lost packets are not counted; NULL: none */
	const char *counts_otherwise; /* other warning about counters; NULL: none */

	enum port_queues queues;
	enum port_frames frames;
	enum port_stamps stamps;
	enum port_fill fill;
	/*
	 * If not NULL, `spreader` distributes packets over queues with the effect `spreads`. RSS
	 * replaces it if the device offers RSS for more than flow rules.
	 */
	const char *spreader, *spreads;
	bool rss_is_for_rules;
	/*
	 * EAL's interrupt thread may read memory that closing frees. Other devices need that
	 * thread.
	 */
	bool races_interrupts;
	/* Bytes without FCS. 0: the MTU is the limit. */
	uint32_t largest_frame;
	uint32_t longest_sent; /* bytes without FCS; 0: as received */
	/* DEVARGS of which one is needed for sending, up to a NULL */
	const char *sends_to[4];
	uint16_t queues_max;      /* limit if the device reports too many; 0: none */
	bool queues_power_of_two; /* at least one receive queue */
	const char *queues_arg;   /* DEVARG that sets the number of queues; NULL: none */
	/* Limit of the value that port_probe() gives to queues_arg; 0: no value */
	uint16_t queues_arg_each;
	uint16_t descriptors; /* required ring size; 0: any */
	uint16_t mbuf_most;   /* maximum mbuf bytes with headroom; 0: no limit */
};

/* The first row is for drivers without a row. */
extern const struct port_driver port_drivers[];
extern const size_t port_drivers_nb;

/*
 * Search by driver, by virtual device (DEVARGS may follow), and by the card's kernel driver.
 * Without a match, they return the first row, which does not claim complete counters.
 */
const struct port_driver *port_driver_find(const char *name);
const struct port_driver *port_driver_of_device(const char *device);
const struct port_driver *port_driver_of_card(const char *kernel);

/* The device reports `offered` queues. */
uint16_t port_driver_queues(const struct port_driver *driver, uint16_t offered);

/* Returns capabilities as bits. on_interface: the device uses a kernel interface. */
uint64_t port_driver_needs(const struct port_driver *driver, bool on_interface);

/* Returns a name such as "CAP_NET_RAW"; NULL if no driver needs the capability. */
const char *port_capability_name(uint32_t number);
