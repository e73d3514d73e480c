/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Receive loop of all designs. It also enters epochs while no packets arrive. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "parallel/epoch.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/shed_worker.h"

enum queue_fill {
	QUEUE_FILL_DESCRIPTORS,
	QUEUE_FILL_COUNT,
	QUEUE_FILL_RING,
	QUEUE_FILL_POLLS, /* estimate from the number of successive full polls */
};

struct rte_ring;

struct poll_queue {
	uint16_t port, queue;
	uint64_t received; /* packets in the whole run */
	/* Only used with load shedding: */
	enum queue_fill fill;
	uint32_t entries;
	struct rte_ring *ring; /* only for QUEUE_FILL_RING */
	uint32_t waiting;      /* packets that waited after the last poll */
	uint32_t full_polls;   /* successive full polls, for QUEUE_FILL_POLLS */
	struct shedding_queue shedding;
};

struct poller {
	struct epochs *epochs;
	bool replay; /* packets carry their epoch; otherwise they belong to the open epoch */
	enum idle_mode idle; /* not IDLE_AUTO */
	uint32_t nb_queues;
	struct poll_queue queues[OPTION_LIST_MAX];
	uint32_t at;    /* queue whose packets take() receives */
	uint32_t burst; /* maximum packets of one poll, up to POLL_BURST_MAX */
	/* For poll(2). nb_fds is 0 if the queues have no file descriptors. */
	uint32_t nb_fds;
	int fds[OPTION_LIST_MAX];
	int bell;              /* eventfd of poll_wake() */
	uint32_t nap_ns;       /* sleep after the first empty round, ns; 0: poll_idle() */
	uint32_t empty_rounds; /* successive rounds without packets */
	/* ms; after the stop, a queue counts as empty if no packet arrives for this time */
	uint32_t quiet_ms;
	bool ended;               /* the run was stopped; poll_wait() sleeps at most quiet_ms */
	uint64_t epoch;           /* epoch of the packets that take() receives */
	uint64_t polled;          /* TSC after the last poll that returned packets */
	struct shed_worker *shed; /* NULL: without load shedding */

	void *arg;
	/* The next packets belong to `epoch`. */
	void (*enter)(void *arg, uint64_t epoch);
	/* Takes ownership of n packets of one epoch. Their poll took rx_cycles TSC cycles. */
	void (*take)(void *arg, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);
	/* Called after an empty poll of queue q. May be NULL. */
	void (*empty)(void *arg, uint32_t q);
	/* Called after a round without packets. NULL: poll_wait() or poll_idle(). */
	void (*rest)(void *arg);
	/* `epoch` is the first one after the end of the run. */
	void (*end)(void *arg, uint64_t epoch);
};

void poll_until_end(struct poller *poller);

/* Limit of a thread that empties its queues or sockets after the stop. All 0: not begun. */
struct poll_drain {
	int64_t give_up; /* ns of CLOCK_MONOTONIC */
	int64_t cpu;     /* CPU time of the thread, ns */
};

/* Begins at the first call. Returns true if the thread must stop, even if packets arrive. */
bool poll_drain_is_over(struct poll_drain *drain);

void poll_look(struct poller *poller, uint32_t q, uint32_t polled);

/* `ring`: software ring that the queue reads, or NULL. */
void poll_queue_fill(struct poll_queue *queue, uint32_t entries, struct rte_ring *ring);

void poll_idle(enum idle_mode idle);

void poll_nap(uint32_t ns);
/* Yields and returns true in the first empty rounds. Returns false when it is time to sleep. */
bool poll_yields(void);

/*
 * Returns the longest sleep, in ms, of a thread that waits for packets, and has to look at the time
 * meanwhile. interval: ns.
 */
uint32_t poll_wait_ms(uint64_t interval);

/* ms; the longest sleep of other threads. poll_wake() and wakeup_look() end it. */
#define POLL_WAIT_LONG_MS 250

/*
 * Sleeps until packets arrive, or until poll_wake(), for at most wait_ms. With empty(), which has
 * work while no packets arrive, for at most 25 ms.
 */
void poll_wait(struct poller *poller, uint32_t wait_ms);

/* Any thread may call it. */
void poll_wake(const struct poller *poller);

/* Returns the ns in which `entries` descriptors do not fill up at 16 Mpps, at most 1 ms. */
uint32_t poll_nap_ns(uint32_t entries);
