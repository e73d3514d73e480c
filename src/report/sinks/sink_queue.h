/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A bounded queue of reports, with a thread that passes them to a sink. One thread pushes reports.
 * A report for which there is no room is dropped, and its rows are counted.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "report/rows/rows.h"
#include "report/sinks/sink_log.h"

/*
 * Counts of the rows of one kind that go to one sink. Each row is counted once:
 *     rows = delivered + acknowledged + failed + unknown + dropped + waiting.
 */
struct delivery {
	/* name of the sink; outlives this struct */
	const char *name;
	const struct output *output; /* NULL: the table of heavy hitters */
	uint64_t spool_size;
	/* Written only by the thread that pushes reports. */
	uint64_t rows;
	struct report_delivery told;
	/* Any thread may use these. */
	_Atomic uint64_t dropped; /* no room in the queue or the spool */
	_Atomic uint64_t spooled; /* waiting rows that are in the spool */
	_Atomic uint64_t spool_bytes;
	_Atomic uint64_t delivered;    /* accepted by the kernel for sending or writing */
	_Atomic uint64_t acknowledged; /* acknowledged by the receiver */
	_Atomic uint64_t failed;       /* certainly not received */
	_Atomic uint64_t unknown;      /* sent, but not acknowledged */
	_Atomic uint64_t retries, reconnects;
	_Atomic uint64_t bytes;
};

bool delivery_concerns(const struct delivery *delivery, const struct report_epoch *epoch);

uint64_t delivery_rows(const struct delivery *delivery, const struct report_epoch *epoch);

static inline void delivery_count(_Atomic uint64_t *count, uint64_t rows)
{
	atomic_fetch_add_explicit(count, rows, memory_order_relaxed);
}

/* Returns failed + unknown, without dropped rows. */
uint64_t delivery_lost(const struct delivery *delivery);

/* Return the counts since the start, or the previous delivery_look(). For the pushing thread. */
struct report_delivery delivery_totals(const struct delivery *delivery);

struct report_delivery delivery_look(struct delivery *delivery);

/* maximum waiting epochs, and also maximum waiting delivery reports */
#define SINK_QUEUE_DEFAULT 16
#define SINK_QUEUE_BYTES   ((size_t)64 << 20) /* default limit of waiting epochs, bytes */

struct sink_queue;

/* The queue's thread calls all of them except miss(). All except write() may be NULL. */
struct sink_queue_ops {
	void (*begin)(void *place);
	/* Writes one report. Counts the fate of each row in the `delivery` of its kind. */
	void (*write)(void *place, const struct report_epoch *epoch);
	/* All later reports start at `time` (ns since 1970-01-01 UTC) or later. */
	void (*pass)(void *place, int64_t time);
	/* opens the destination again by its name */
	void (*reopen)(void *place);
	void (*look)(void *place); /* called after begin() and after each task of the queue */
	void (*end)(void *place);
	/* The pushing thread calls it for a dropped report. */
	void (*miss)(void *place, const struct report_epoch *epoch);
};

struct sink_queue_params {
	const struct sink_queue_ops *ops;
	void *place;
	const char *name;
	/* [nb_deliveries]; the array and its elements outlive the queue */
	struct delivery **deliveries;
	uint32_t nb_deliveries;
	/*
	 * Maximum bytes of waiting epochs, and also of waiting flow records. 0: SINK_QUEUE_BYTES or
	 * the limit of sink_queue_bound_flows(). A single report may exceed the limit.
	 */
	size_t queue;
	const struct sink_log *sink_log;
	/* a spool keeps undelivered rows at the end of the run */
	bool keeps;
	int64_t second; /* length of a second in timeouts, in ns; shorter in tests */
};

/* Does not start the thread. Returns NULL if out of memory. */
struct sink_queue *sink_queue_create(const struct sink_queue_params *params);
int sink_queue_start(struct sink_queue *queue);
/* A started queue must be ended with sink_queue_end() before. */
void sink_queue_free(struct sink_queue *queue);

/*
 * Adds a reference to the report if it has rows for this sink. If there is no room, drops the
 * report, counts its rows and logs this.
 */
void sink_queue_push(struct sink_queue *queue, struct report_epoch *epoch);
/* Waits until `end` (monotonic ns). After true, sink_queue_push() does not drop the report. */
bool sink_queue_wait(struct sink_queue *queue, const struct report_epoch *epoch, int64_t end);
/* Returns true if the last report of the same kind was dropped. For the pushing thread. */
bool sink_queue_drops(const struct sink_queue *queue, const struct report_epoch *epoch);
bool sink_queue_takes_deliveries(struct sink_queue *queue);
/* Limits the bytes of waiting flow records, if sink_queue_params.queue is not smaller. */
void sink_queue_bound_flows(struct sink_queue *queue, size_t bytes);
void sink_queue_pass(struct sink_queue *queue, int64_t time);
void sink_queue_settle(struct sink_queue *queue);
/* Lets the thread end after it has written the queued reports. No report may follow. */
void sink_queue_finish(struct sink_queue *queue);
/* Calls sink_queue_finish() and waits for the thread. Returns the number of dropped rows. */
uint64_t sink_queue_end(struct sink_queue *queue);

/* Any thread may call these two. */
void sink_queue_reopen(struct sink_queue *queue);
bool sink_queue_reopening(struct sink_queue *queue);
/* Returns true if the run has ended or was requested to stop. */
bool sink_queue_ending(struct sink_queue *queue);
/*
 * Only the queue's thread may call this function and the next four.
 *
 * Returns for how many ns the receiver may accept nothing before the sink gives up. During the run:
 * `usual` seconds. After it: at most 5 seconds. After a request to stop, or after a run with a
 * spool: at most 5 seconds each time and 15 seconds in total.
 */
int64_t sink_queue_patience(struct sink_queue *queue, uint32_t usual);
/*
 * Returns the ns left for the current report, of 10 seconds for all reports at the end of the run.
 */
int64_t sink_queue_share(struct sink_queue *queue);
/*
 * Returns true if the run is ending and *since (monotonic ns) is longer ago than
 * sink_queue_patience(). During the run, sets *since to the current time.
 */
bool sink_queue_gives_up(struct sink_queue *queue, int64_t *since);
int64_t sink_queue_second(const struct sink_queue *queue);
/* Returns true once for each request to open the destination again. */
bool sink_queue_roused(struct sink_queue *queue);
/* start: of the oldest report not yet written, ns since 1970-01-01 UTC. Returns false if none. */
bool sink_queue_oldest(struct sink_queue *queue, int64_t *start);
