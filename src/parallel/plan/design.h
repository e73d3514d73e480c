/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A design distributes packets to the workers, which count them. It implements the loops of
 * receivers and workers. Its struct design_ops has its requirements, so that other code does not
 * depend on a certain design.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"

struct design_options {
	uint32_t design; /* index in designs[] */
};

OPTION_OWNER(design)

/* Rule by which the receiver of the async design selects the worker of a packet. */
enum dispatch {
	DISPATCH_FLOW,        /* flow hash: all packets of a flow have the same worker */
	DISPATCH_ROUND_ROBIN, /* one worker after the other */
};

struct async_options {
	enum dispatch dispatch;
	uint32_t ring_size;
};

OPTION_OWNER(async)

/* Returns the name of design i, or NULL after the last one. */
const char *design_word(uint32_t i);

struct rx_core;
struct rte_mbuf;
struct worker;

struct design_ops {
	const char *name;                   /* value of --design */
	const char *suits;                  /* one line for --help: the best use of the design */
	const struct option_owner *options; /* options of this design; NULL: none */
	/*
	 * true: each group of ports has a receiver, which polls one queue of each port. false: each
	 * worker polls its own queue of each port.
	 */
	bool rx_core;
	bool rings;    /* true: a ring connects the receiver and each worker */
	bool digests;  /* true: with --forward, rings have digests instead of packets */
	bool forwards; /* true: supports --forward */
	bool queues;   /* true: each worker has its own queue or ring; --overload needs this */
	bool hashes;   /* true: supports --dispatch flow */
	/*
	 * Maximum packets that a receiver keeps until the workers have counted them. It then polls
	 * up to this number. 0: a receiver keeps no packets, and polls up to BURST_MAX.
	 */
	uint32_t held;
	/* Sets the callbacks of the poller of a receiver. NULL if there is no receiver. */
	void (*connect)(struct rx_core *rx_core);
	/* Runs the loop of a receiver. NULL: poll_until_end(). */
	void (*receive)(struct rx_core *rx_core);
	/* Runs the loop of a worker until the end of the run. Its group has nb_workers workers. */
	void (*work)(struct worker *worker, uint32_t nb_workers);
	/* Called with packets that the worker has counted. worker_free() frees them. */
	void (*done)(struct worker *worker, struct rte_mbuf **pkts, uint32_t n);
};

/* Designs that other code names directly. */
extern const struct design_ops design_rss, design_sync, design_async;

/* All designs of src/parallel/designs/meson.build. The last element is NULL. */
extern const struct design_ops *const designs[];

/* Returns the design with this name, or NULL. */
const struct design_ops *design_find(const char *name);
/* Returns the index in designs[] of the design with this name, which must exist. */
uint32_t design_index(const char *name);
