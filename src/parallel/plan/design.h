/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Distribution of packets to the cores that count them. A design owns the loops of its lcores and
 * declares what it needs. No other code depends on which design runs.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"

struct design_options {
	uint32_t design; /* index in designs[] */
};

OPTION_OWNER(design)

/* Choice of the worker in the async design. */
enum dispatch {
	DISPATCH_FLOW,        /* flow hash: a flow stays on one worker */
	DISPATCH_ROUND_ROBIN, /* packet index modulo workers */
};

struct async_options {
	enum dispatch dispatch;
	uint32_t ring_size; /* entries of each ring between receiver and worker */
};

OPTION_OWNER(async)

/* Returns the name; NULL after the last. */
const char *design_word(uint32_t i);

struct rx_core;
struct rte_mbuf;
struct worker;

struct design_ops {
	const char *name;                   /* value of --design */
	const char *suits;                  /* one line of help: best use */
	const struct option_owner *options; /* options of this design; NULL: none */
	/*
	 * Each group has a receiver, which polls one queue of each port for the workers. Otherwise
	 * each worker polls its own queue.
	 */
	bool rx_core;
	bool rings;   /* uses a ring of ring-size entries between the receiver and each worker */
	bool digests; /* rings carry digests instead of packets with --forward */
	/* the polling core may send packets before they are counted: supports --forward */
	bool forwards;
	bool queues; /* each worker has its own queue or ring, whose fill level --overload needs */
	bool hashes; /* supports --dispatch by flow hash */
	/* packets that a receiver holds until they are counted; 0: none, polls BURST_MAX */
	uint32_t held;
	/*
	 * Sets the callbacks of the receiver's poller: enter(), take() and end(). NULL without a
	 * receiver.
	 */
	void (*connect)(struct rx_core *rx_core);
	/* Runs the receiver's loop; NULL: poll_until_end(). */
	void (*receive)(struct rx_core *rx_core);
	/*
	 * Runs the loop of one of the nb_workers workers of a group until it leaves the last epoch.
	 */
	void (*work)(struct worker *worker, uint32_t nb_workers);
	/* Takes counted packets: worker_free(), or the next stage. */
	void (*done)(struct worker *worker, struct rte_mbuf **pkts, uint32_t n);
};

/* Designs that other code refers to; designs[] has all. */
extern const struct design_ops design_rss, design_sync, design_async;

/* All designs listed in src/parallel/designs/meson.build; NULL after the last. */
extern const struct design_ops *const designs[];

/* Returns the design of this name, or NULL. */
const struct design_ops *design_find(const char *name);
/* Returns the index in designs[] of a name that must exist. */
uint32_t design_index(const char *name);
