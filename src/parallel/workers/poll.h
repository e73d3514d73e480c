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

/* How it is known what waits in a queue. */
enum queue_fill {
	QUEUE_FILL_DESCRIPTORS, /* whether some of them are taken */
	QUEUE_FILL_COUNT,       /* the driver counts */
	QUEUE_FILL_RING,        /* packets come through a ring of ours */
	QUEUE_FILL_POLLS, /* only that polls find as much as they can take, one after another */
};

struct rte_ring;

/* A device's queue. */
struct poll_queue {
	uint16_t port, queue;
	uint64_t received; /* packets, of all epochs; the poller's own until it has ended */
	/* Looked at where there is a keeper. */
	enum queue_fill fill;
	uint32_t entries;      /* descriptors */
	struct rte_ring *ring; /* of QUEUE_FILL_RING */
	uint32_t waiting;      /* of keeper->backlog */
	uint32_t full_polls; /* of QUEUE_FILL_POLLS: that followed each other, up to the entries */
	struct shedding_queue valve;
};

struct poller {
	struct epochs *epochs;
	bool replay;         /* packets say their epoch; else they belong to the one that is open */
	enum idle_mode idle; /* of an empty round; not IDLE_AUTO */
	uint32_t nb_queues;
	struct poll_queue queues[OPTION_LIST_MAX];
	uint32_t at;    /* of these, the one that take()'s packets are from */
	uint32_t burst; /* packets of one poll, at most POLL_BURST_MAX */
	/* Sleep until a packet comes. Written before the start, but for `empty_rounds`. */
	uint32_t nb_fds; /* of queues: readable where a packet waits; 0: rounds go on */
	int fds[OPTION_LIST_MAX];
	uint32_t wait_ms;      /* longest sleep */
	uint32_t nap_ns;       /* sleep between rounds while packets come; 0: as poll_idle() */
	uint32_t empty_rounds; /* that followed each other */
	uint32_t quiet_ms;     /* no packet for so long: the queues of a stopped run are empty */
	uint64_t epoch;        /* of the packets that take() gets */
	uint64_t polled;       /* TSC when they were at hand */
	struct shed_worker *keeper; /* whose valve is told of each poll; NULL: nobody's */

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

/* Tells the valve of its keeper of a poll of queue q. */
void poll_look(struct poller *poller, uint32_t q, uint32_t polled);

/* Finds out how it is known what waits in a queue of so many entries. ring: its own; or NULL. */
void poll_queue_fill(struct poll_queue *queue, uint32_t entries, struct rte_ring *ring);

/* What a polling loop does when it found nothing. */
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
