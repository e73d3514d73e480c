/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Sends the packets of a source on a port, from one thread. */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "parallel/sources/feeder.h"
#include "parallel/sources/pacer.h"
#include "rx/port/kernel_interface.h"
#include "rx/port/port.h"
#include "rx/source.h"

#define SENDER_BURST 32

struct port_sender_watch {
	/* Called before the device gets n packets. It may reject the last ones. */
	void (*depart)(void *watcher, struct rte_mbuf **pkts, uint32_t n);
	/* Called after the device accepted n packets. */
	void (*departed)(void *watcher, uint32_t n);
	void (*meanwhile)(void *watcher);
};

struct port_sender {
	struct source *source;
	const struct port *port;
	struct rte_mempool *pool;
	const struct port_sender_watch *watch;
	void *watcher;
	bool again; /* restart the source at its end */

	struct pacer pacer;
	uint64_t sent, bytes; /* counts of the last port_sender_send() */
	uint64_t begun;       /* TSC of the first packet; pacer.start_tsc moves after a delay */
	uint64_t took;
	uint64_t end; /* TSC when the requested duration ends */
	uint32_t n;
	struct rte_mbuf *burst[SENDER_BURST];
	uint32_t interface;
	struct kernel_sockets sockets;
	struct kernel_interface before;
	uint64_t looked;
	bool told;
	bool gone;
	bool overdue; /* the duration ended while the device accepted no packets */
};

uint64_t port_sender_clock_since(uint64_t start_tsc);

bool port_sender_is_gone(const struct port_sender *sender);

/*
 * Sends until a limit, a stop request, or the end of the source. With a watcher, a delayed sender
 * catches up by at most LAG_MAX packets: a device under test must get the requested rate, not a
 * burst.
 */
void port_sender_send(struct port_sender *sender, const struct feeder_options *limits);

/*
 * Waits until the device has sent all packets. Subtracts a lower bound of the packets that were not
 * sent from `sent`, and returns it. Returns 0 if the device was removed.
 */
uint64_t port_sender_drain(struct port_sender *sender);
