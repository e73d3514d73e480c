/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Ends epochs. No packet is lost or counted twice, and workers do not stop for this.
 *
 * An epoch is a measurement interval that has packets. Epochs have consecutive numbers s = 0, 1, 2.
 * The participants are the workers, and the receiving cores if the design has them. Each
 * participant owns two sets of counters, the generations 0 and 1; workers also own two sets of
 * sketches. Epoch s uses generation s & 1. Three counters control the access to a generation:
 *
 *   open     The newest epoch. Written by the time keeper: the feeder on a replay, the reporter on
 *            a port.
 *   at[p]    The epoch that participant p counts into. Written by p only. Participant p does not
 *            access earlier epochs any more.
 *   ready    Epochs below this number have a clean generation. Written by the reporter only.
 *
 * Invariant: participant p accesses the generation of epoch s only while at[p] == s and s < ready.
 * The reporter accesses it only after at[p] > s for every p, and before it raises ready to s + 3.
 * Therefore no two threads access a generation at the same time. A worker counts at most one epoch
 * ahead of the epoch that the reporter merges.
 *
 * There is one exception. The reporter empties the queue of expired flows
 * (sketch/flow_table/flow_idle.h) while the worker that fills it owns the generation. This queue
 * has its own memory ordering.
 *
 * Start of an epoch on a replay: every packet carries its epoch, and rings keep the order of
 * packets. The first packet of an epoch makes the worker enter this epoch. If its ring is empty,
 * the worker reads `open`, then the ring again. The feeder raises `open` only after all packets of
 * older epochs are in the rings. So if the ring is still empty, the worker has all of them.
 *
 * Start of an epoch on a port: a worker reads `open` before each poll. The packets of the poll
 * belong to this epoch.
 *
 * Every wait ends, because waits form no cycle. A feeder waits for free mbufs, for ring entries and
 * for the reporter. A receiver waits for its workers and for the reporter. A worker waits only for
 * the reporter: for a clean generation or, on a replay without --pace, for space for flow records.
 * The reporter waits for no lcore. It checks again later, and warns if an lcore delays an epoch or
 * the end of the run.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

/* 2500 days in ns. The time at the end of any epoch then fits in an int64_t. */
#define EPOCH_INTERVAL_MAX (UINT64_C(2500) * 24 * 3600 * 1000000000)

struct epoch_options {
	uint64_t interval; /* ns; 0: one epoch */
};

OPTION_OWNER(epoch)

/* Limit of workers plus receiving cores. DPDK has the same limit of lcores. */
#define EPOCH_PARTICIPANTS_MAX 128

/* Epochs that the feeder may open before the reporter has recycled the oldest one. */
#define EPOCH_AHEAD 64

/*
 * Data of an epoch besides the counters of workers. Epoch s has slot s % EPOCH_AHEAD. The time
 * keeper writes the slot before it raises `open` above s. The reporter reads it afterwards.
 * `number` and `start` are set before the first packet of the epoch: any thread with a packet or a
 * count of the epoch may read them.
 */
struct epoch_info {
	uint64_t number;    /* interval number for users, without the offset of --append */
	int64_t start, end; /* ns since 1970-01-01 UTC; `end` is the first ns after the epoch */
	uint64_t fed;       /* packets that the feeder read from its source */
	uint64_t dropped;   /* packets that a replay with --pace dropped because rings were full */
	uint32_t largest_frame; /* length in bytes of the largest packet of `fed` on the wire */
	/* Bytes on the wire that the source did not report, over the packets of `fed`. */
	uint64_t missing_bytes;
	bool late;     /* true: an epoch of live input ended after its boundary */
	uint64_t took; /* ns from the start to the end of the epoch in the feeder */
};

struct epochs {
	alignas(64) _Atomic uint64_t open;
	_Atomic uint64_t end; /* epoch after the last one; UINT64_MAX while unknown */
	alignas(64) _Atomic uint64_t ready;
	alignas(64) struct epoch_info info[EPOCH_AHEAD];
	uint32_t nb_participants;
	struct {
		alignas(64) _Atomic uint64_t at;
	} participant[EPOCH_PARTICIPANTS_MAX];
};

/* Puts all participants in epoch 0. Their generations must be clean. */
void epochs_init(struct epochs *epochs, uint32_t nb_participants);

