/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A thread that brings reports to a place, behind a bounded queue: a place that takes nothing holds
 * up neither the reporter nor any other place. What finds no room is dropped, by whole reports, and
 * counted. What the place is and how rows look there is the business of its struct sink_queue_ops.
 */

#include <stdbool.h>
#include <stdint.h>

#include "report/rows/report.h"
#include "report/sinks/delivery.h"

#define SINK_QUEUE_DEFAULT 16                 /* epochs that may wait, and accounts of deliveries */
#define SINK_QUEUE_BYTES   ((size_t)64 << 20) /* memory that those epochs may take */

struct sink_queue;

/* By the outlet's own thread. */
struct sink_queue_ops {
	/* Before anything else; NULL: nothing. */
	void (*begin)(void *place);
	/* One report; each of the place's deliveries that it concerns gets its rows counted. */
	void (*write)(void *place, const struct report_epoch *epoch);
	/* All that came was written, and nothing more will start before `time` (ns since 1970); NULL:
	 * nothing. */
	void (*pass)(void *place, int64_t time);
	/* What the place's name stands for may have changed. NULL: nothing. */
	void (*reopen)(void *place);
	void (*look)(void *place); /* after each of these; NULL: nothing */
	void (*end)(void *place);  /* nothing more comes; NULL: nothing */
	/* By the thread that hands over: a report found no room, and will not come. NULL: nothing. */
	void (*miss)(void *place, const struct report_epoch *epoch);
};

struct sink_queue_params {
	const struct sink_queue_ops *ops;
	void *place;
	const char *name;             /* of the place, for a person */
	struct delivery **deliveries; /* [nb_deliveries]; they and the array outlive the outlet */
	uint32_t nb_deliveries;
	/* Memory that epochs may take, and records; 0: SINK_QUEUE_BYTES, and of records what
	 * sink_queue_bound_flows() says. One report waits however large it is. */
	size_t queue;
	void (*log)(bool warning, const char *line, void *arg);
	void *log_arg;
	bool keeps;     /* what the place does not take before the end is not lost */
	int64_t second; /* ns that one of patience lasts: less in tests; 0: a second */
};

/* Returns NULL where memory is missing. Its thread begins with sink_queue_start(). */
struct sink_queue *sink_queue_create(const struct sink_queue_params *params);
/* Returns 0 or an errno. */
int sink_queue_start(struct sink_queue *queue);
/* One that was started has ended (sink_queue_end()). */
void sink_queue_free(struct sink_queue *queue);

/*
 * One thread hands over: shares the report with the outlet where it concerns it. What finds no room
 * is dropped, counted and said. Epochs, records and deliveries take no room from each other. Where
 * sink_queue_wait() says that there is room, there is.
 */
void sink_queue_push(struct sink_queue *queue, struct report_epoch *epoch);
/* Waits until there is room for it, and for the account of deliveries that goes ahead of it, but not
 * beyond `end` (monotonic ns). Returns false if there is still none. */
bool sink_queue_wait(struct sink_queue *queue, const struct report_epoch *epoch, int64_t end);
/* By the thread that hands over: returns true if the last report of this kind was dropped. */
bool sink_queue_drops(const struct sink_queue *queue, const struct report_epoch *epoch);
/* Whether there is room for what became of rows. */
bool sink_queue_takes_deliveries(struct sink_queue *queue);
/* So much memory may records that wait take from now on, where `queue` does not say less. */
void sink_queue_bound_flows(struct sink_queue *queue, size_t bytes);
void sink_queue_pass(struct sink_queue *queue, int64_t time);
/* Waits until all that was handed over is written. */
void sink_queue_settle(struct sink_queue *queue);
/* Nothing more comes: its thread ends when what waits is written. */
void sink_queue_finish(struct sink_queue *queue);
/* The same, and waits for that. Returns the rows that were dropped. */
uint64_t sink_queue_end(struct sink_queue *queue);

/* Any thread. */
void sink_queue_reopen(struct sink_queue *queue);
bool sink_queue_reopening(struct sink_queue *queue);
/* The run is over, or was asked to end: what waits is the last. */
bool sink_queue_ending(struct sink_queue *queue);
/*
 * By its thread: for how many ns its place may take nothing; 0: it is to be left now. `usual` seconds
 * while the run goes on, then 5; once the run was asked to end, 15 are all there is, and from its end
 * on where the place keeps the rest.
 */
int64_t sink_queue_patience(struct sink_queue *queue, uint32_t usual);
/* By its thread, where it is ending: ns in which the rest of the report in hand is to leave, so that
 * what waits has left within 10 seconds. */
int64_t sink_queue_share(struct sink_queue *queue);
/* By its thread: whether all that is gone since *since (monotonic ns), which moves on with the clock
 * while the run does: it has no end before that. */
bool sink_queue_gives_up(struct sink_queue *queue, int64_t *since);
/* What its place waits in, ns. */
int64_t sink_queue_second(const struct sink_queue *queue);
/* By its thread: whether reopening was asked for while its place waits. Then it is done with that. */
bool sink_queue_roused(struct sink_queue *queue);
/* When the oldest report that waits starts, ns since 1970; false: none does. */
bool sink_queue_oldest(struct sink_queue *queue, int64_t *start);
