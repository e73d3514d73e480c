/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The feeder lcore makes a source look like a card: it hashes every packet as a card would, copies
 * the bytes that decide its key into an mbuf, and puts it on the ring of the queue that the hash
 * chooses. The rings are an ethdev, so workers cannot tell the difference.
 *
 * Without pacing it waits where a ring is full and nothing is lost; with pacing it drops and
 * counts, as a card does. It also tells the time: epochs follow the packets' time stamps. Packets that
 * are generated at a pace are live, though: they get the clock's time when they are due, and epochs end
 * by the clock, also without packets.
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
	/* ns; 0: no limit. Packet time on replay; the clock's on a port, or generated at a pace. */
	uint64_t duration;
	uint64_t packets; /* 0: no limit */
};

OPTION_OWNER(feeder)

/* read() of an option that stores a pace followed by its rate. */
bool feeder_read_pace(const struct option_text *text);

#define FEEDER_QUEUES_MAX 16

struct feeder_params {
	struct source *source;
	struct epochs *epochs;
	uint32_t nb_queues;
	uint32_t descriptors; /* entries of each ring, a power of two */
	uint32_t mbufs, mbuf_room;
	uint32_t mbuf_cache; /* mbufs that an lcore may keep for itself */
	int node;
	enum pace pace;
	uint64_t pace_rate; /* packets per second */
	bool lossless;      /* a full ring is waited for, paced or not */
	uint64_t interval;  /* ns; 0: one epoch */
	uint64_t packets;   /* 0: no limit */
	uint64_t duration;  /* ns of packet time, live the clock's; 0: no limit */
	enum idle_mode idle;
};

struct feeder;

/* True if the packets' time stamps are made up and nothing paces them: no rate of traffic follows. */
bool feeder_time_is_generated(const struct feeder *feeder);

/* Makes the rings, their ethdev and its mempools. NULL with one line in error[SOURCE_ERROR_MAX]. */
struct feeder *feeder_create(const struct feeder_params *params, char *error);
void feeder_destroy(struct feeder *feeder);

/* The ethdev whose queue w is worker w's ring. */
uint16_t feeder_port(const struct feeder *feeder);
struct rte_ring *feeder_ring(const struct feeder *feeder, uint32_t w);

/* Before feeder_work(): of every packet the first `reach` bytes are copied, whatever its key
 * needs. */
void feeder_set_reach(struct feeder *feeder, uint32_t reach);

/* The whole loop; an lcore function. Returns 0; feeder_damage() says how the source ended. */
int feeder_work(void *feeder);

/* Any thread: ends the replay after the packet at hand. */
void feeder_stop(struct feeder *feeder);
/* Any thread: true after feeder_work() returned. */
bool feeder_finished(const struct feeder *feeder);
/* Any thread: packets and bytes on the wire that were fed, and the share of the source they are. */
struct feeder_progress {
	uint64_t packets, bytes;
	double share; /* negative: unknown */
};
struct feeder_progress feeder_progress(const struct feeder *feeder);

/* After feeder_work(): warning i of the source, as its warning(). */
bool feeder_warning(const struct feeder *feeder, unsigned int i, char *text);
/* After feeder_work(): one line where the source was damaged, NULL where it ended well. */
const char *feeder_damage(const struct feeder *feeder);
