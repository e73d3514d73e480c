/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The feeder lcore makes a source look like a network card. It hashes every packet as a card does,
 * copies the bytes that decide its key into an mbuf, and puts it on the ring of the queue that the
 * hash selects. The rings form an ethdev, so workers poll it like any port. Without pacing, the
 * feeder waits if a ring is full, and loses nothing. With pacing it drops and counts packets, as a
 * card does.
 *
 * The feeder also opens epochs by the timestamps of packets. Packets generated at a pace are live
 * instead: they get the clock's time when they are due, and epochs end by the clock, even without
 * packets.
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
	 * ns; 0: no limit. By packet time on a replay; by the clock on ports and for generated
	 * packets with a pace.
	 */
	uint64_t duration;
	uint64_t packets; /* 0: no limit */
};

OPTION_OWNER(feeder)

/* Serves as read() of an option that stores a pace followed by its rate. */
bool feeder_read_pace(const struct option_text *text);

#define FEEDER_QUEUES_MAX 16

struct feeder_params {
	struct source *source;
	struct epochs *epochs;
	uint32_t nb_queues;
	uint32_t descriptors; /* entries of each ring, a power of two */
	uint32_t mbufs, mbuf_room;
	uint32_t mbuf_cache; /* mbufs in the cache of an lcore */
	int node;
	enum pace pace;
	uint64_t pace_rate; /* packets per second */
	bool lossless;      /* waits for a full ring, even if paced */
	uint64_t interval;  /* ns; 0: one epoch */
	uint64_t packets;   /* 0: no limit */
	uint64_t duration;  /* ns; 0: no limit. By packet time, or by the clock if live. */
	enum idle_mode idle;
};

struct feeder;

/* Returns true if the timestamps are generated without a pace, so that they give no packet rate. */
bool feeder_time_is_generated(const struct feeder *feeder);

/*
 * Creates the rings, their ethdev and its mempools. Returns NULL with one line in
 * error[SOURCE_ERROR_MAX] on failure.
 */
struct feeder *feeder_create(const struct feeder_params *params, char *error);
void feeder_destroy(struct feeder *feeder);

/* Return the ethdev, whose queue w is the ring of worker w, and the ring. */
uint16_t feeder_port(const struct feeder *feeder);
struct rte_ring *feeder_ring(const struct feeder *feeder, uint32_t w);

/* Copies at least the first `reach` bytes of every packet. Call before feeder_work(). */
void feeder_set_reach(struct feeder *feeder, uint32_t reach);

/*
 * Loop of the feeder; an lcore function. Returns 0. feeder_damage() then describes the end of the
 * source.
 */
int feeder_work(void *feeder);

/* Ends the replay after the current packet. Any thread. */
void feeder_stop(struct feeder *feeder);
/* Returns true after feeder_work() returned. Any thread. */
bool feeder_finished(const struct feeder *feeder);
/*
 * Progress of the feeder: packets and bytes on the wire, and the share of the source. Any thread.
 */
struct feeder_progress {
	uint64_t packets, bytes;
	double share; /* 0 to 1; negative: unknown */
};
struct feeder_progress feeder_progress(const struct feeder *feeder);

/* Returns true and writes warning i of the source, like its warning(). Call after feeder_work(). */
bool feeder_warning(const struct feeder *feeder, unsigned int i, char *text);
/* Returns one line if the source was damaged, else NULL. Call after feeder_work(). */
const char *feeder_damage(const struct feeder *feeder);
