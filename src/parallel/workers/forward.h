/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Forwarding: a polling lcore sends every received packet unmodified through another port, or the
 * same one, whether it is measured or not. Queue i of a port sends to queue i of the other, so
 * packets keep their order. Nothing waits: packets that the device does not accept are dropped at
 * once and counted by reason.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base/histogram.h"
#include "parallel/plan/plan.h"
#include "rx/port/port.h"

struct poller;

/*
 * Counters of one lcore for the packets of one port in one epoch. Written and cleared like struct
 * generation (parallel/workers/worker.h).
 */
struct forward_counts {
	uint64_t received;
	uint64_t taken; /* accepted by the device, which may drop some later */
	uint64_t bytes; /* wire bytes of these, without FCS */
	uint64_t tx_full, too_long, no_link;
	/* TSC cycles from arrival to sending: each burst counts once for each of its packets */
	struct histogram times;
};

/* Path of the packets of a polled queue. */
struct forward_path {
	uint16_t in;          /* index of the ingress port */
	uint16_t port, queue; /* egress port and queue */
	const struct port_send *send;
	bool lingers;                    /* a packet socket may still hold accepted packets */
	uint64_t flush_at;               /* TSC before which the socket is not flushed again */
	struct forward_counts counts[2]; /* indexed by generation */
};

/* Forwarding of one polling lcore: one path per queue of its poller, in order. */
struct forward {
	uint32_t nb_ways;
	struct forward_path ways[];
};

/* Call it when the poller is complete. Returns NULL if out of memory. */
struct forward *forward_create(
	const struct plan *plan, const struct port *ports, const struct poller *poller, int node);
void forward_destroy(struct forward *forward); /* NULL is allowed */

/*
 * Sends n packets of a path, which the caller must not use afterwards. came: TSC of the arrival or
 * poll of the first packet. `epoch` is that of the lcore. Returns the TSC after sending.
 */
uint64_t forward_burst(struct forward *forward, uint32_t way, uint64_t epoch,
	struct rte_mbuf **pkts, uint32_t n, uint64_t came);

/* Sends what packet sockets still hold for a path, if possible. Call it when no packet arrived. */
void forward_rest(struct forward *forward, uint32_t way);
/* As forward_rest() for all paths. Call it after the last packet. */
void forward_end(struct forward *forward);

/* Called by the reporter. Clears the generation of `epoch`. NULL is allowed. */
void forward_recycle(struct forward *forward, uint64_t epoch);
