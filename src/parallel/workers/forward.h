/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Forwarding. A polling lcore sends every received packet unmodified through another port or the
 * same port, independently of filters and measurements. Packets of receive queue i go to send queue
 * i of the other port, so their order does not change. The lcore never waits: it drops packets that
 * the device does not accept, and counts them by reason.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base/histogram.h"
#include "parallel/plan/plan.h"
#include "rx/port/port.h"

struct poller;

/*
 * Counters of one lcore for the packets of one port in one epoch. Written by the lcore, and cleared
 * by the reporter, like struct generation (parallel/workers/worker.h).
 */
struct forward_counts {
	uint64_t received;
	uint64_t taken; /* packets that the device accepted; it may drop some later */
	uint64_t bytes; /* bytes of `taken` packets on the wire, without FCS */
	/* Dropped packets. too_long: the port cannot send them. no_link: the link was down. */
	uint64_t tx_full, too_long, no_link;
	/* TSC cycles from arrival to sending. All packets of a burst have the same value. */
	struct histogram times;
};

/* Forwarding path of the packets of a polled queue. */
struct forward_path {
	uint16_t in;          /* index of the ingress port */
	uint16_t port, queue; /* egress port and queue */
	const struct port_send *send;
	bool lingers;                    /* true: a packet socket may have unsent packets */
	uint64_t flush_at;               /* earliest TSC of the next flush of the socket */
	struct forward_counts counts[2]; /* indexed by generation */
};

/* Forwarding of one polling lcore. ways[q] is the path of queue q of its poller. */
struct forward {
	uint32_t nb_ways;
	struct forward_path ways[];
};

/* Call this after all queues were added to the poller. Returns NULL if out of memory. */
struct forward *forward_create(
	const struct plan *plan, const struct port *ports, const struct poller *poller, int node);
void forward_destroy(struct forward *forward); /* NULL is allowed */

/*
 * Sends n packets through path `way`. The caller must not use the packets afterwards. `came` is the
 * TSC of the arrival of the first packet, or of its poll. Returns the TSC after sending.
 */
uint64_t forward_burst(struct forward *forward, uint32_t way, uint64_t epoch,
	struct rte_mbuf **pkts, uint32_t n, uint64_t came);

/* Tries to send the packets that wait in packet sockets of a path. Call this after empty polls. */
void forward_rest(struct forward *forward, uint32_t way);
/* As forward_rest(), for all paths. Call this after the last packet. */
void forward_end(struct forward *forward);

/* Clears the counters of `epoch`. Called by the reporter. NULL is allowed. */
void forward_recycle(struct forward *forward, uint64_t epoch);
