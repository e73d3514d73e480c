/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Writes reports to all sinks. Each sink or set of files has a queue (sink_queue.h), so that a
 * stalled disk or pipe delays neither the reporter nor another sink. The queues' threads own the
 * output files from writer_open() to writer_close().
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "report/sinks/output_file.h"
#include "report/rows/report.h"
#include "report/sinks/sink_config.h"
#include "report/sinks/sink_log.h"

#define WRITER_FLOWS 1500000 /* default limit of waiting records; writer_bound_flows() */

struct writer;

/*
 * Opens the outputs of the configuration: network sinks, files, and the table on standard output.
 * Returns NULL with one line in error[WRITER_ERROR_MAX] and the exit status in *status (2: a file
 * exists and neither --append nor --force was given, two outputs have the same file, or a file is
 * an input of the run; 1: other errors). Then no existing file was changed. *first_epoch: number of
 * the run's first epoch: 0, or with --append one more than the last in the files. Blocks until a
 * FIFO has a reader.
 */
struct writer *writer_open(const struct config *config, const struct sink_log *sink_log,
	uint64_t *first_epoch, int *status, char *error);

/*
 * Queues an epoch, or records of one, for all sinks; the writer frees it. A sink without room drops
 * it (sink_queue.h). Called by one thread, the pushing thread. After writer_wait() returned true it
 * fits.
 */
void writer_push(struct writer *writer, struct report_epoch *epoch);

/*
 * Returns a report of the delivery counts of all rows so far, by kind and sink; NULL if out of
 * memory. Called by the pushing thread.
 */
struct report_epoch *writer_deliveries(const struct writer *writer);

/* Limits the records that wait for each sink. Called by the pushing thread. */
void writer_bound_flows(struct writer *writer, uint64_t rows);

/*
 * The source does not wait for outputs: at the end the writer waits only seconds for readers.
 * Called by the pushing thread.
 */
void writer_bound_end(struct writer *writer);

/*
 * Waits a short time for room for the report in all queues. Returns false if there is still none.
 */
bool writer_wait(struct writer *writer, const struct report_epoch *epoch);

/* Waits up to `ns` for room for the report in each queue that did not drop the last one. */
void writer_wait_for_room(struct writer *writer, const struct report_epoch *epoch, int64_t ns);

/*
 * A live epoch without packets ended, and all later ones start at `end` (ns since 1970) or later.
 * Files that this completes are rotated now.
 */
void writer_pass(struct writer *writer, int64_t end);

/*
 * Returns true if the sinks accept rows of the measurements of another configuration. Else returns
 * false with one line in error[WRITER_ERROR_MAX]: the header of a file lacks a column. Any thread.
 */
bool writer_takes(const struct writer *writer, const struct config *config, char *error);

/*
 * Reopens the files by name before the next epoch is written, for log rotation (SIGHUP). Any
 * thread, but not a signal handler. writer_reopening() returns true until that is done, and then
 * stores the result.
 */
void writer_reopen(struct writer *writer);
bool writer_reopening(struct writer *writer, struct sink_log_reopened *reopened);

/*
 * Writes the queued reports, closes the files and frees the writer. Returns the rows lost in all
 * outputs. Waits for the reader of a pipe; only seconds after writer_bound_end() or a request to
 * stop.
 */
uint64_t writer_close(struct writer *writer);
