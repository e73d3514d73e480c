/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Lets the reporter read the counters of an epoch (a measurement interval) while workers count the
 * next one, without locks. Participants are the workers and the receiving cores. Each has two
 * copies of its counters (generations). Epoch s uses generation s & 1.
 *
 * Invariant: participant p accesses the generation of epoch s only while at[p] == s and s < ready.
 * The reporter accesses it only after at[p] > s for every p, and before it raises `ready` to s + 3.
 * Only the queue of expired flows (sketch/flow_table/flow_idle.h) has its own memory ordering.
 *
 * On a replay, every packet carries its epoch. The feeder raises `open` only after all packets of
 * older epochs are in the rings. A worker with an empty ring loads `open`, then checks the ring
 * again: if it is still empty, the worker has all packets of older epochs.
 *
 * On a live port, a worker loads `open` before each poll. The polled packets belong to this epoch.
 *
 * Waits form no cycle: the feeder waits for receivers, receivers wait for workers, and all wait for
 * the reporter, which waits for no lcore.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

/* The end of any epoch, in ns since 1970, then fits in an int64_t. */
#define EPOCH_INTERVAL_MAX (UINT64_C(2500) * 24 * 3600 * 1000000000)

struct epoch_options {
	uint64_t interval; /* ns; 0: the whole run is one epoch */
};

OPTION_OWNER(epoch)

/* Same as the lcore limit of DPDK. */
#define EPOCH_PARTICIPANTS_MAX 128

/* Epochs that the feeder may open before the reporter has cleaned the oldest one. */
#define EPOCH_AHEAD 64

/*
 * The feeder or, on live ports, the reporter writes this before it raises `open` above the epoch.
 * `number` and `start` are set before the epoch has packets. The rest is valid once `open` is
 * raised.
 */
struct epoch_info {
	uint64_t number;    /* interval number as printed, before --append adds its offset */
	int64_t start, end; /* ns since 1970-01-01 UTC; `end` is exclusive */
	uint64_t fed;
	uint64_t dropped; /* packets that the feeder dropped because rings were full (--pace) */
	uint32_t largest_frame; /* bytes on the wire, of the largest packet */
	/* Bytes that packets had on the wire, but that the source does not report. */
	uint64_t missing_bytes;
	bool late;     /* the epoch of live ports ended at least 1 ms after its planned end */
	uint64_t took; /* ns that the feeder needed for the epoch */
};

struct epochs {
	/* Newest epoch. Written by the feeder on a replay, by the reporter on live ports. */
	alignas(64) _Atomic uint64_t open;
	_Atomic uint64_t end; /* first epoch after the run; UINT64_MAX: unknown */
	/* Epochs below this have a cleared generation. Written by the reporter. */
	alignas(64) _Atomic uint64_t ready;
	/*
	 * Reports of intervals before this time are in files and spools. ns since 1970-01-01 UTC.
	 * Written by the reporter if the source joins collectors.
	 */
	_Atomic int64_t written;
	alignas(64) struct epoch_info info[EPOCH_AHEAD];
	uint32_t nb_participants;
	struct {
		alignas(64) _Atomic uint64_t at; /* written by the participant */
	} participant[EPOCH_PARTICIPANTS_MAX];
};

/* The generations of all participants must be empty. */
void epochs_init(struct epochs *epochs, uint32_t nb_participants);

static inline struct epoch_info *epochs_info(struct epochs *epochs, uint64_t epoch)
{
	return &epochs->info[epoch % EPOCH_AHEAD];
}

/* Returns false while the reporter still needs the element of info[] of an older epoch. */
bool epochs_may_open(const struct epochs *epochs, uint64_t epoch);
/* On a replay, all packets of earlier epochs must be in the rings of the workers before. */
void epochs_open(struct epochs *epochs, uint64_t epoch);
/* Workers stop when they reach `epoch`, which has no packets. */
void epochs_end(struct epochs *epochs, uint64_t epoch);
/* `open` must have been loaded from epochs->open with acquire order. */
bool epochs_is_end(const struct epochs *epochs, uint64_t open);

/* The caller may count into `epoch` once epochs_is_ready() returns true. */
void epochs_enter(struct epochs *epochs, uint32_t participant, uint64_t epoch);
bool epochs_is_ready(const struct epochs *epochs, uint64_t epoch);

bool epochs_is_closed(const struct epochs *epochs, uint64_t epoch);
/* Returns the first participant that has not left `epoch`, or nb_participants. */
uint32_t epochs_late(const struct epochs *epochs, uint64_t epoch);
/* The reporter must have cleared the generation of `epoch`, which epoch + 2 may then use. */
void epochs_recycle(struct epochs *epochs, uint64_t epoch);

/*
 * Epochs on live ports end on multiples of the interval since 1970. If the wall clock is set, the
 * open epoch ends. Slow adjustment (adjtime(3)) does not end an epoch.
 */

/* The wall clock was set if real minus monotonic time changes by more than this. */
#define EPOCH_CLOCK_STEP_NS INT64_C(100000000)

struct clock_time {
	int64_t real; /* ns since 1970-01-01 UTC */
	int64_t monotonic;
};

struct epoch_clock {
	int64_t interval; /* ns; 0: the whole run is one epoch */
	int64_t boundary; /* planned end of the open epoch, ns since 1970 */
	int64_t start;    /* ns since 1970 */
	int64_t opened;   /* ns of CLOCK_MONOTONIC */
	int64_t offset;   /* real minus monotonic time at the last call, ns */
	int64_t first;    /* start of epoch 0, in intervals since 1970 */
	uint64_t number;
	bool stepped; /* the wall clock was set during the open epoch */
};

struct clock_time clock_time_now(void);

void epoch_clock_start(struct epoch_clock *clock, int64_t interval, struct clock_time now);

/* Returns the ns by which the wall clock was set since the last call. Must be called often. */
int64_t epoch_clock_look(struct epoch_clock *clock, struct clock_time now);

/* Call epoch_clock_look() first. */
bool epoch_clock_is_due(const struct epoch_clock *clock, struct clock_time now);

/* Returns true if `now` is at least 1 ms after the planned end of the epoch. */
bool epoch_clock_is_late(const struct epoch_clock *clock, struct clock_time now);

/* Returns the end of the open epoch if it ends at `now`: real time, never before its start. */
int64_t epoch_clock_end(const struct epoch_clock *clock, struct clock_time now);

void epoch_clock_next(struct epoch_clock *clock, struct clock_time now);
