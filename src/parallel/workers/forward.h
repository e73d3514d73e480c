/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * --forward: what a polling lcore receives leaves by another port, or the same, as it came, whether
 * it is measured or not. Queue i of a port goes to queue i of the other, so nothing is reordered.
 * Nothing waits: what the device does not take is dropped at once, and counted with its reason.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base/histogram.h"
#include "parallel/plan/plan.h"
#include "rx/port/port.h"

struct poller;

/* What one lcore did with the packets of one port in one epoch; written and cleared as a struct
 * generation is (parallel/workers/worker.h). */
struct forward_counts {
	uint64_t received;
	uint64_t taken; /* by the device; it may give some of them up afterwards */
	uint64_t bytes; /* of these, on the wire without FCS */
	uint64_t tx_full, too_long, no_link;
	struct log_linear
		times; /* TSC cycles that packets took: one entry a burst, as often as it has packets */
};

/* Where the packets of a polled queue go. */
struct forward_path {
	uint16_t in;          /* number of the port among the run's */
	uint16_t port, queue; /* that they leave by */
	const struct port_send *send;
	bool lingers;                    /* a packet socket may still hold some of what it took */
	uint64_t flush_at;               /* TSC: not before, it is asked again to send that */
	struct forward_counts counts[2]; /* by generation */
};

/* Of one polling lcore: a way for each queue of its poller, in their order. */
struct forward {
	uint32_t nb_ways;
	struct forward_path ways[];
};

/* For a poller that is complete. NULL where there is no memory. */
struct forward *forward_create(
	const struct plan *plan, const struct port *ports, const struct poller *poller, int node);
void forward_destroy(struct forward *forward); /* NULL is allowed */

/*
 * Sends n packets of the way, the first of which came at TSC `came`, or was asked for then; nobody
 * may touch them afterwards. `epoch` is the lcore's. Returns the TSC when they had left.
 */
uint64_t forward_burst(struct forward *forward, uint32_t way, uint64_t epoch,
	struct rte_mbuf **pkts, uint32_t n, uint64_t came);

/* Nothing came for a way: what packet sockets hold of it leaves, as far as it can. */
void forward_rest(struct forward *forward, uint32_t way);
/* The same of all ways: no packet comes any more. */
void forward_end(struct forward *forward);

/* The reporter: the generation of `epoch` is clean again. NULL is allowed. */
void forward_recycle(struct forward *forward, uint64_t epoch);