static inline struct epoch_info *epochs_info(struct epochs *epochs, uint64_t epoch)
{
	return &epochs->info[epoch % EPOCH_AHEAD];
}

/* Returns true if the time keeper may write the slot of `epoch`. Called by the time keeper. */
bool epochs_may_open(const struct epochs *epochs, uint64_t epoch);
/*
 * Opens `epoch`. Called by the time keeper. On a replay, all packets of earlier epochs must be in
 * the rings of workers.
 */
void epochs_open(struct epochs *epochs, uint64_t epoch);
/* Ends the run: opens `epoch`, in which workers stop. It follows the last epoch with packets. */
void epochs_end(struct epochs *epochs, uint64_t epoch);
/* Returns true if `open`, which the caller has read from epochs->open, is the end of the run. */
bool epochs_is_end(const struct epochs *epochs, uint64_t open);

/*
 * Called by a participant that will not access epochs before `epoch` any more. It may count into
 * `epoch` after epochs_is_ready() has returned true.
 */
void epochs_enter(struct epochs *epochs, uint32_t participant, uint64_t epoch);
bool epochs_is_ready(const struct epochs *epochs, uint64_t epoch);

/*
 * Returns true if all participants have left `epoch`, so that the reporter may merge it. Called by
 * the reporter.
 */
bool epochs_is_closed(const struct epochs *epochs, uint64_t epoch);
/*
 * Returns the first participant that has not left `epoch`, or nb_participants if all have. Called
 * by the reporter.
 */
uint32_t epochs_late(const struct epochs *epochs, uint64_t epoch);
/* Lets epoch + 2 use the generation of `epoch`. Called by the reporter after it has cleaned it. */
void epochs_recycle(struct epochs *epochs, uint64_t epoch);

/*
 * Start and end of epochs on live ports, by the wall clock. Epochs end on multiples of the interval
 * since 1970.
 *
 * If the wall clock is set, the open epoch ends. The monotonic clock gives its duration. The next
 * epoch starts at the new time. Its number increases by one, or by more if the wall clock was set
 * forward by more than one interval. Slow adjustment (adjtime(3)) does not end an epoch.
 */

/* ns. If real minus monotonic time changes by more than this, the wall clock was set (stepped). */
#define EPOCH_CLOCK_STEP_NS INT64_C(100000000)

struct clock_time {
	int64_t real;      /* ns since 1970-01-01 UTC */
	int64_t monotonic; /* ns of CLOCK_MONOTONIC */
};

struct epoch_clock {
	int64_t interval; /* ns; 0: one epoch */
	int64_t boundary; /* planned end of the open epoch, real time */
	int64_t start;    /* start of the open epoch, real time */
	int64_t opened;   /* start of the open epoch, monotonic time */
	int64_t offset;   /* real time minus monotonic time, ns, at the last call */
	int64_t first;    /* start of epoch 0, in intervals since 1970 */
	uint64_t number;  /* number of the open epoch */
	bool stepped;     /* true: the wall clock was set in the open epoch */
};

/* Reads both clocks, if possible within 0.1 ms of each other. */
struct clock_time clock_time_now(void);

/* Opens epoch 0. */
void epoch_clock_start(struct epoch_clock *clock, int64_t interval, struct clock_time now);

/*
 * Checks if the wall clock was set since the last call. Returns the change in ns, or 0. Call this
 * often, because the changes of slow adjustment add up between two calls.
 */
int64_t epoch_clock_look(struct epoch_clock *clock, struct clock_time now);

/* Returns true if the open epoch must end. Call epoch_clock_look() before. */
bool epoch_clock_is_due(const struct epoch_clock *clock, struct clock_time now);

/*
 * Returns true if `now` is at least 1 ms after the boundary of the open epoch. An epoch that ends
 * because the wall clock was set is never late.
 */
bool epoch_clock_is_late(const struct epoch_clock *clock, struct clock_time now);

/* Returns the end of the open epoch, in real time, if it ends `now`. Never before its start. */
int64_t epoch_clock_end(const struct epoch_clock *clock, struct clock_time now);

/* Ends the open epoch and opens the next one. Updates clock->start and clock->number. */
void epoch_clock_next(struct epoch_clock *clock, struct clock_time now);
