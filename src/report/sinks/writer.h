/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Writes reports to all destinations. Each network sink has its own queue, and so has each pipe,
 * terminal or device; all regular files have a common one (sink_queue.h). A destination that stalls
 * therefore delays neither the reporter nor the others. Between writer_open() and writer_close(),
 * the threads of the queues own the output files.
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
 * Opens the outputs of the configuration: network sinks, files, and the table on standard output.
 * Waits until a FIFO has a reader. *first_epoch: number of the first epoch of the run. It is 0, or
 * with --append the number after the last epoch in the files.
 *
 * On failure, returns NULL and stores a message in error[WRITER_ERROR_MAX], and the exit status.
 * Then no existing file has changed. Status 2: a file exists and neither --append nor --force was
 * given, two outputs have the same file, or a file is an input of the run. Status 1: other errors.
 */
struct writer *writer_open(const struct config *config, const struct sink_log *sink_log,
	uint64_t *first_epoch, int *status, char *error);

/*
 * Queues an epoch, or flow records of one, for all destinations. Takes over the caller's reference.
 * If a destination has no room, its rows are dropped (sink_queue.h). There is room after
 * writer_wait() returned true. Only one thread may push; comments call it the pushing thread.
 */
void writer_push(struct writer *writer, struct report_epoch *epoch);

/*
 * Returns a report of the delivery counts since the run began, by kind of rows and destination.
 * Returns NULL if out of memory. Called by the pushing thread.
 */
struct report_epoch *writer_deliveries(const struct writer *writer);

/*
 * Limits the number of flow records that wait for each destination. Called by the pushing thread.
 */
void writer_bound_flows(struct writer *writer, uint64_t rows);

/*
 * Limits the time for which writer_close() waits for readers to a few seconds. For sources that do
 * not wait for outputs. Called by the pushing thread.
 */
void writer_bound_end(struct writer *writer);

/*
 * Waits a short time until all queues have room for the report. Returns false if one still has
 * none.
 */
bool writer_wait(struct writer *writer, const struct report_epoch *epoch);

/*
 * Waits up to `ns` in total until the queues have room for the report. Does not wait for a queue
 * that dropped its last report.
 */
void writer_wait_for_room(struct writer *writer, const struct report_epoch *epoch, int64_t ns);

/*
 * Ends a live epoch without packets. All later epochs start at `end` (ns since 1970-01-01 UTC) or
 * later. A file whose rotation period has ended is completed now.
 */
void writer_pass(struct writer *writer, int64_t end);

/*
 * Returns true if the outputs can write the rows of another configuration's measurements. Otherwise
 * stores a message in error[WRITER_ERROR_MAX]: the header of a file lacks a column. Any thread may
 * call it.
 */
bool writer_takes(const struct writer *writer, const struct config *config, char *error);

/*
 * Requests that all files are opened again by their names, before the next epoch is written. Used
 * for log rotation (SIGHUP). Any thread may call it, but a signal handler must not.
 * writer_reopening() returns true until this is done. Then it stores the result.
 */
void writer_reopen(struct writer *writer);
bool writer_reopening(struct writer *writer, struct sink_log_reopened *reopened);

/*
 * Writes the queued reports, closes the files and frees the writer. Returns the number of rows that
 * were lost in all outputs. Waits for the reader of a pipe. After writer_bound_end(), or a request
 * to stop, it waits only a few seconds.
 */
uint64_t writer_close(struct writer *writer);
