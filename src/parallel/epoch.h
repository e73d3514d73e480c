/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Protocol that ends an epoch without losing a packet, counting one twice, or stopping a worker.
 *
 * Epochs that hold packets have consecutive sequence numbers 0, 1, 2, ... (their printed numbers
 * may skip empty ones). Every participant (a worker, and a receiver if the design has one) owns two
 * generations of counters, and a worker also of sketches; epoch s uses generation s & 1. Three
 * counters control the access:
 *
 *   open          the newest epoch. Written by the time keeper: the feeder on a replay, the
 *                 reporter on a port.
 *   at[p]         the epoch that participant p counts into. Written by p only. p never touches
 *                 an earlier epoch again.
 *   ready         all epochs below it have a clean generation. Written by the reporter only.
 *
 * Invariant: participant p touches generation s & 1 only while at[p] == s and s < ready. The
 * reporter touches it only after at[p] > s for every p, and before it raises ready to s + 3. So the
 * two never meet, and a worker counts at most one epoch ahead of the one being merged. One
 * exception is the queue of expired flows (sketch/flow_table/flow_idle.h), which the reporter
 * empties while the worker that fills it still owns the generation. It has its own memory ordering.
 *
 * On a replay every packet carries its epoch, and rings keep their order, so the first packet of an
 * epoch makes a worker enter it. For an empty ring, the worker reads `open`: the feeder raises it
 * only after every packet of the older epochs is in its ring, so a worker that read `open` first
 * and then found its ring empty has taken all of them. On a port a worker reads `open` before each
 * poll; packets of that poll belong to that epoch.
 *
 * Waits form no cycle, so each ends. A feeder waits for free mbufs and ring entries (for receivers
 * and workers) and for the reporter; a receiver waits for its workers and the reporter; a worker
 * waits only for the reporter (a clean generation, or space for flow records of an unpaced replay).
 * The reporter waits for no lcore: it checks again later, and warns if one delays an epoch or the
 * end.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

/*
 * ns: 2500 days. The end of an epoch of any packet then fits in an int64_t
 * (parallel/sources/feeder.c).
 */
#define EPOCH_INTERVAL_MAX (UINT64_C(2500) * 24 * 3600 * 1000000000)

struct epoch_options {
	uint64_t interval; /* ns; 0: one epoch */
};

OPTION_OWNER(epoch)

/* Limit of workers plus receiving cores: the lcores of DPDK. */
#define EPOCH_PARTICIPANTS_MAX 128

/* Epochs that the feeder may open before the reporter has recycled the oldest one. */
#define EPOCH_AHEAD 64

/*
 * Data of an epoch besides the counters of workers. Epoch s has slot s % EPOCH_AHEAD. Written by the
 * thread that raises `open`, before `open` exceeds s. Read by the reporter after that. Number and
 * start are set before the first packet of the epoch, so any thread that has a packet or a count of
 * the epoch may read these two.
 */
struct epoch_info {
	uint64_t number;    /* printed number, without the offset of --append */
	int64_t start, end; /* ns since 1970-01-01 UTC, half open */
	uint64_t fed;       /* packets that the feeder took from its source */
	uint64_t dropped; /* packets of these that a paced replay dropped because rings were full */
	uint32_t largest_frame; /* bytes on the wire, over the fed packets */
	uint64_t missing_bytes; /* bytes missing as in the ledger, over all fed packets */
	bool late;              /* live input: ended late */
	uint64_t took;          /* ns that the feeder took to feed it */
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

/* Sets all participants to epoch 0, with both generations clean. */
void epochs_init(struct epochs *epochs, uint32_t nb_participants);

static inline struct epoch_info *epochs_info(struct epochs *epochs, uint64_t epoch)
{
	return &epochs->info[epoch % EPOCH_AHEAD];
}

/* Called by the time keeper. Returns true if it may write the info slot of `epoch`. */
bool epochs_may_open(const struct epochs *epochs, uint64_t epoch);
/*
 * Opens `epoch`. Called by the time keeper; on a replay, after all packets of earlier epochs are in
 * the rings of workers.
 */
void epochs_open(struct epochs *epochs, uint64_t epoch);
/* Opens the epoch after the last one: workers stop there. */
void epochs_end(struct epochs *epochs, uint64_t epoch);
/* Returns true if `open`, a value read before, is the end. */
bool epochs_is_end(const struct epochs *epochs, uint64_t open);

/*
 * Called by a participant: it never touches an epoch before `epoch` again. It may count into
 * `epoch` once epochs_is_ready() returns true.
 */
void epochs_enter(struct epochs *epochs, uint32_t participant, uint64_t epoch);
bool epochs_is_ready(const struct epochs *epochs, uint64_t epoch);

/*
 * Called by the reporter. Returns true if no participant will touch `epoch` again, so that it may
 * be merged.
 */
bool epochs_is_closed(const struct epochs *epochs, uint64_t epoch);
/*
 * Called by the reporter. Returns the first participant that may still touch `epoch`;
 * nb_participants if none.
 */
uint32_t epochs_late(const struct epochs *epochs, uint64_t epoch);
/* Called by the reporter after it cleaned the generation of `epoch`: epoch + 2 may use it. */
void epochs_recycle(struct epochs *epochs, uint64_t epoch);

/*
 * Start and end of epochs of live ports by the wall clock, which may be set at any time. Epochs end
 * on multiples of the interval since 1970.
 *
 * A step of the wall clock against the monotonic clock ends the open epoch. That epoch lasted as
 * long as the monotonic clock shows, and the next one starts at the new time. Numbers count
 * intervals: a step forward skips some, and they never decrease. Slewing (adjtime(3)) is not a
 * step: epochs follow the wall clock.
 */

/* ns. A larger change between two calls of epoch_clock_look() is a step. */
#define EPOCH_CLOCK_STEP_NS INT64_C(100000000)

/* All in ns; real is since 1970-01-01 UTC. */
struct clock_time {
	int64_t real, monotonic;
};

struct epoch_clock {
	int64_t interval; /* ns; 0: one epoch */
	int64_t boundary; /* real time at which the open epoch is due to end */
	int64_t start;    /* real time at which it started */
	int64_t opened;   /* monotonic time at which it started */
	int64_t offset;   /* ns of CLOCK_REALTIME minus CLOCK_MONOTONIC at the last call */
	int64_t first;    /* multiple of the interval with number 0 */
	uint64_t number;  /* number of the open epoch */
	bool stepped;     /* clock stepped since the epoch was opened */
};

/* Reads both clocks within 0.1 ms if possible. */
struct clock_time clock_time_now(void);

/* Opens epoch 0. */
void epoch_clock_start(struct epoch_clock *clock, int64_t interval, struct clock_time now);

/*
 * Returns the ns by which the wall clock was set since the last call; 0 if it was not. Call often.
 */
int64_t epoch_clock_look(struct epoch_clock *clock, struct clock_time now);

/* Called after epoch_clock_look(). Returns true if the open epoch must end. */
bool epoch_clock_is_due(const struct epoch_clock *clock, struct clock_time now);

/*
 * Returns true if the due epoch ends after its boundary. An epoch that a step ends is never late.
 */
bool epoch_clock_is_late(const struct epoch_clock *clock, struct clock_time now);

/* Returns the real time of the end of the open epoch if it ends now; never before its start. */
int64_t epoch_clock_end(const struct epoch_clock *clock, struct clock_time now);

/* Ends the due epoch and opens the next one. Updates clock->start and clock->number. */
void epoch_clock_next(struct epoch_clock *clock, struct clock_time now);
