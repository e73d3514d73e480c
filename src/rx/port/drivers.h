/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Properties of DPDK drivers that their devices do not report: one row each, the only place with
 * driver names. Without DPDK, so that the doctor reads the same rows as a run.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ethernet's header and two VLAN tags, which an MTU does not count. */
#define PORT_FRAME_OVERHEAD (14 + 2 * 4)

/* Driver for kernel interfaces. */
#define PORT_DRIVER_OF_INTERFACE "net_af_packet"

enum port_column {
	PORT_RECEIVED, /* handed to a queue that we poll */
	PORT_MISSED,   /* lost: no room */
	PORT_ERRORS,   /* lost: damaged */
	PORT_NO_MBUF,  /* lost: no buffer. Not an allocation that is tried again */
	PORT_DOUBTFUL, /* may have been lost, or counted elsewhere, or never ours */
	PORT_COLUMN_COUNT,
};

/* A counter and the column that it feeds. */
struct counter_mapping {
	const char *counter; /* NULL ends a driver's list */
	enum port_column column;
	uint8_t bits; /* after which it wraps; 0: 64 */
	bool derived; /* see rx/port/device_counter.h */
};

enum port_queues {
	PORT_QUEUES_FREE,   /* only receive queues or only send queues are possible */
	PORT_QUEUES_PAIRED, /* equal numbers of both */
};

enum port_frames {
	PORT_FRAMES_MTU, /* none longer than the MTU that DPDK sets */
	/* length by the kernel interface; the MTU of DPDK is ignored */
	PORT_FRAMES_KERNEL,
	PORT_FRAMES_CHAINED, /* any length, in chained mbufs without being asked for it */
};

/* Information about the fill level of a receive queue. */
enum port_fill {
	PORT_FILL_UNKNOWN,
	PORT_FILL_TOLD,
	PORT_FILL_GUESSED, /* it does not: polls that follow each other */
};

/* Kind of device timestamps. */
enum port_stamps {
	PORT_STAMPS_TICKS, /* ticks of rte_eth_read_clock(), if available */
	PORT_STAMPS_NS,    /* ns of UTC, where it is offered */
	PORT_STAMPS_US,    /* us of UTC, unasked */
};

/* DEVARGS with the socket of a device, and for listening on it. */
struct port_listener {
	const char *path_key, *role_key, *listens;
	bool by_default;      /* listens by default */
	const char *fallback; /* default path */
	const char
		*abstract; /* key that says "no" where the socket is a file; NULL: it always is */
};

struct port_driver {
	const char *name; /* name reported by the device; "": row of all others */
	/* Prefixes of virtual device names, including older ones, up to a NULL. */
	const char *devices[3];
	/* The kernel's drivers for the same cards, up to a NULL: known before DPDK is up. */
	const char *kernel[3];

	/* --- what it takes --- */
	/* Capabilities, as bits; docs/OPERATIONS.md says how that was found out. */
	uint64_t needs;
	uint64_t needs_to_send; /* more capabilities, for sending */
	bool locks_memory;      /* pins its frames: RLIMIT_MEMLOCK binds it */
	bool shares_memory; /* hands all of ours to its peer, who takes no more than eight files */
	/* The kernel's driver stays bound, with the module for its verbs; NULL: it needs none. */
	bool beside_kernel;
	const char *verbs;
	bool card_by_interface;               /* the kernel's interface stands for the card */
	const struct port_listener *listener; /* NULL: one process does not keep out another */

	/* --- the kernel's interface --- */
	bool on_interface;    /* it sits on one, which knows its link */
	bool makes_interface; /* creates the interface, or shares an existing one */
	bool reads_files;     /* uses an interface only if its DEVARGS name one */
	int sockets;          /* family of those that it opens, one for each queue; 0: none */

	/* --- what it counts (rx/port/loss.h, docs/LOSS.md) --- */
	const struct counter_mapping *feeds;
	bool complete;    /* its feeds tell every packet that it lost */
	bool polled;      /* it counts received packets as they are polled, in software; else the
			     device does, as they come */
	bool per_queue;   /* it adds up what its first RTE_ETHDEV_QUEUE_STAT_CNTRS queues count */
	bool has_peer;    /* a process that may leave: its counters read 0 then, and what it had put
			     on the rings is lost */
	uint16_t late_ms; /* ms by which its counters may lag */
	/*
	 * oerrors of sending: accepted packets that were not sent, else packets that were not
	 * accepted.
	 */
	bool gives_up;
	const char *unsaid;           /* message to the user if counts are incomplete */
	const char *counts_otherwise; /* where what it delivers is not what came; NULL: it is */

	/* --- its queues and frames (docs/PORTS.md) --- */
	enum port_queues queues;
	enum port_frames frames;
	enum port_stamps stamps;
	enum port_fill fill;
	/*
	 * Mechanism that distributes packets over queues instead of RSS, and its effect; both NULL
	 * for RSS or none. A device that also offers RSS uses it, unless it is only for flow rules.
	 */
	const char *spreader, *spreads;
	bool rss_is_for_rules;
	/*
	 * As it closes it frees what the interrupt thread may still read, whatever a peer does
	 * meanwhile; others need that thread to close.
	 */
	bool races_interrupts;
	/* Bytes without FCS of the longest received frame if no MTU limits it; 0: the MTU does. */
	uint32_t largest_frame;
	uint32_t longest_sent; /* the same for sent frames; 0: as received */
	/* DEVARGS of which one says where it sends to, up to a NULL; none: it always can. */
	const char *sends_to[4];
	uint16_t queues_max;      /* fewer than the device says; 0: as many as that */
	bool queues_power_of_two; /* receive queues, one at least, with which it is configured */
	const char *queues_arg;   /* DEVARGS that say how many queues there are; NULL: none do */
	uint16_t queues_arg_each; /* value set by default, at most; 0: not set */
	uint16_t
		descriptors; /* what serves it, where a ring of any other size is in vain; 0: any */
	uint16_t mbuf_most;  /* bytes that one mbuf may have, headroom included; 0: any */
};

/* The rows; the first one is for every driver that has none. */
extern const struct port_driver port_drivers[];
extern const size_t port_drivers_nb;

/*
 * The row of a driver, of a virtual device by its name (DEVARGS may follow), of a card by the
 * kernel's driver for it. Never NULL: the first row, which is not trusted to count all its losses.
 */
const struct port_driver *port_driver_find(const char *name);
const struct port_driver *port_driver_of_device(const char *device);
const struct port_driver *port_driver_of_card(const char *kernel);

/* Receive queues that are to be had of a device that says it has `offered`. */
uint16_t port_driver_queues(const struct port_driver *driver, uint16_t offered);

/* Capabilities that a process needs for a device of it, on an interface of the kernel or not. */
uint64_t port_driver_needs(const struct port_driver *driver, bool on_interface);

/*
 * Returns the name of capability `number` needed by any row, such as "CAP_NET_RAW"; NULL after the
 * last.
 */
const char *port_capability_name(uint32_t number);
