/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The receive loop, once for every design: polls queues, cuts bursts where the epoch changes,
 * notices epochs that bring no packet, and ends when the last epoch is over and the queues are
 * empty.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "parallel/epoch.h"
#include "parallel/plan/plan.h"

/* A device's queue. */
struct poll_queue {
	uint16_t port, queue;
	uint64_t received; /* packets, of all epochs; the poller's own until it has ended */
};

struct poller {
	struct epochs *epochs;
	bool replay;         /* packets say their epoch; else they belong to the one that is open */
	enum idle_mode idle; /* of an empty round; not IDLE_AUTO */
	uint32_t nb_queues;
	struct poll_queue queues[OPTION_LIST_MAX];
	uint32_t at;       /* of these, the one that take()'s packets are from */
	uint32_t burst;    /* packets of one poll, at most POLL_BURST_MAX */
	uint32_t quiet_ms; /* no packet for so long: the queues of a stopped run are empty */
	uint64_t epoch;    /* of the packets that take() gets */
	uint64_t polled;   /* TSC when they were at hand */

	/* Called by poll_until_end() alone; arg is theirs. */
	void *arg;
	/* The next packets belong to `epoch`, which is newer. */
	void (*enter)(void *arg, uint64_t epoch);
	/* n packets of one epoch, now the callee's. rx_cycles: what receiving them took. */
	void (*take)(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);
	/* Queue q had nothing, whatever others had. NULL: nobody asks. */
	void (*empty)(void *arg, uint32_t q);
	/* A round found nothing. NULL: poll_idle(). */
	void (*rest)(void *arg);
	/* No packet comes any more; `epoch` is the one after the last. */
	void (*end)(void *arg, uint64_t epoch);
};

void poll_until_end(struct poller *poller);

/* What a polling loop does when it found nothing. */
void poll_idle(enum idle_mode idle);
