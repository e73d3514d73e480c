/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Lcore that receives for the workers of a group, in designs that have one. It takes part in epochs
 * like a worker, for its own counters: received packets, and packets dropped because a ring to a
 * worker was full.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "parallel/epoch.h"
#include "parallel/workers/poll.h"
#include "parallel/workers/worker.h"
#include "rx/packet/rss_hash.h"

/* Counters of one epoch; see struct generation. */
struct rx_core_generation {
	alignas(64) uint64_t received;
	uint64_t rx_cycles; /* cycles of successful polls and of passing packets on */
	/* Off-path: what became of packets of which workers hear nothing, and TSC cycles of reading
	 * headers and handing over digests, of sending. Bytes are the workers' to count. */
	uint64_t filtered;
	struct parse_counts counts;
	uint64_t ppt_cycles, free_cycles;
	uint64_t ring_full[PLAN_WORKERS_MAX]; /* by worker of the group */
};

/* Packets of one burst that go to one worker. */
struct rx_core_group {
	uint32_t n;
	struct rte_mbuf *pkts[POLL_BURST_MAX];
};

struct forward;
struct off_path;

struct rx_core {
	/* Written before the start, read by the receiver. */
	const struct run *run;
	struct collector_source *collect; /* NULL: packets are the input */
	uint32_t participant;             /* its number among those who take part in epochs */
	uint32_t nb_workers;              /* workers in the group */
	struct worker *const *workers;
	bool may_drop; /* async: a full ring costs packets, not time */
	enum dispatch dispatch;
	uint8_t reta[RSS_RETA_SIZE]; /* worker by flow hash */
	struct rss_mask hashed;      /* hash fields for packets without a hash */
	struct poller poller;        /* the device's queues */
	struct forward *forward;     /* where what it receives goes; NULL: to the workers */

	/* Written by the receiver. */
	alignas(64) uint64_t epoch;
	struct rx_core_generation generations[2];
	struct rx_core_group *groups; /* [nb_workers], async */
	struct off_path *off_path;    /* NULL: packets are handed over, not digests */
	uint32_t next; /* worker of the next packet where position decides: index modulo workers */

	/* Set by the receiver when its loop ended, with release. */
	alignas(64) _Atomic bool finished;
};

static inline struct rx_core_generation *rx_core_generation(struct rx_core *rx_core, uint64_t epoch)
{
	return &rx_core->generations[epoch & 1];
}

/* The receiver touches no epoch before `epoch` again. */
void rx_core_leave(struct rx_core *rx_core, uint64_t epoch);
/* The reporter: the generation of `epoch` is clean again. */
void rx_core_recycle(struct rx_core *rx_core, uint64_t epoch);
/* Waits until the generation of its epoch is clean. */
void rx_core_wait(const struct rx_core *rx_core);
