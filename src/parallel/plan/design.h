/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A design implements the loops of receivers and workers: how packets reach the workers. */

#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"

struct design_options {
	uint32_t design; /* index in designs[] */
};

OPTION_OWNER(design)

/* Rule by which the receiver of the async design selects the worker of a packet. */
enum dispatch {
	DISPATCH_FLOW, /* all packets of a flow go to the same worker */
	DISPATCH_ROUND_ROBIN,
};

struct async_options {
	enum dispatch dispatch;
	uint32_t ring_size;
};

OPTION_OWNER(async)

/* Returns NULL after the last design. */
const char *design_word(uint32_t i);

struct rx_core;
struct rte_mbuf;
struct worker;

struct design_ops {
	const char *name;
	const char *suits;                  /* one line for --help */
	const struct option_owner *options; /* NULL: none */
	/* A receiver per group polls the ports. Otherwise each worker polls its own queues. */
	bool rx_core;
	bool rings;   /* a ring connects the receiver and each worker */
	bool digests; /* rings carry digests instead of packets with --forward */
	bool forwards;
	bool queues; /* each worker has its own queue or ring, which --overload requires */
	bool hashes; /* supports --dispatch flow */
	/* Most packets that a receiver keeps until workers have counted them. */
	uint32_t held;
	/* Sets the callbacks of the receiver's poller. NULL: the design has no receiver. */
	void (*connect)(struct rx_core *rx_core);
	/* NULL: poll_until_end() */
	void (*receive)(struct rx_core *rx_core);
	/* Runs until the end of the run. The worker's group has nb_workers workers. */
	void (*work)(struct worker *worker, uint32_t nb_workers);
	/* Called with packets that the worker has counted. */
	void (*done)(struct worker *worker, struct rte_mbuf **pkts, uint32_t n);
};

extern const struct design_ops design_rss, design_sync, design_async;

/* Ends with NULL. */
extern const struct design_ops *const designs[];

const struct design_ops *design_find(const char *name);

/*
 * Returns the design of --design. Its default is rss. With --overload it is async for sources of
 * keys that have check_design(), such as --kernel, whose packets wait in no queue under rss.
 */
const struct design_ops *design_chosen(const struct config *config);
uint32_t design_index(const char *name);
