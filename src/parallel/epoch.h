/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * How an epoch ends without losing a packet, counting one twice, or stopping a worker.
 *
 * Epochs that hold packets are numbered by a dense sequence, 0, 1, 2, ... (their printed numbers
 * may skip silent ones). Every participant (a worker, and a receiver where the design has one)
 * owns two generations of counters, a worker of sketches too; epoch s uses generation s & 1. Three
 * counters say who may touch what:
 *
 *   open          the newest epoch. Written by the one who tells the time: the feeder on a replay,
 *                 the reporter on a port.
 *   at[p]         the epoch that participant p counts into. Written by p alone. Being at s says:
 *                 "I shall not touch any epoch before s again".
 *   ready         epochs below it have a clean generation. Written by the reporter alone.
 *
 * Invariant: participant p touches generation s & 1 only while at[p] == s and s < ready; the
 * reporter touches it only when at[p] > s for every p, and before it raises ready to s + 3. So
 * the two never meet, and a worker counts at most one epoch ahead of the one being merged.
 * One part of a generation is out of this: the queue of expired flows
 * (sketch/flow_table/flow_queue.h), which the reporter empties while the worker that fills it still
 * owns the generation. It has an order of its own.
 *
 * On a replay every packet carries the epoch it belongs to, and rings keep their order, so a worker
 * learns of a new epoch from the first packet of it. A queue that stays silent learns from `open`:
 * the feeder raises it only after every packet of the older epochs is in its ring, so a worker that
 * read `open` first and then found its ring empty has seen all of them. On a port a worker reads
 * `open` before each poll, and what it polls afterwards belongs to that epoch.
 *
 * Waits form no circle, so each ends: a feeder waits for free mbufs and room in rings (for receivers
 * and workers) and for the reporter, a receiver for its workers and the reporter, a worker for the
 * reporter only (a clean generation, room for flow records of an unpaced replay). The reporter
 * waits for no lcore: it looks again, and warns where one holds up an epoch or the end.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

/* ns: 2500 days, so that an epoch of any packet's time ends within an int64_t
 * (parallel/sources/feeder.c). */
#define EPOCH_INTERVAL_MAX (UINT64_C(2500) * 24 * 3600 * 1000000000)

struct epoch_options {
	uint64_t interval; /* ns; 0: one epoch */
};

OPTION_OWNER(epoch)

/* Workers and receiving cores: lcores, limited as in DPDK. */
#define EPOCH_PARTICIPANTS_MAX 128

/* Epochs that the feeder may open before the reporter is done with the oldest one. */
#define EPOCH_AHEAD 64

/*
 * Facts of an epoch besides the counters of workers. Slot s % EPOCH_AHEAD is written by the thread
 * that raises `open`, before it raises it beyond s; the reporter reads it afterwards. Number and
 * start are set before the first packet of the epoch, so that any thread that received a count of
 * it may read them.
 */
struct epoch_info {
	uint64_t number;    /* printed number, without the offset of --append */
	int64_t start, end; /* ns since 1970-01-01 UTC, half open */
	uint64_t fed;       /* packets that the feeder took from its source */
	uint64_t dropped;   /* part of these that a paced replay dropped because rings were full */
	uint32_t largest_frame; /* bytes on the wire, over the fed packets */
	uint64_t missing_bytes; /* as in the ledger, over all fed packets */
	bool late;              /* live input: ended late */
	uint64_t took;          /* ns by the clock in which the feeder fed it */
};

struct epochs {
	alignas(64) _Atomic uint64_t open;
	_Atomic uint64_t end; /* the epoch after the last one; UINT64_MAX until it is known */
	alignas(64) _Atomic uint64_t ready;
	alignas(64) struct epoch_info info[EPOCH_AHEAD];
	uint32_t nb_participants;
	struct {
		alignas(64) _Atomic uint64_t at;
	} participant[EPOCH_PARTICIPANTS_MAX];
};

/* Sets all participants to epoch 0, with both generations clean. */
void epochs_init(struct epochs *epochs, uint32_t nb_participants);

static inline struct epoch_info *epochs_info(struct epochs *epochs, uint64_t epoch)
{
	return &epochs->info[epoch % EPOCH_AHEAD];
}

/* The one who tells the time: true when the info slot of `epoch` may be written. */
bool epochs_may_open(const struct epochs *epochs, uint64_t epoch);
/* The one who tells the time: all packets before `epoch` are where workers find them. */
void epochs_open(struct epochs *epochs, uint64_t epoch);
/* As epochs_open() with the epoch after the last one: workers stop there. */
void epochs_end(struct epochs *epochs, uint64_t epoch);
/* True where `open`, as it was read, is the end. */
bool epochs_is_end(const struct epochs *epochs, uint64_t open);

/* A participant is done with every epoch before `epoch`; epochs_is_ready() says when it may count
 * into it. */
void epochs_enter(struct epochs *epochs, uint32_t participant, uint64_t epoch);
bool epochs_is_ready(const struct epochs *epochs, uint64_t epoch);

/* The reporter: true when no worker will touch `epoch` again, so that it may be merged. */
bool epochs_is_closed(const struct epochs *epochs, uint64_t epoch);
/* The reporter: the first participant that may still touch `epoch`; nb_participants: none. */
uint32_t epochs_late(const struct epochs *epochs, uint64_t epoch);
/* The reporter: the generation of `epoch` is clean; epoch + 2 may use it. */
void epochs_recycle(struct epochs *epochs, uint64_t epoch);
