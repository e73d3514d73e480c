/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The feeder is an lcore that makes a source of packets look like a NIC. It hashes every packet as
 * a NIC does, copies the bytes that determine its key to an mbuf, and puts the mbuf on the ring
 * that the hash selects. The rings form an ethdev, so workers poll it like any port. Without
 * --pace, the feeder waits while a ring is full. With --pace, it drops and counts packets then, as
 * a NIC does.
 *
 * The feeder also opens epochs, by the timestamps of packets. There is one exception: packets that
 * are generated with --pace are live. A live packet gets the time of the clock when it is due, and
 * epochs end by the clock, also if no packet is due.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mempool.h>
#include <rte_ring.h>

#include "config/config.h"
#include "parallel/epoch.h"
#include "parallel/plan/plan.h"
#include "parallel/sources/pacer.h"
#include "rx/source.h"

struct feeder_options {
	enum pace pace;
	uint64_t pace_rate; /* packets per second, for PACE_RATE */
	/*
	 * Duration of the run in ns, by timestamps of packets on a replay, by the clock on ports
	 * and for live packets. 0: no limit.
	 */
	uint64_t duration;
	uint64_t packets; /* 0: no limit */
};

OPTION_OWNER(feeder)

/* Callback for option_row.read. The field of the option must be feeder_options.pace. */
bool feeder_read_pace(const struct option_text *text);

#define FEEDER_QUEUES_MAX 16

struct feeder_params {
	struct source *source;
	struct epochs *epochs;
	uint32_t nb_queues;
	uint32_t descriptors;      /* entries of each ring, a power of two */
	uint32_t mbufs, mbuf_room; /* number of mbufs, and bytes of data in each */
	uint32_t mbuf_cache;       /* size of the mempool cache of each lcore, mbufs */
	int node;
	enum pace pace;
	uint64_t pace_rate; /* packets per second */
	bool lossless;      /* true: wait while a ring is full, also with --pace */
	uint64_t interval;  /* length of an epoch, ns; 0: one epoch */
	uint64_t packets;   /* 0: no limit */
	uint64_t duration;  /* ns; see struct feeder_options */
	enum idle_mode idle;
};

struct feeder;

/* Returns true if timestamps are synthetic: packets were generated without --pace. */
bool feeder_time_is_generated(const struct feeder *feeder);

/*
 * Creates the rings, their ethdev and its mempools. Returns NULL on error, with one line in
 * error[SOURCE_ERROR_MAX].
 */
struct feeder *feeder_create(const struct feeder_params *params, char *error);
void feeder_destroy(struct feeder *feeder);

/* Return the port ID of the ethdev, and the ring of its queue w. Queue w is for worker w. */
uint16_t feeder_port(const struct feeder *feeder);
struct rte_ring *feeder_ring(const struct feeder *feeder, uint32_t w);

/* Makes the feeder copy the first `reach` bytes of packets or more. Call before feeder_work(). */
void feeder_set_reach(struct feeder *feeder, uint32_t reach);

/* Runs the loop of the feeder until the source or the run ends. Returns 0. */
int feeder_work(void *feeder);

/* Stops feeder_work() after the current packet. Any thread. */
void feeder_stop(struct feeder *feeder);
/* Returns true if the loop of feeder_work() has ended. Any thread. */
bool feeder_finished(const struct feeder *feeder);
struct feeder_progress {
	uint64_t packets;
	uint64_t bytes; /* on the wire */
	double share;   /* share of the source that was read, 0 to 1; negative: unknown */
};
/* Any thread. */
struct feeder_progress feeder_progress(const struct feeder *feeder);

/*
 * Writes warning i, counted from 0, of the source to text[SOURCE_ERROR_MAX]. Returns false if there
 * are no more warnings. Call after feeder_work().
 */
bool feeder_warning(const struct feeder *feeder, unsigned int i, char *text);
/* Returns one line that describes damage of the source, or NULL. Call after feeder_work(). */
const char *feeder_damage(const struct feeder *feeder);
