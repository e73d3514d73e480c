/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Sends the packets of a source on a port, from one thread, and says what left. */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "parallel/sources/feeder.h"
#include "parallel/sources/pacer.h"
#include "rx/port/kernel_interface.h"
#include "rx/port/port.h"
#include "rx/source.h"

#define SENDER_BURST 32

/* Who watches what becomes of the packets. Called by the sender's thread. */
struct port_sender_watch {
	/* The next packets are about to be handed to the device, which may refuse the last ones. */
	void (*depart)(void *watcher, struct rte_mbuf **pkts, uint32_t n);
	/* It took the first n of them. */
	void (*departed)(void *watcher, uint32_t n);
	/* Between two bursts, and in the place of pauses. */
	void (*meanwhile)(void *watcher);
};

struct port_sender {
	struct source *source;
	const struct port *port;
	struct rte_mempool *pool;
	const struct port_sender_watch *watch; /* NULL: nobody does */
	void *watcher;
	bool again; /* from its first packet on, when the source has come to its end */

	struct pacer pacer;
	uint64_t sent, bytes; /* since port_sender_send() began */
	uint64_t begun;       /* TSC of the first; the schedule of the pacer moves, this does not */
	uint64_t took;        /* TSC cycles from there to the last */
	uint64_t end;         /* TSC: the duration that was asked for is over */
	uint32_t n;
	struct rte_mbuf *burst[SENDER_BURST];
	/* Of the kernel's interface that the port sits on; the index is 0 where it is none. */
	uint32_t interface;
	struct kernel_sockets sockets;
	struct kernel_interface before;
	uint64_t looked; /* rte_rdtsc() */
	bool told;       /* that the link is down */
	bool gone;
	bool overdue; /* the device takes nothing, and the time is over */
};

/* ns since a time of rte_rdtsc(). */
uint64_t port_sender_clock_since(uint64_t start_tsc);

bool port_sender_is_gone(const struct port_sender *sender);

/*
 * Until the limits, a signal, or the end of the source. With somebody who watches, packets that
 * could not be sent in time are sent no faster for it: a device is to be given the rate that was
 * asked for, and not what was missed.
 */
void port_sender_send(struct port_sender *sender, const struct feeder_options *limits);

/*
 * All that was handed to the device has left it, as far as anybody tells: returns how many packets
 * did not at least, which are taken off `sent`. Nothing of a device that is gone is known.
 */
uint64_t port_sender_drain(struct port_sender *sender);
