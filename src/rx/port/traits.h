/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What a driver does that its device does not say of itself. */

#include <stdbool.h>
#include <stdint.h>

enum port_queues {
	PORT_QUEUES_FREE,   /* receive queues alone are fine, so are send queues alone */
	PORT_QUEUES_PAIRED, /* as many of one kind as of the other */
};

enum port_frames {
	PORT_FRAMES_MTU,    /* none longer than the MTU that DPDK sets */
	PORT_FRAMES_KERNEL, /* as long as the kernel's interface makes them; DPDK's MTU is not asked
			     */
	PORT_FRAMES_CHAINED, /* any length, in chained mbufs without being asked for it */
};

/* How packets are stamped that bring the time at which they came. */
enum port_stamps {
	PORT_STAMPS_TICKS, /* of the clock that rte_eth_read_clock() reads, where it is offered */
	PORT_STAMPS_NS,    /* ns of UTC, where it is offered */
	PORT_STAMPS_US,    /* us of UTC, unasked */
};

struct port_traits {
	const char *driver; /* as the device names it; "" in the row for all others */
	/* The kernel's drivers for the same cards, up to a NULL: known before DPDK is up. */
	const char *kernel[3];
	enum port_queues queues;
	enum port_frames frames;
	enum port_stamps stamps;
	/*
	 * Who spreads packets over the queues, where that is not the device's RSS, and what that
	 * means for the result; both NULL where it is RSS or nobody. A device that offers RSS all
	 * the same uses it, unless it means it for flow rules only.
	 */
	const char *spreader, *spreads;
	bool rss_is_for_rules;
	/*
	 * As it closes it frees what the interrupt thread may still read, whatever a peer does
	 * meanwhile; others need that thread to close.
	 */
	bool races_interrupts;
	const char *counts_otherwise; /* where what it delivers is not what came; NULL: it is */
	/* Bytes without FCS of the longest frame it delivers, where no MTU says so; 0: one does. */
	uint32_t largest_frame;
	uint16_t queues_max;      /* fewer than the device says; 0: as many as that */
	bool queues_power_of_two; /* receive queues, one at least, with which it is configured */
	const char *queues_arg;   /* DEVARGS that say how many queues there are; NULL: none do */
	uint16_t queues_arg_each; /* we set it, at most so much, where the user does not; 0: we do
				     not */
	uint16_t
		descriptors; /* what serves it, where a ring of any other size is in vain; 0: any */
};

/* Receive queues that are to be had of a device that says it has `offered`. */
uint16_t port_traits_queues(const struct port_traits *of, uint16_t offered);

/* Never NULL. */
const struct port_traits *port_traits_find(const char *driver);
/* The same for a card, by the kernel's driver for it. */
const struct port_traits *port_traits_of_card(const char *kernel);
