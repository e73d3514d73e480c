/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Lcore that receives for the workers of a group, in designs that have one. It is a participant of
 * epochs like a worker, for its own counters: received packets, and packets dropped because the
 * ring of a worker was full.
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
	/*
	 * Off-path only: counts of packets without a digest, and TSC cycles of parsing and passing
	 * digests, and of sending. Workers count the bytes.
	 */
	uint64_t filtered;
	struct parse_counts counts;
	uint64_t ppt_cycles, free_cycles;
	uint64_t ring_full[PLAN_WORKERS_MAX]; /* dropped packets, by worker of the group */
};

/* Packets of one burst that go to one worker. */
struct rx_core_group {
	uint32_t n;
	struct rte_mbuf *pkts[POLL_BURST_MAX];
};

struct forward;
struct off_path;

struct rx_core {
	/* Set before start, read by the receiver. */
	const struct run *run;
	void *source;         /* same as in struct worker */
	uint32_t participant; /* index among the participants of epochs */
	uint32_t nb_workers;  /* workers in the group */
	struct worker *const *workers;
	bool may_drop; /* async: drops packets if a ring is full; else waits */
	enum dispatch dispatch;
	uint8_t reta[RSS_RETA_SIZE]; /* worker by flow hash */
	struct rss_mask hashed;      /* hash fields for packets without a hash */
	struct poller poller;        /* queues of the devices */
	struct forward *forward;     /* NULL: without --forward */

	/* Written by the receiver. */
	alignas(64) uint64_t epoch;
	struct rx_core_generation generations[2];
	struct rx_core_group *groups; /* [nb_workers], async */
	struct off_path *off_path;    /* NULL: workers get packets, not digests */
	uint32_t next;                /* next worker if packets are distributed by index */

	/* Set by the receiver after its loop, with release. */
	alignas(64) _Atomic bool finished;
};

static inline struct rx_core_generation *rx_core_generation(struct rx_core *rx_core, uint64_t epoch)
{
	return &rx_core->generations[epoch & 1];
}

/* Called by the receiver: it never touches an epoch before `epoch` again. */
void rx_core_leave(struct rx_core *rx_core, uint64_t epoch);
/* Called by the reporter. Clears the generation of `epoch`. */
void rx_core_recycle(struct rx_core *rx_core, uint64_t epoch);
/* Waits until the generation of the receiver's epoch is clean. */
void rx_core_wait(const struct rx_core *rx_core);
