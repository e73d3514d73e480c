/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Brings what the reporter says to all places that it goes to. Each has an outlet (sink_queue.h),
 * so that a stalled disk or pipe never holds up an epoch or another place. They own the output
 * files from writer_open() to writer_close().
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "report/files/output_file.h"
#include "report/rows/report.h"
#include "report/sinks/sink_config.h"
#include "report/sinks/sink_log.h"

#define WRITER_FLOWS 1500000 /* and records, unless writer_bound_flows() says otherwise */

struct writer;

/*
 * Opens the outputs of the configuration: its files, and the table on standard output. Returns
 * NULL with one line in error[WRITER_ERROR_MAX] and the exit status in *status (2: a file
 * exists and neither --append nor --force was given, two outputs would share one, or one is what
 * the run reads; 1: the machine said no). Then no file was changed. *first_epoch is the number that
 * the run's first epoch gets: 0, or with --append one more than the last in the files. A FIFO is
 * waited for until it has a reader.
 */
struct writer *writer_open(const struct config *config, const struct sink_log *sink_log,
	uint64_t *first_epoch, int *status, char *error);

/*
 * Hands over an epoch, or records of one, which the writer frees. What finds no room on its way to
 * a place is dropped there (sink_queue.h). One thread pushes; when writer_wait() tells it that
 * there is room everywhere, there is.
 */
void writer_push(struct writer *writer, struct report_epoch *epoch);

/* A report of what became of all rows until now, of each kind at each place. By the thread that
 * pushes. NULL where memory is missing. */
struct report_epoch *writer_deliveries(const struct writer *writer);

/* So many records may wait from now on. By the thread that pushes. */
void writer_bound_flows(struct writer *writer, uint64_t rows);

/* The source does not wait for outputs: at the end, readers are waited for by seconds only. By the
 * thread that pushes. */
void writer_bound_end(struct writer *writer);

/* Waits until there is room for it, but not for long. Returns false where there is still none. */
bool writer_wait(struct writer *writer, const struct report_epoch *epoch);

/* Waits until there is room for it at each place that took the last one, for `ns` at most. */
void writer_wait_for_room(struct writer *writer, const struct report_epoch *epoch, int64_t ns);

/* A live epoch without packets is over, and every later one starts at `end` (ns since 1970) or
 * after it: files that are complete by that are rotated without waiting for a row. */
void writer_pass(struct writer *writer, int64_t end);

/*
 * Whether rows of another configuration's measurements can go where rows go. Returns false with one
 * line in error[WRITER_ERROR_MAX] where the header of a file lacks a column. Any thread.
 */
bool writer_takes(const struct writer *writer, const struct config *config, char *error);

/* Reopens the files by name before the next epoch is written, for log rotation (SIGHUP). Any
 * thread, but not a signal handler. writer_reopening() is true until that is done; then it tells
 * what came of it. */
void writer_reopen(struct writer *writer);
bool writer_reopening(struct writer *writer, struct sink_log_reopened *reopened);

/*
 * Writes what is queued, closes the files, frees the writer. Returns the rows that were lost, in
 * all outputs together. Waits as long as the reader of a pipe does not read, but seconds only
 * after writer_bound_end(), or after a request to stop.
 */
uint64_t writer_close(struct writer *writer);
