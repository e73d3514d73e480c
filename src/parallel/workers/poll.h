/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Receive loop of all designs. Polls queues, splits bursts at epoch changes, and also enters an
 * epoch if no packets arrive. Ends when the run has ended and the queues are empty.
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
	QUEUE_FILL_DESCRIPTORS, /* rte_eth_rx_descriptor_status() */
	QUEUE_FILL_COUNT,       /* rte_eth_rx_queue_count() */
	QUEUE_FILL_RING,        /* rte_ring_count() */
	QUEUE_FILL_POLLS,       /* estimate from the number of successive full polls */
};

struct rte_ring;

/* Queue of a device. */
struct poll_queue {
	uint16_t port, queue;
	uint64_t received; /* packets in the whole run; owned by the poller until it ends */
	/* Only used with load shedding: */
	enum queue_fill fill;
	uint32_t entries;      /* number of descriptors */
	struct rte_ring *ring; /* only for QUEUE_FILL_RING */
	uint32_t waiting;      /* packets that waited after the last poll */
	uint32_t full_polls;   /* QUEUE_FILL_POLLS: number of successive full polls */
	struct shedding_queue shedding;
};

struct poller {
	struct epochs *epochs;
	bool replay;         /* true: packets carry their epoch; false: use the open epoch */
	enum idle_mode idle; /* action after an empty round; not IDLE_AUTO */
	uint32_t nb_queues;
	struct poll_queue queues[OPTION_LIST_MAX];
	uint32_t at;    /* index of the queue whose packets take() receives */
	uint32_t burst; /* maximum packets of one poll, up to POLL_BURST_MAX */
	/* File descriptors of the queues, for poll(2). nb_fds is 0 if the queues have none. */
	uint32_t nb_fds;
	int fds[OPTION_LIST_MAX];
	uint32_t wait_ms;      /* timeout of poll(2), ms */
	uint32_t nap_ns;       /* sleep after the first empty round, ns; 0: as poll_idle() */
	uint32_t empty_rounds; /* number of successive empty rounds */
	/* ms. After a stop, queues count as empty if no packet arrives for this time. */
	uint32_t quiet_ms;
	uint64_t epoch;           /* epoch of the packets that take() receives */
	uint64_t polled;          /* TSC after the last poll that returned packets */
	struct shed_worker *shed; /* NULL: without load shedding */

	/* Callbacks of poll_until_end(). All get `arg`. */
	void *arg;
	/* Enters `epoch`, to which the next packets belong. */
	void (*enter)(void *arg, uint64_t epoch);
	/* Takes ownership of n packets of one epoch. Their poll took rx_cycles TSC cycles. */
	void (*take)(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);
	/* Called after a poll of queue q without packets. May be NULL. */
	void (*empty)(void *arg, uint32_t q);
	/* Called after a round without packets. NULL: poll_wait() or poll_idle() is called. */
	void (*rest)(void *arg);
	/* Called at the end of the run, with the number of the epoch after the last one. */
	void (*end)(void *arg, uint64_t epoch);
};

void poll_until_end(struct poller *poller);

/* Updates the shedding level after a poll of queue q, which returned `polled` packets. */
void poll_look(struct poller *poller, uint32_t q, uint32_t polled);

/*
 * Selects the method to find the fill level of a queue with `entries` descriptors. `ring` is the
 * software ring of the queue, or NULL.
 */
void poll_queue_fill(struct poll_queue *queue, uint32_t entries, struct rte_ring *ring);

/* Waits after a round without packets. */
void poll_idle(enum idle_mode idle);

/* As poll_idle(IDLE_SLEEP), but sleeps for `ns`. */
void poll_nap(uint32_t ns);
/* Yields and returns true in the first empty rounds. Returns false when it is time to sleep. */
bool poll_yields(void);

/*
 * Returns the longest sleep in ms of a thread that waits for packets. `interval` is the length of
 * an epoch in ns. If no packets arrive, the thread may delay the end of an epoch by this time.
 */
uint32_t poll_wait_ms(uint64_t interval);

/* Waits after a round without packets, by a short sleep or by poll(2) on the file descriptors. */
void poll_wait(struct poller *poller);

/*
 * Returns the time in ns that a thread may sleep between polls of a queue with `entries`
 * descriptors, at most 1 ms. At 16 Mpps, the queue does not become full in this time.
 */
uint32_t poll_nap_ns(uint32_t entries);
