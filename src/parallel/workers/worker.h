/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What a worker owns and what it does with a burst, whatever the design: filter, parse once, hash
 * once per key rule, update the sketch of every measurement. The design (parallel/plan/design.h)
 * owns the loop that brings the bursts.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "adapt/costs.h"
#include "key/hash.h"
#include "key/key_burst.h"
#include "parallel/workers/count.h"
#include "parallel/epoch.h"
#include "parallel/workers/shed_worker.h"
#include "parallel/workers/poll.h"
#include "parallel/workers/drill_down.h"
#include "parallel/workers/reader.h"
#include "parallel/wakeup.h"
#include "rx/filter/prefix_filter.h"
#include "rx/packet/parse_burst.h"
#include "sketch/hyperloglog.h"
#include "sketch/sketch.h"

/*
 * All that a worker counts in one epoch. Written by the worker while the epoch is its own, read and
 * cleared by the reporter afterwards (parallel/epoch.h).
 */
struct generation {
	alignas(64) uint64_t received; /* packets polled from a device; 0 where a receiver polls */
	uint64_t counted;              /* packets that came here */
	uint64_t filtered;             /* of them, what filter and rules leave out */
	uint64_t duplicate;            /* that records told again (collector_source.h) */
	uint64_t ring_full;            /* of the received, what found no room on the way here */
	uint64_t measured;
	struct sketch_undecoded
		undecoded; /* of these, that no sketch was told of; but for largest */
	struct parse_counts counts;
	/* TSC cycles of polls that found packets, of parsing and updating, of freeing. */
	uint64_t rx_cycles, ppt_cycles, free_cycles;
	uint64_t bursts; /* of packets, of all its epochs: which ones are timed part by part */
	/* --prefixes: the epoch's rules, and this worker's counters of them; NULL: none. */
	const struct prefix_filter *monitor;
	struct prefix_counts *rules;
	/* What the epoch measures (parallel/run/measurements.h). */
	struct counting *counting;                             /* this worker's */
	struct hyperloglog *distinct[CONFIG_MEASUREMENTS_MAX]; /* this worker's */
	struct sketch *sketch[CONFIG_MEASUREMENTS_MAX];        /* this worker's, or all workers' */
	struct costs costs;                                    /* of the bursts that were timed */
	struct shed_counts kept;                               /* 0 without a keeper */
	struct drill_down_sets within;                         /* 0 where all count everything */
};

struct collector_source;
struct digest_ring;
struct forward;
struct kernel_taker;
struct run;
struct sync_slot;

struct worker {
	/* Written before the start, read by the worker. */
	uint32_t id;
	uint32_t group, part; /* its group, and its number among the workers of it */
	const struct run *run;
	struct collector_source *collect; /* NULL: packets are the input */
	struct kernel_taker *taker;       /* NULL: no program in the kernel brings them */
	enum idle_mode idle;
	bool blocks;      /* sleeps until its receiver or the kernel has something for it */
	uint32_t wait_ms; /* for so long at most */
	struct epochs *epochs;
	struct shed_worker *shed; /* NULL: every packet is looked at */
	struct poller poller;     /* rss: its own queues; async: `ring`, for the valve alone */
	struct forward *forward;  /* where what it receives goes; NULL: it is freed */
	/* The design's; its time is that of freeing. */
	void (*done)(struct worker *worker, struct rte_mbuf **pkts, uint32_t n);
	struct sync_slot *slot;      /* sync: where the receiver leaves its part of a burst */
	struct rte_ring *ring;       /* async: where the receiver puts its packets */
	struct digest_ring *digests; /* async with --forward: or what decides of them; else NULL */

	/* Written by the worker. */
	alignas(64) uint64_t epoch;
	struct generation generations[2];
	struct reader reader;

	struct wakeup wakeup;       /* by its receiver */
	struct shed_mailbox states; /* the governor's and the keeper's */

	/* Set by the worker when its loop ended, with release. */
	alignas(64) _Atomic bool finished;
};

static inline struct generation *worker_generation(struct worker *worker, uint64_t epoch)
{
	return &worker->generations[epoch & 1];
}

/* Leaves every epoch before `epoch`, and waits until the generation of `epoch` is clean. */
void worker_enter_epoch(struct worker *worker, uint64_t epoch);
/* Leaves every epoch before `epoch`, which has no packets, for good. */
void worker_leave(struct worker *worker, uint64_t epoch);

/* Nothing came: looks for idle keys, and gives the CPU away. */
void worker_rest(struct worker *worker);
/* The first part of it. */
void worker_look_for_idle_keys(struct worker *worker);

/* Its receiver has put something into its ring, or slot. */
static inline void worker_wake(struct worker *worker)
{
	if (worker->blocks)
		wakeup_look(&worker->wakeup);
}

/* Frees packets that were counted. */
void worker_free(struct worker *worker, struct rte_mbuf **pkts, uint32_t n);

/* Counts n <= BURST_MAX packets of the worker's epoch that were received in rx_cycles; then they
 * are done(). */
void worker_count(struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);

/* The same of a worker with a keeper, which says what of them is looked at. */
void worker_count_kept(
	struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);

/* The second half of worker_count(): matches rules, and counts the keys, lengths and details that bursts[0]
 * holds. */
void worker_count_read(struct generation *generation);

/* The same as worker_count() of what its poller found, which it sends on once their headers were read. */
void worker_forward(struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);
