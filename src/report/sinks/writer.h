/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Writes reports to all destinations. Each network sink, pipe, terminal and device has its own
 * queue, so that a stalled one delays no other; regular files share one. Between writer_open() and
 * writer_close(), the threads of the queues own the output files.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "report/sinks/output_file.h"
#include "report/rows/report.h"
#include "report/sinks/sink_config.h"
#include "report/sinks/sink_log.h"

#define WRITER_FLOWS 1500000 /* default for writer_bound_flows(), in flow records */

struct writer;

/*
 * Opens all outputs, and waits until a FIFO has a reader. *first_epoch: 0, or with --append the
 * number after the last epoch in the files.
 *
 * On failure, returns NULL with a message in error[WRITER_ERROR_MAX] and the exit status, and no
 * existing file has changed. Status 2: a file exists without --append or --force, two outputs have
 * the same file, or a file is an input of the run. Status 1: other errors.
 */
struct writer *writer_open(const struct config *config, const struct sink_log *sink_log,
	uint64_t *first_epoch, int *status, char *error);

/*
 * Queues an epoch or flow records for all destinations, and takes over the caller's reference. A
 * destination without room drops its rows. Only one thread may push; comments call it the pushing
 * thread.
 */
void writer_push(struct writer *writer, struct report_epoch *epoch);

/*
 * Returns a report of the delivery counts since the run began, or NULL if out of memory. Only the
 * pushing thread may call it.
 */
struct report_epoch *writer_deliveries(const struct writer *writer);

/* Limits the flow records that wait for each destination. Only the pushing thread may call it. */
void writer_bound_flows(struct writer *writer, uint64_t rows);

/*
 * Makes writer_close() wait only a few seconds for readers, for sources that do not wait for
 * outputs. Only the pushing thread may call it.
 */
void writer_bound_end(struct writer *writer);

/*
 * Returns `reported`, or the start of the oldest report before it that is not yet in all files and
 * spools. Only the pushing thread may call it.
 */
int64_t writer_written(const struct writer *writer, int64_t reported);

/* Waits a short time for room in all queues. Returns false if one still has none. */
bool writer_wait(struct writer *writer, const struct report_epoch *epoch);

/* Waits up to `ns` in total. Does not wait for a queue that dropped its last report. */
void writer_wait_for_room(struct writer *writer, const struct report_epoch *epoch, int64_t ns);

/*
 * Ends a live epoch without packets, and completes files whose rotation period has ended. All later
 * epochs start at `end` (ns since 1970-01-01 UTC) or later.
 */
void writer_pass(struct writer *writer, int64_t end);

/*
 * Returns false with a message in error[WRITER_ERROR_MAX] if the header of a file lacks a column of
 * the configuration's measurements. Any thread may call it.
 */
bool writer_takes(const struct writer *writer, const struct config *config, char *error);

/*
 * Requests that all files are opened again by their names before the next epoch (SIGHUP). Any thread
 * may call it, but not a signal handler. After that, writer_reopening() returns false and a result.
 */
void writer_reopen(struct writer *writer);
bool writer_reopening(struct writer *writer, struct sink_log_reopened *reopened);

/*
 * Writes the queued reports, closes the files and returns the number of rows that were lost. Waits
 * for the reader of a pipe, but after writer_bound_end() or a request to stop only a few seconds.
 */
uint64_t writer_close(struct writer *writer);
