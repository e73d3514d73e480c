/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

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

/* Owned by the worker while it is in the epoch, then by the reporter (parallel/epoch.h). */
struct generation {
	alignas(64) uint64_t received; /* packets that this worker polled; 0 if a receiver polls */
	uint64_t counted;              /* packets that this worker got */
	uint64_t filtered;  /* part of `counted` that does not match the filter or --prefixes */
	uint64_t duplicate; /* packets that another flow record has reported (collector_source.h) */
	uint64_t ring_full; /* received packets that were dropped because a ring was full */
	uint64_t measured;
	struct sketch_undecoded undecoded; /* part of `measured` whose flow could not be decoded */
	struct parse_counts counts;
	uint64_t rx_cycles;   /* TSC cycles of polls with packets */
	uint64_t ppt_cycles;  /* TSC cycles of parsing and counting */
	uint64_t free_cycles; /* TSC cycles of freeing or sending packets */
	uint64_t bursts;      /* bursts in the whole run */
	/* NULL: without --prefixes */
	const struct prefix_filter *monitor;
	struct prefix_counts *rules;
	struct counting *counting;
	struct hyperloglog *distinct[CONFIG_MEASUREMENTS_MAX];
	/* Shared by all workers with --sharing shared. */
	struct sketch *sketch[CONFIG_MEASUREMENTS_MAX];
	struct costs costs;      /* times of the timed bursts */
	struct shed_counts kept; /* packets that load shedding did not measure */
	struct drill_down_sets within;
};

struct digest_ring;
struct forward;
struct run;
struct sync_slot;

struct worker {
	/* Set before start. */
	uint32_t id;
	uint32_t group;
	uint32_t part; /* index among the workers of the group */
	const struct run *run;
	void *source; /* input, if the source delivers keys or flow records */
	enum idle_mode idle;
	bool blocks;      /* sleeps until another thread wakes it */
	uint32_t wait_ms; /* longest sleep, ms */
	struct epochs *epochs;
	struct shed_worker *shed;    /* NULL: without load shedding */
	struct shedding_queue queue; /* for worker_look() */
	struct poller poller;    /* rss: queues of this worker; async: `ring`, for load shedding */
	struct forward *forward; /* NULL: without --forward */
	/* Its time counts in free_cycles. */
	void (*done)(struct worker *worker, struct rte_mbuf **pkts, uint32_t n);
	struct sync_slot *slot;      /* sync: bursts from the receiver */
	struct rte_ring *ring;       /* async: packets from the receiver */
	struct digest_ring *digests; /* async with --forward */

	/* Owned by the worker. */
	alignas(64) uint64_t epoch;
	struct generation generations[2];
	struct reader reader;

	struct wakeup wakeup;       /* signaled by the receiver */
	struct shed_mailbox states; /* exchanges data with the controller in the reporter */

	/* Set by the worker after its loop, with release. */
	alignas(64) _Atomic bool finished;
};

static inline struct generation *worker_generation(struct worker *worker, uint64_t epoch)
{
	return &worker->generations[epoch & 1];
}

/* Waits until the reporter has cleared the generation of `epoch`. */
void worker_enter_epoch(struct worker *worker, uint64_t epoch);
/* `epoch` is the first one after the end of the run. */
void worker_leave(struct worker *worker, uint64_t epoch);

/* Must be called if no packets arrived. */
void worker_rest(struct worker *worker);
/* Part of worker_rest(): also counts packets that wait. */
void worker_look_for_idle_keys(struct worker *worker);

/* The receiver calls this after it has filled the ring or the slot. */
static inline void worker_wake(struct worker *worker)
{
	if (worker->blocks)
		wakeup_look(&worker->wakeup);
}

void worker_free(struct worker *worker, struct rte_mbuf **pkts, uint32_t n);

/* Counts n <= BURST_MAX packets and passes them to done(). rx_cycles: TSC cycles of their poll. */
void worker_count(struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);

void worker_count_kept(
	struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);

/* Applies --prefixes to the keys in bursts[0], and counts them. */
void worker_count_read(struct generation *generation);

/* Load shedding follows a queue of `entries`, in which `waiting` are left. */
void worker_look(struct worker *worker, uint32_t waiting, uint32_t entries);

/*
 * Counts the keys in bursts[0] with load shedding. The caller has added them to generation->measured
 * and counts.bytes. start: TSC when they were taken. weighted: the entries have weights.
 */
void worker_count_entries(struct worker *worker, bool weighted, uint64_t start);

/* With load shedding. */
void worker_forward_kept(
	struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);

/* Sends the packets once their headers are read, instead of calling done(). */
void worker_forward(struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);
