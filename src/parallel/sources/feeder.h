/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The feeder is an lcore that makes a source of packets look like a NIC: it distributes packets by
 * RSS hash over rings that form an ethdev. If a ring is full, it drops packets with --pace, and
 * waits otherwise.
 *
 * The feeder also opens epochs, by the timestamps of packets or, if packets are generated with
 * --pace, by the clock.
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
	/* ns, by timestamps on a replay, otherwise by the clock; 0: no limit */
	uint64_t duration;
	uint64_t packets; /* 0: no limit */
};

OPTION_OWNER(feeder)

bool feeder_read_pace(const struct option_text *text);

#define FEEDER_QUEUES_MAX 16

struct feeder_params {
	struct source *source;
	struct epochs *epochs;
	uint32_t nb_queues;
	uint32_t descriptors;      /* entries of each ring, a power of two */
	uint32_t mbufs, mbuf_room; /* number of mbufs, and bytes of data in each */
	uint32_t mbuf_cache;       /* mbufs in the mempool cache of each lcore */
	int node;
	enum pace pace;
	uint64_t pace_rate;
	bool lossless;     /* wait while a ring is full, even with --pace */
	uint64_t interval; /* length of an epoch, ns; 0: one epoch */
	uint64_t packets;  /* 0: no limit */
	uint64_t duration; /* ns; 0: no limit */
	enum idle_mode idle;
};

struct feeder;

bool feeder_time_is_generated(const struct feeder *feeder);

/* Returns NULL on error, with one line in error[SOURCE_ERROR_MAX]. */
struct feeder *feeder_create(const struct feeder_params *params, char *error);
void feeder_destroy(struct feeder *feeder);

/* Queue w of the ethdev is for worker w. */
uint16_t feeder_port(const struct feeder *feeder);
struct rte_ring *feeder_ring(const struct feeder *feeder, uint32_t w);

/* Makes the feeder copy at least `reach` bytes of each packet. Must be called before the start. */
void feeder_set_reach(struct feeder *feeder, uint32_t reach);

/* Ends with the source or the run. Returns 0. */
int feeder_work(void *feeder);

/* Any thread may call this. */
void feeder_stop(struct feeder *feeder);
/* Any thread may call this. */
bool feeder_finished(const struct feeder *feeder);
struct feeder_progress {
	uint64_t packets;
	uint64_t bytes; /* on the wire */
	double share;   /* share of the source that was read, 0 to 1; negative: unknown */
};
/* Any thread may call this. */
struct feeder_progress feeder_progress(const struct feeder *feeder);

/* Writes warning i to text[SOURCE_ERROR_MAX]. Returns false if the source has fewer warnings. */
bool feeder_warning(const struct feeder *feeder, unsigned int i, char *text);
/* Returns NULL if the source is undamaged. Only valid after feeder_work(). */
const char *feeder_damage(const struct feeder *feeder);
