/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The receiver: an lcore that polls the ports of a group for its workers. */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "parallel/epoch.h"
#include "parallel/workers/poll.h"
#include "parallel/workers/worker.h"
#include "rx/packet/rss_hash.h"

/* Owned by the receiver while it is in the epoch, then by the reporter. */
struct rx_core_generation {
	alignas(64) uint64_t received;
	uint64_t rx_cycles; /* TSC cycles of polls with packets and of dispatch to workers */
	/* Only with off-path forwarding (parallel/designs/forward_off_path.h): */
	uint64_t filtered;
	struct parse_counts counts;
	uint64_t ppt_cycles;  /* TSC cycles of parsing and of writing digests */
	uint64_t free_cycles; /* TSC cycles of sending */
	/* Packets or digests dropped because the ring of a worker was full. */
	uint64_t ring_full[PLAN_WORKERS_MAX];
};

struct rx_core_group {
	uint32_t n;
	struct rte_mbuf *pkts[POLL_BURST_MAX];
};

struct forward;
struct off_path;

struct rx_core {
	/* Set before start. */
	const struct run *run;
	void *source;         /* data of a struct source_ops; NULL: packets come from ports */
	uint32_t participant; /* number as a participant of the epochs (parallel/epoch.h) */
	uint32_t nb_workers;
	struct worker *const *workers;
	bool may_drop; /* design async: drop packets if a ring is full */
	enum dispatch dispatch;
	uint8_t reta[RSS_RETA_SIZE]; /* worker in the group, by flow hash modulo RSS_RETA_SIZE */
	struct rss_mask hashed;      /* fields of the flow hash, if the device computes none */
	struct poller poller;
	struct forward *forward; /* NULL: without --forward */

	/* Written by the receiver. */
	alignas(64) uint64_t epoch;
	struct rx_core_generation generations[2];
	struct rx_core_group *groups; /* [nb_workers]; only for design async */
	struct off_path *off_path;    /* NULL: without off-path forwarding */
	uint32_t next;                /* worker of the next packet, unless a flow hash selects it */

	/* Set by the receiver after its loop, with release. */
	alignas(64) _Atomic bool finished;
};

static inline struct rx_core_generation *rx_core_generation(struct rx_core *rx_core, uint64_t epoch)
{
	return &rx_core->generations[epoch & 1];
}

/* Only the receiver may call this. */
void rx_core_leave(struct rx_core *rx_core, uint64_t epoch);
/* Only the reporter may call this. */
void rx_core_recycle(struct rx_core *rx_core, uint64_t epoch);
/* Waits until the reporter has cleared the counters for the receiver's epoch. */
void rx_core_wait(const struct rx_core *rx_core);
