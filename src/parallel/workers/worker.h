/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * State of a worker and the processing of a burst in all designs: filter, parse once, hash once per
 * key rule, update the sketch of every measurement. The design (parallel/plan/design.h) owns the
 * loop that receives the bursts.
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
 * Counts of a worker in one epoch. Owned by the worker while it is in the epoch, then read and
 * cleared by the reporter (parallel/epoch.h).
 */
struct generation {
	alignas(64) uint64_t received; /* packets polled from a device; 0 if a receiver polls */
	uint64_t counted;              /* packets that reached the worker */
	uint64_t filtered;             /* part of these not selected by filter and rules */
	uint64_t duplicate; /* packets reported by more than one flow record (collector_source.h) */
	uint64_t ring_full; /* received packets dropped because a ring was full */
	uint64_t measured;
	struct sketch_undecoded undecoded; /* measured packets whose flow could not be decoded */
	struct parse_counts counts;
	/* TSC cycles of successful polls, of parsing and updating, and of freeing. */
	uint64_t rx_cycles, ppt_cycles, free_cycles;
	uint64_t bursts; /* bursts of all epochs; selects the timed ones */
	/* --prefixes: rules of the epoch, and their counters of this worker; NULL: none. */
	const struct prefix_filter *monitor;
	struct prefix_counts *rules;
	/* Measurements of the epoch (parallel/run/measurements.h). */
	struct counting *counting;                             /* this worker's */
	struct hyperloglog *distinct[CONFIG_MEASUREMENTS_MAX]; /* this worker's */
	/* owned by this worker, or shared by all workers */
	struct sketch *sketch[CONFIG_MEASUREMENTS_MAX];
	struct costs costs;            /* cost of the timed bursts */
	struct shed_counts kept;       /* 0 without load shedding */
	struct drill_down_sets within; /* empty without drill-down */
};

struct digest_ring;
struct forward;
struct run;
struct sync_slot;

struct worker {
	/* Set before start, read by the worker. */
	uint32_t id;
	uint32_t group, part; /* group, and index among the workers of the group */
	const struct run *run;
	void *source; /* input of the design of a source of keys or records; else NULL */
	enum idle_mode idle;
	bool blocks;      /* sleeps until its receiver or the kernel has packets for it */
	uint32_t wait_ms; /* longest sleep, ms */
	struct epochs *epochs;
	struct shed_worker *shed; /* NULL: every packet is processed */
	struct poller poller;     /* rss: its own queues; async: only `ring`, for load shedding */
	struct forward *forward;  /* NULL: without --forward */
	/* Callback of the design; its time counts as freeing. */
	void (*done)(struct worker *worker, struct rte_mbuf **pkts, uint32_t n);
	struct sync_slot *slot; /* sync: its part of a burst, written by the receiver */
	struct rte_ring *ring;  /* async: packets from the receiver */
	/* async with --forward: digests from the receiver; else NULL */
	struct digest_ring *digests;

	/* Owned by the worker. */
	alignas(64) uint64_t epoch;
	struct generation generations[2];
	struct reader reader;

	struct wakeup wakeup;       /* signaled by its receiver */
	struct shed_mailbox states; /* mailbox between reporter and worker */

	/* Set by the worker after its loop, with release. */
	alignas(64) _Atomic bool finished;
};

static inline struct generation *worker_generation(struct worker *worker, uint64_t epoch)
{
	return &worker->generations[epoch & 1];
}

/* Leaves every epoch before `epoch`, and waits until the generation of `epoch` is clean. */
void worker_enter_epoch(struct worker *worker, uint64_t epoch);
/* Leaves every epoch before `epoch`, the one after the last. */
void worker_leave(struct worker *worker, uint64_t epoch);

/* Called if no packet arrived: looks for idle keys, and yields or sleeps. */
void worker_rest(struct worker *worker);
/* First part of worker_rest(). */
void worker_look_for_idle_keys(struct worker *worker);

/* Called by the receiver after it filled the ring or slot of the worker. */
static inline void worker_wake(struct worker *worker)
{
	if (worker->blocks)
		wakeup_look(&worker->wakeup);
}

/* Frees counted packets. */
void worker_free(struct worker *worker, struct rte_mbuf **pkts, uint32_t n);

/*
 * Counts n <= BURST_MAX packets of the worker's epoch, received in rx_cycles, and passes them to
 * done().
 */
void worker_count(struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);

/* As worker_count(), with load shedding. */
void worker_count_kept(
	struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);

/*
 * Second half of worker_count(): matches rules, and counts the keys, lengths and details in
 * bursts[0].
 */
void worker_count_read(struct generation *generation);

/* As worker_count(), but forwards the packets after reading their headers. */
void worker_forward(struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);
