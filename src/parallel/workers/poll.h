/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The receive loop, once for every design: polls queues, cuts bursts where the epoch changes,
 * notices epochs that bring no packet, and ends when the last epoch is over and the queues are
 * empty.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "parallel/epoch.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/shed_worker.h"

/* Method to find the fill level of a queue. */
enum queue_fill {
	QUEUE_FILL_DESCRIPTORS, /* checks whether descriptors are used */
	QUEUE_FILL_COUNT,       /* the driver counts */
	QUEUE_FILL_RING,        /* packets come through a ring of ours */
	QUEUE_FILL_POLLS, /* only that polls find as much as they can take, one after another */
};

struct rte_ring;

/* A device's queue. */
struct poll_queue {
	uint16_t port, queue;
	uint64_t received; /* packets, of all epochs; the poller's own until it has ended */
	/* Used if `keeper` is set. */
	enum queue_fill fill;
	uint32_t entries;      /* descriptors */
	struct rte_ring *ring; /* ring of QUEUE_FILL_RING */
	uint32_t waiting;      /* part of keeper->backlog */
	uint32_t full_polls;   /* QUEUE_FILL_POLLS: successive full polls, up to `entries` */
	struct shedding_queue shedding;
};

struct poller {
	struct epochs *epochs;
	bool replay;         /* packets say their epoch; else they belong to the one that is open */
	enum idle_mode idle; /* idle mode after an empty round; not IDLE_AUTO */
	uint32_t nb_queues;
	struct poll_queue queues[OPTION_LIST_MAX];
	uint32_t at;    /* index of the queue whose packets take() receives */
	uint32_t burst; /* packets of one poll, at most POLL_BURST_MAX */
	/* Sleep until a packet comes. Written before the start, but for `empty_rounds`. */
	uint32_t nb_fds; /* descriptors of queues, readable if a packet waits; 0: poll in rounds */
	int fds[OPTION_LIST_MAX];
	uint32_t wait_ms;      /* longest sleep */
	uint32_t nap_ns;       /* sleep between rounds while packets come; 0: as poll_idle() */
	uint32_t empty_rounds; /* successive empty rounds */
	uint32_t
		quiet_ms; /* time without a packet after which the queues of a stopped run are empty */
	uint64_t epoch;           /* epoch of the packets that take() receives */
	uint64_t polled;          /* TSC when they were at hand */
	struct shed_worker *shed; /* shedding state updated by each poll; NULL: none */

	/* Callbacks of poll_until_end(), with `arg`. */
	void *arg;
	/* The next packets belong to `epoch`, which is newer. */
	void (*enter)(void *arg, uint64_t epoch);
	/* n packets of one epoch, now the callee's. rx_cycles: what receiving them took. */
	void (*take)(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);
	/* Queue q was empty. NULL: ignored. */
	void (*empty)(void *arg, uint32_t q);
	/* A round found nothing. NULL: poll_idle(). */
	void (*rest)(void *arg);
	/* No packet comes any more; `epoch` is the one after the last. */
	void (*end)(void *arg, uint64_t epoch);
};

void poll_until_end(struct poller *poller);

/* Tells the valve of its keeper of a poll of queue q. */
void poll_look(struct poller *poller, uint32_t q, uint32_t polled);

/* Selects the method for a queue of `entries` descriptors. ring: its own ring, or NULL. */
void poll_queue_fill(struct poll_queue *queue, uint32_t entries, struct rte_ring *ring);

/* Waits after an empty round of a polling loop. */
void poll_idle(enum idle_mode idle);

/* The same as IDLE_SLEEP, with sleeps of `ns`. */
void poll_nap(uint32_t ns);
/* Yields, and returns true, in the first of rounds that follow each other. */
bool poll_yields(void);

/*
 * Longest sleep of a thread that waits for packets, in epochs of `interval` ns: an epoch without
 * packets ends so late at most.
 */
uint32_t poll_wait_ms(uint64_t interval);

/* Sleeps until a descriptor of the poller is readable, after a round that found nothing. */
void poll_wait(struct poller *poller);

/*
 * Sleep between rounds over a queue that holds `entries` packets: it fills up in no less time than
 * this at 16 million packets a second. At most 1 ms.
 */
uint32_t poll_nap_ns(uint32_t entries);
