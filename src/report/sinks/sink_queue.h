/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A bounded queue and a thread that passes its reports to a sink: a stalled sink delays neither the
 * reporter nor another sink. Reports that do not fit are dropped whole, and counted. struct
 * sink_queue_ops hides what the sink is.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "report/rows/rows.h"
#include "report/sinks/sink_log.h"

/*
 * Counts of rows of one kind that go to one sink. Each row has one state, and at any time
 *     rows = delivered + acknowledged + failed + unknown + dropped + waiting.
 */
struct delivery {
	const char *name;            /* name of the sink as configured; outlives this struct */
	const struct output *output; /* NULL: the table of heavy hitters */
	uint64_t spool_size;         /* limit in bytes; 0: no spool */
	/* Written by the pushing thread. */
	uint64_t rows;
	struct report_delivery told; /* totals at the last delivery_look() */
	/* Written and read by any thread. */
	_Atomic uint64_t dropped;      /* rows: the queue or the spool was full */
	_Atomic uint64_t spooled;      /* waiting rows that are in the spool */
	_Atomic uint64_t spool_bytes;  /* disk space of the spool */
	_Atomic uint64_t delivered;    /* rows that the kernel accepted */
	_Atomic uint64_t acknowledged; /* rows that the receiver confirmed */
	_Atomic uint64_t failed;       /* rows that the receiver does not have */
	_Atomic uint64_t unknown;      /* rows with a lost acknowledgement */
	_Atomic uint64_t retries, reconnects;
	_Atomic uint64_t bytes; /* bytes that were delivered or acknowledged */
};

/* Returns true if the report has rows of this kind. */
bool delivery_concerns(const struct delivery *delivery, const struct report_epoch *epoch);

/* Returns the number of rows of this kind in the report. */
uint64_t delivery_rows(const struct delivery *delivery, const struct report_epoch *epoch);

static inline void delivery_count(_Atomic uint64_t *count, uint64_t rows)
{
	atomic_fetch_add_explicit(count, rows, memory_order_relaxed);
}

/* Returns failed and unknown rows, without dropped ones. */
uint64_t delivery_lost(const struct delivery *delivery);

/* Returns the counts since the start. Called by the pushing thread. */
struct report_delivery delivery_totals(const struct delivery *delivery);

/* Returns the counts since the last call. Called by the pushing thread. */
struct report_delivery delivery_look(struct delivery *delivery);

/* limit of waiting epochs, and of waiting delivery reports */
#define SINK_QUEUE_DEFAULT 16
#define SINK_QUEUE_BYTES   ((size_t)64 << 20) /* bytes; default limit of waiting epochs */

struct sink_queue;

/* Called by the queue's thread, except miss(). NULL: nothing to do, except for write(). */
struct sink_queue_ops {
	/* Called once, first. */
	void (*begin)(void *place);
	/* Writes one report, and counts its rows in each delivery that it concerns. */
	void (*write)(void *place, const struct report_epoch *epoch);
	/* All earlier reports are written, and none starts before `time` (ns since 1970). */
	void (*pass)(void *place, int64_t time);
	/* Opens the destination again by its name. */
	void (*reopen)(void *place);
	void (*look)(void *place); /* called after begin(), and after each task */
	void (*end)(void *place);  /* called once, last */
	/* Called by the pushing thread: the report was dropped. */
	void (*miss)(void *place, const struct report_epoch *epoch);
};

struct sink_queue_params {
	const struct sink_queue_ops *ops;
	void *place;
	const char *name;             /* name of the sink in messages */
	struct delivery **deliveries; /* [nb_deliveries]; they and the array outlive the queue */
	uint32_t nb_deliveries;
	/*
	 * Limit of waiting epochs, and of waiting records, in bytes. 0: SINK_QUEUE_BYTES for
	 * epochs, and sink_queue_bound_flows() for records. One report of any size may always wait.
	 */
	size_t queue;
	const struct sink_log *sink_log;
	bool keeps;     /* a spool keeps rows that are not delivered at the end */
	int64_t second; /* length of a second in timeouts, ns; tests use less */
};

/* Returns NULL if out of memory. sink_queue_start() starts its thread. */
struct sink_queue *sink_queue_create(const struct sink_queue_params *params);
/* Returns 0 or an errno. */
int sink_queue_start(struct sink_queue *queue);
/* If the queue was started, call sink_queue_end() first. */
void sink_queue_free(struct sink_queue *queue);

/*
 * Called by one thread, the pushing thread. Queues a reference to the report if it concerns a
 * delivery of the queue. A report that does not fit is dropped, counted and logged. Epochs, records
 * and delivery reports have separate limits. After sink_queue_wait() returned true the report fits.
 */
void sink_queue_push(struct sink_queue *queue, struct report_epoch *epoch);
/*
 * Waits for room for the report and for the delivery report before it, until `end` (monotonic ns).
 * Returns false if there is still no room.
 */
bool sink_queue_wait(struct sink_queue *queue, const struct report_epoch *epoch, int64_t end);
/* Called by the pushing thread. Returns true if the last report of this kind was dropped. */
bool sink_queue_drops(const struct sink_queue *queue, const struct report_epoch *epoch);
/* Returns true if there is room for a delivery report. */
bool sink_queue_takes_deliveries(struct sink_queue *queue);
/* Limits waiting records to `bytes`, or to a smaller `queue`. */
void sink_queue_bound_flows(struct sink_queue *queue, size_t bytes);
void sink_queue_pass(struct sink_queue *queue, int64_t time);
/* Waits until all queued reports are written. */
void sink_queue_settle(struct sink_queue *queue);
/* No more reports follow: the thread ends when the queued ones are written. */
void sink_queue_finish(struct sink_queue *queue);
/* Same, and waits for the thread. Returns the number of dropped rows. */
uint64_t sink_queue_end(struct sink_queue *queue);

/* Any thread. */
void sink_queue_reopen(struct sink_queue *queue);
bool sink_queue_reopening(struct sink_queue *queue);
/* Returns true if the run is over or was requested to stop: no more reports follow. */
bool sink_queue_ending(struct sink_queue *queue);
/*
 * Called by the queue's thread. Returns the time that the sink may accept nothing, in ns; 0:
 * abandon it now. `usual` seconds during the run, at most 5 after its end. After a request to stop,
 * and after the end of a run with a spool: at most 5, and 15 in total.
 */
int64_t sink_queue_patience(struct sink_queue *queue, uint32_t usual);
/*
 * Called by the queue's thread at the end. Returns the time for the rest of the current report, in
 * ns, so that all queued reports are sent within 10 seconds.
 */
int64_t sink_queue_share(struct sink_queue *queue);
/*
 * Called by the queue's thread. Returns true if the run is ending and sink_queue_patience() has
 * passed since *since (monotonic ns). During the run *since is set to the current time.
 */
bool sink_queue_gives_up(struct sink_queue *queue, int64_t *since);
/* Returns the length of a second in timeouts, ns. */
int64_t sink_queue_second(const struct sink_queue *queue);
/*
 * Called by the queue's thread during a wait. Returns true if reopening was requested, and marks
 * that as done.
 */
bool sink_queue_roused(struct sink_queue *queue);
/*
 * Stores the start of the oldest report that is not written yet, ns since 1970. Returns false if
 * there is none.
 */
bool sink_queue_oldest(struct sink_queue *queue, int64_t *start);
