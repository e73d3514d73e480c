/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What a worker owns and what it does with a burst, whatever the design: parse once, hash once per
 * key rule, update the sketch of every measurement. The design (parallel/design.h) owns the loop
 * that brings the bursts.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base/hash.h"
#include "base/key_burst.h"
#include "parallel/epoch.h"
#include "rx/parse_burst.h"
#include "sketch/hyperloglog.h"
#include "sketch/sketch.h"

/* One measurement's state on one worker in one generation. */
struct instance {
	struct sketch *sketch;
	struct hyperloglog *distinct;
};

/*
 * All that a worker counts in one epoch. Written by the worker while the epoch is its own, read and
 * cleared by the reporter afterwards (parallel/epoch.h).
 */
struct generation {
	alignas(64) uint64_t received;
	uint64_t measured;
	struct parse_counts counts;
	/* TSC cycles of polls that found packets, of parsing and updating, of freeing. */
	uint64_t rx_cycles, ppt_cycles, free_cycles;
	struct instance instances[CONFIG_MEASUREMENTS_MAX];
};

struct run;

/* A queue that a worker polls. */
struct worker_queue {
	uint16_t port, queue;
};

struct worker {
	/* Written before the start, read by the worker. */
	uint32_t id;
	const struct run *run;
	bool replay; /* packets carry struct packet_meta */
	bool yield;
	uint32_t nb_queues;
	struct worker_queue queues[CONFIG_LIST_MAX];
	struct epochs *epochs;
	const struct hash_key *hash_key;
	enum sketch_sharing sharing;
	uint32_t nb_measurements;
	const struct sketch_ops *ops[CONFIG_MEASUREMENTS_MAX];
	uint32_t rule_of[CONFIG_MEASUREMENTS_MAX]; /* measurement m counts bursts[rule_of[m]] */
	uint32_t nb_rules;
	const struct key_rule *rules[CONFIG_MEASUREMENTS_MAX]; /* rules[0] is the full 5-tuple */

	/* Written by the worker. */
	alignas(64) uint64_t epoch;
	struct generation generations[2];
	struct key_burst *bursts; /* [nb_rules] */

	/* Set by the worker when its loop ended, with release. */
	alignas(64) _Atomic bool finished;
};

static inline struct generation *worker_generation(struct worker *worker, uint64_t epoch)
{
	return &worker->generations[epoch & 1];
}

/* Leaves every epoch before `epoch`, and waits until the generation of `epoch` is clean. */
void worker_enter_epoch(struct worker *worker, uint64_t epoch);

/*
 * Counts n <= BURST_MAX packets that were received in rx_cycles, into the epochs that they belong
 * to, and frees them.
 */
void worker_count(struct worker *worker, struct rte_mbuf **pkts, uint32_t n, uint64_t rx_cycles);

/* What a poll loop does when nothing came. */
void worker_idle(const struct worker *worker);
