/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Output file for the rows of complete epochs. If a run is killed within an epoch, the next run
 * removes the incomplete epoch.
 *
 * Call output_file_open(), _lock(), _look(), _start() in this order. Only _start() changes a file,
 * so that no file changes if another output cannot be opened. After that, one thread at a time may
 * use the file.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "base/text.h"
#include "report/sinks/rotation.h"
#include "report/formats/format.h"
#include "report/sinks/sink_log.h"

struct output_form {
	struct text header; /* first line; may be empty */
	const struct format *format;
	const struct columns *columns;
};

enum output_file_mode {
	OUTPUT_NEW,    /* fail if a regular file exists */
	OUTPUT_APPEND, /* continue an existing file after its last complete epoch */
	OUTPUT_FORCE,
};

struct output_file {
	const char *name; /* "-" or /dev/stdout: standard output */
	const char *option;
	/* form.columns is NULL if the file contains tables, not rows. */
	struct output_form form;
	struct rotate_limits limits;
	const struct sink_log *sink_log;
	/* true: the run no longer waits for readers of pipes; NULL: it always waits */
	const atomic_bool *over;

	int fd;
	/* path that a symbolic link led to when it was opened; NULL: no link */
	char *target;
	bool regular; /* writes can be rolled back */
	bool named;   /* regular, but not standard output */
	bool created;
	bool locked;
	bool header_due;
	bool appends;  /* opened with OUTPUT_APPEND */
	bool appended; /* opened with OUTPUT_APPEND, and existed before */
	bool had_mark; /* had a mark when opened: the run that wrote it was killed */
	bool marked;
	uint64_t next; /* first epoch that is not yet in all outputs of the run */
	uint64_t size;
	uint64_t keep; /* bytes that output_file_start() keeps */
	bool has_epoch;
	uint64_t last_epoch;
	bool has_start; /* the file has a row, and `start` is valid */
	int64_t start;  /* start of the first row, ns since 1970-01-01 UTC */
	bool stuck;

	/* no more writes: the reader closed it, or it ends with an incomplete row */
	bool gone;
	bool unread;       /* standard output whose reader closed it: no row counts as lost */
	int error;         /* errno of the last write, or 0 */
	uint64_t lost;     /* rows lost since the run began */
	uint64_t lost_now; /* rows lost since the last successful write */
	uint64_t here;     /* rows written since the file was opened */
};

struct output_rows {
	const struct text *text;
	uint64_t n;
	int64_t start;
};

/*
 * Set name, option, form, limits, sink_log, over and fd = -1 before, and all else to 0. Returns 0,
 * or the exit status (2: the file exists) with a message in `error`.
 */
int output_file_open(
	struct output_file *file, enum output_file_mode mode, char *error, size_t size);

/*
 * Fails if another run has locked the file, or has changed it since output_file_open(). This and
 * the next two functions return 0, or 1 with a message in `error`.
 */
int output_file_lock(struct output_file *file, char *error, size_t size);

/* next: the largest output_file.next of all outputs */
int output_file_look(struct output_file *file, uint64_t next, char *error, size_t size);

/* Removes incomplete rows, or with OUTPUT_FORCE all rows. next: first epoch of the run. */
int output_file_start(struct output_file *file, uint64_t next, char *error, size_t size);

/*
 * For a run that does not start. Removes a file that output_file_open() created, unless another run
 * has locked it.
 */
void output_file_abandon(struct output_file *file);

/* Returns true if both are the same regular file or pipe, so that rows would mix. */
bool output_file_same(const struct output_file *a, const struct output_file *b);

/* Does nothing if no header is due. Logs a failure; the next write tries again. */
void output_file_write_header(struct output_file *file);

/*
 * Writes all rows or counts all as lost, after the header and a rotation if these are due. Waits
 * for the reader of a pipe; after the end of the run or once `over` is set, only a few seconds.
 */
void output_file_write(struct output_file *file, const struct output_rows *rows);

/* Marks epochs before `next`, which every output of the run must have, as complete. */
void output_file_mark(struct output_file *file, uint64_t next);

/* Completes the file if its rotation period has ended at `time`. No later row may start earlier. */
void output_file_pass(struct output_file *file, int64_t time);

/*
 * Opens the file again by its name. On failure, or if the name is a symbolic link or a file of
 * another user, logs and returns the reason and keeps the old file. Returns NULL on success.
 */
const char *output_file_reopen(struct output_file *file);

void output_file_close(struct output_file *file);

/*
 * Stores in an extended attribute how much of a file is complete, so that the next run finds an
 * epoch that a killed run left incomplete. A file that was closed normally has no mark.
 *
 * An epoch is marked after all outputs have it. If one mark has `next` = N, every other output
 * therefore has the whole epoch N - 1, except --export deliveries, whose rows are written one epoch
 * later.
 */
struct output_mark {
	/* bytes up to the end of the last complete epoch */
	uint64_t whole;
	uint64_t next; /* first epoch that is not yet in all outputs of the run */
};

/* Returns false if there is no mark. errno ENOTSUP: the file system does not support marks. */
bool output_mark_read(int fd, struct output_mark *mark);

/* Removes the old mark if the new one cannot be written. */
void output_mark_write(int fd, const struct output_mark *mark);
