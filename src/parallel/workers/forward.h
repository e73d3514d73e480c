/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Sends every received packet unmodified. Packets of receive queue i leave through send queue i, so
 * their order does not change. The lcore drops packets that the device does not accept.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base/histogram.h"
#include "parallel/plan/plan.h"
#include "rx/port/port.h"

struct poller;

struct forward_counts {
	uint64_t received;
	uint64_t taken; /* packets that the device accepted; it may still drop some */
	uint64_t bytes; /* bytes of `taken` packets, without FCS */
	/* too_long: the port cannot send such frames. no_link: the link was down. */
	uint64_t tx_full, too_long, no_link;
	/* TSC cycles from arrival to sending. All packets of a burst have the same value. */
	struct histogram times;
};

struct forward_path {
	uint16_t in;          /* ingress port */
	uint16_t port, queue; /* egress port and queue */
	const struct port_send *send;
	bool lingers;
	uint64_t flush_at;               /* earliest TSC of the next flush of the socket */
	struct forward_counts counts[2]; /* indexed by generation */
};

/* ways[q] is for queue q of the lcore's poller. */
struct forward {
	uint32_t nb_ways;
	struct forward_path ways[];
};

/* All queues must already be in the poller. Returns NULL if out of memory. */
struct forward *forward_create(
	const struct plan *plan, const struct port *ports, const struct poller *poller, int node);
void forward_destroy(struct forward *forward); /* NULL is allowed */

/* Takes ownership of pkts[]. `came`: TSC at the first arrival. Returns the TSC after sending. */
uint64_t forward_burst(struct forward *forward, uint32_t way, uint64_t epoch,
	struct rte_mbuf **pkts, uint32_t n, uint64_t came);

/* Sends packets that wait in the packet socket of a path. Must be called after empty polls. */
void forward_rest(struct forward *forward, uint32_t way);
/* Must be called after the last packet. */
void forward_end(struct forward *forward);

/* Only the reporter may call this. NULL is allowed. */
void forward_recycle(struct forward *forward, uint64_t epoch);
