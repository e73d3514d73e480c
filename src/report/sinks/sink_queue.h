/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A bounded queue of reports, with a thread that passes them to a sink. A sink that stalls
 * therefore delays neither the reporter nor other sinks. A report for which there is no room is
 * dropped as a whole, and its rows are counted. struct sink_queue_ops are the functions of the
 * sink.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "report/rows/rows.h"
#include "report/sinks/sink_log.h"

/*
 * Counts of the rows of one kind that go to one sink. Each row has exactly one state. At any time,
 *     rows = delivered + acknowledged + failed + unknown + dropped + waiting.
 */
struct delivery {
	/* name of the sink in the configuration; outlives this struct */
	const char *name;
	const struct output *output; /* kind of rows; NULL: the table of heavy hitters */
	uint64_t spool_size;         /* maximum bytes of the spool; 0: there is none */
	/* Written by the thread that pushes reports. */
	uint64_t rows;
	struct report_delivery told; /* totals at the last call of delivery_look() */
	/* Written and read by any thread. */
	_Atomic uint64_t dropped;      /* rows for which the queue or the spool had no room */
	_Atomic uint64_t spooled;      /* waiting rows that are in the spool */
	_Atomic uint64_t spool_bytes;  /* disk space of the spool */
	_Atomic uint64_t delivered;    /* rows that the kernel accepted for sending or writing */
	_Atomic uint64_t acknowledged; /* rows that the receiver acknowledged */
	_Atomic uint64_t failed;       /* rows that the receiver certainly did not get */
	_Atomic uint64_t unknown;      /* rows that were sent without an acknowledgement arriving */
	_Atomic uint64_t retries, reconnects;
	_Atomic uint64_t bytes; /* bytes of delivered and acknowledged rows */
};

/* Returns true if the report can have rows of this kind. */
bool delivery_concerns(const struct delivery *delivery, const struct report_epoch *epoch);

/* Returns the number of rows of this kind in the report. */
uint64_t delivery_rows(const struct delivery *delivery, const struct report_epoch *epoch);

static inline void delivery_count(_Atomic uint64_t *count, uint64_t rows)
{
	atomic_fetch_add_explicit(count, rows, memory_order_relaxed);
}

/* Returns the sum of failed and unknown rows. Dropped rows are not included. */
uint64_t delivery_lost(const struct delivery *delivery);

/* Returns the counts since the run began. Called by the thread that pushes reports. */
struct report_delivery delivery_totals(const struct delivery *delivery);

/* Returns the counts since the previous call. Called by the thread that pushes reports. */
struct report_delivery delivery_look(struct delivery *delivery);

/* maximum number of waiting epochs, and of waiting delivery reports */
#define SINK_QUEUE_DEFAULT 16
#define SINK_QUEUE_BYTES   ((size_t)64 << 20) /* bytes; default limit of waiting epochs */

struct sink_queue;

/*
 * Functions of a sink. The queue's thread calls all of them except miss(). All except write() may
 * be NULL.
 */
struct sink_queue_ops {
	/* Called once, first. */
	void (*begin)(void *place);
	/*
	 * Writes one report. Counts the fates of its rows in each delivery that the report
	 * concerns.
	 */
	void (*write)(void *place, const struct report_epoch *epoch);
	/*
	 * Called after all earlier reports were written. All later reports start at `time` (ns
	 * since 1970-01-01 UTC) or later.
	 */
	void (*pass)(void *place, int64_t time);
	/* Opens the destination again by its name. */
	void (*reopen)(void *place);
	void (*look)(void *place); /* called after begin() and after each task */
	void (*end)(void *place);  /* called once, last */
	/* Called for a dropped report, by the thread that pushes reports. */
	void (*miss)(void *place, const struct report_epoch *epoch);
};

