/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Receive loop of all designs: polls queues, splits bursts at epoch changes, enters epochs without
 * packets, and ends after the last epoch when the queues are empty.
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
	QUEUE_FILL_DESCRIPTORS, /* status of single descriptors */
	QUEUE_FILL_COUNT,       /* packet count of the driver */
	QUEUE_FILL_RING,        /* count of a software ring */
	QUEUE_FILL_POLLS,       /* number of successive full polls */
};

struct rte_ring;

/* Queue of a device. */
struct poll_queue {
	uint16_t port, queue;
	uint64_t received; /* packets of all epochs; owned by the poller until it ends */
	/* Used if `shed` is set. */
	enum queue_fill fill;
	uint32_t entries;      /* descriptors */
	struct rte_ring *ring; /* ring of QUEUE_FILL_RING */
	uint32_t waiting;      /* packets waiting: part of shed->backlog */
	uint32_t full_polls;   /* QUEUE_FILL_POLLS: successive full polls, up to `entries` */
	struct shedding_queue shedding;
};

struct poller {
	struct epochs *epochs;
	bool replay;         /* packets carry their epoch; else it is the open epoch */
	enum idle_mode idle; /* idle mode after an empty round; not IDLE_AUTO */
	uint32_t nb_queues;
	struct poll_queue queues[OPTION_LIST_MAX];
	uint32_t at;    /* index of the queue whose packets take() receives */
	uint32_t burst; /* packets of one poll, at most POLL_BURST_MAX */
	/* Sleep until a packet arrives. Set before start, except `empty_rounds`. */
	/* number of queue file descriptors, readable if a packet waits; 0: poll in rounds */
	uint32_t nb_fds;
	int fds[OPTION_LIST_MAX];
	uint32_t wait_ms; /* longest sleep, ms */
	uint32_t nap_ns;  /* ns of sleep between rounds while packets arrive; 0: as poll_idle() */
	uint32_t empty_rounds; /* successive empty rounds */
	/* ms without a packet after which the queues of a stopped run are empty */
	uint32_t quiet_ms;
	uint64_t epoch;           /* epoch of the packets that take() receives */
	uint64_t polled;          /* TSC after the poll */
	struct shed_worker *shed; /* shedding state updated by each poll; NULL: none */

	/* Callbacks of poll_until_end(), with `arg`. */
	void *arg;
	/* Enters the newer `epoch` of the next packets. */
	void (*enter)(void *arg, uint64_t epoch);
	/* Takes ownership of n packets of one epoch. rx_cycles: cycles of receiving them. */
	void (*take)(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);
	/* Called if queue q was empty. NULL: ignored. */
	void (*empty)(void *arg, uint32_t q);
	/* Called after an empty round. NULL: poll_idle(). */
	void (*rest)(void *arg);
	/* Called after the last packet; `epoch` is the one after the last. */
	void (*end)(void *arg, uint64_t epoch);
};

void poll_until_end(struct poller *poller);

/* Updates load shedding after a poll of queue q. */
void poll_look(struct poller *poller, uint32_t q, uint32_t polled);

/*
 * Selects the method to find the fill level of a queue of `entries` descriptors. ring: its software
 * ring, or NULL.
 */
void poll_queue_fill(struct poll_queue *queue, uint32_t entries, struct rte_ring *ring);

/* Waits after an empty round of a polling loop. */
void poll_idle(enum idle_mode idle);

/* As poll_idle(IDLE_SLEEP), with sleeps of `ns`. */
void poll_nap(uint32_t ns);
/* Yields and returns true in the first of successive empty rounds; else returns false. */
bool poll_yields(void);

/*
 * Returns the longest sleep in ms of a thread that waits for packets, in epochs of `interval` ns.
 * An epoch without packets ends at most that late.
 */
uint32_t poll_wait_ms(uint64_t interval);

/* Sleeps after an empty round until a file descriptor of the poller is readable. */
void poll_wait(struct poller *poller);

/*
 * Returns the ns of sleep between rounds over a queue that holds `entries` packets: a queue does
 * not fill up in that time at 16 million packets a second. At most 1 ms.
 */
uint32_t poll_nap_ns(uint32_t entries);
