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
	DISPATCH_FLOW,        /* by the flow hash: a flow stays on one worker */
	DISPATCH_ROUND_ROBIN, /* by the packet's index */
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
	const char *name;                   /* the word after --design */
	const char *suits;                  /* when to choose it: a line of help */
	const struct option_owner *options; /* options of this design; NULL: none */
	/* A receiver in every group polls one queue of each port for the workers. Without, each
	 * worker polls a queue of its own. */
	bool rx_core;
	bool rings;   /* between the receiver and each worker: ring-size entries */
	bool digests; /* with --forward, rings carry digests instead of packets */
	bool forwards; /* the polling core may send packets before they are counted: supports --forward */
	bool queues;   /* each worker has a queue or ring of its own, which --overload looks at */
	bool hashes;   /* the receiver chooses workers by the flow hash, where --dispatch says so */
	uint32_t held; /* packets that a receiver keeps until they are counted; 0: it polls
			  BURST_MAX at once and hands them on */
	/* Says what becomes of the packets that a receiver polls: enter(), take() and end() of its
	 * poller. NULL without a receiver. */
	void (*connect)(struct rx_core *rx_core);
	/* The receiver's loop; NULL: poll_until_end(). */
	void (*receive)(struct rx_core *rx_core);
	/* The loop of one of the nb_workers workers of a group, until it left the last epoch. */
	void (*work)(struct worker *worker, uint32_t nb_workers);
	/* Receives counted packets: worker_free(), or the next stage. */
	void (*done)(struct worker *worker, struct rte_mbuf **pkts, uint32_t n);
};

/* Those that something names; all are in designs[]. */
extern const struct design_ops design_rss, design_sync, design_async;

/* Every design of the list in src/parallel/designs/meson.build, NULL at the end. */
extern const struct design_ops *const designs[];

/* Returns the design of this name, or NULL. */
const struct design_ops *design_find(const char *name);
/* Its place in designs[]; of a name that there is. */
uint32_t design_index(const char *name);