struct sink_queue_params {
	const struct sink_queue_ops *ops;
	void *place;
	const char *name; /* name of the sink in messages */
	/* [nb_deliveries]; the array and its elements outlive the queue */
	struct delivery **deliveries;
	uint32_t nb_deliveries;
	/*
	 * Limit of waiting epochs, and also of waiting flow records, in bytes. 0: SINK_QUEUE_BYTES
	 * for epochs, and the limit of sink_queue_bound_flows() for records. One report may wait
	 * whatever its size.
	 */
	size_t queue;
	const struct sink_log *sink_log;
	/* true if a spool keeps the rows that are not delivered at the end of the run */
	bool keeps;
	int64_t second; /* length of a second in timeouts, in ns; tests use shorter seconds */
};

/* Creates a queue without starting its thread. Returns NULL if out of memory. */
struct sink_queue *sink_queue_create(const struct sink_queue_params *params);
/* Returns 0 or an errno. */
int sink_queue_start(struct sink_queue *queue);
/* Frees the queue. If it was started, call sink_queue_end() before. */
void sink_queue_free(struct sink_queue *queue);

/*
 * Queues the report and adds a reference to it, if it concerns a delivery of the queue. If there is
 * no room, drops the report, counts its rows and logs this. Epochs, flow records and delivery
 * reports have separate limits. There is always room after sink_queue_wait() returned true. Only
 * one thread may push reports.
 */
void sink_queue_push(struct sink_queue *queue, struct report_epoch *epoch);
/*
 * Waits until there is room for the report and for a delivery report before it, at most until `end`
 * (monotonic ns). Returns false if there is no room.
 */
bool sink_queue_wait(struct sink_queue *queue, const struct report_epoch *epoch, int64_t end);
/*
 * Returns true if the last report of the same kind was dropped. Called by the thread that pushes
 * reports.
 */
bool sink_queue_drops(const struct sink_queue *queue, const struct report_epoch *epoch);
/* Returns true if there is room for a delivery report. */
bool sink_queue_takes_deliveries(struct sink_queue *queue);
/*
 * Limits the bytes of waiting flow records. If sink_queue_params.queue is smaller, that limit
 * applies.
 */
void sink_queue_bound_flows(struct sink_queue *queue, size_t bytes);
void sink_queue_pass(struct sink_queue *queue, int64_t time);
/* Waits until all queued reports are written. */
void sink_queue_settle(struct sink_queue *queue);
/* Makes the thread end after it has written the queued reports. No report may follow. */
void sink_queue_finish(struct sink_queue *queue);
/*
 * Same as sink_queue_finish(), and waits for the thread to end. Returns the number of dropped rows.
 */
uint64_t sink_queue_end(struct sink_queue *queue);

/* Any thread. */
void sink_queue_reopen(struct sink_queue *queue);
bool sink_queue_reopening(struct sink_queue *queue);
/* Returns true if no reports will follow: the run has ended, or was requested to stop. */
bool sink_queue_ending(struct sink_queue *queue);
/*
 * Returns how many ns the receiver may accept nothing before the sink gives up. 0: it must give up
 * now. Called by the queue's thread.
 *
 * During the run: `usual` seconds. After its end: `usual`, but at most 5 seconds. After a request
 * to stop, or after the end of a run with a spool: at most 5 seconds each time, and 15 seconds in
 * total.
 */
int64_t sink_queue_patience(struct sink_queue *queue, uint32_t usual);
/*
 * Returns the ns that are left for the current report at the end of the run. All queued reports
 * together get 10 seconds. Called by the queue's thread.
 */
int64_t sink_queue_share(struct sink_queue *queue);
/*
 * Returns true if the run is ending and *since (monotonic ns) is longer ago than
 * sink_queue_patience() permits. While the run goes on, sets *since to the current time. Called by
 * the queue's thread.
 */
bool sink_queue_gives_up(struct sink_queue *queue, int64_t *since);
int64_t sink_queue_second(const struct sink_queue *queue);
/*
 * Returns true if opening the destination again was requested, and marks the request as done. The
 * queue's thread calls it while a sink waits.
 */
bool sink_queue_roused(struct sink_queue *queue);
/*
 * Stores the start of the oldest report that was not written yet, ns since 1970-01-01 UTC. Returns
 * false if there is none.
 */
bool sink_queue_oldest(struct sink_queue *queue, int64_t *start);
