/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Output file for the rows of complete epochs.
 *
 * If a write to a regular file fails, the part that was written is removed. If a run is killed
 * within an epoch, the next run removes the incomplete epoch. Regular files are opened with
 * O_APPEND: if another program truncates one (copytruncate of logrotate), rows continue at the new
 * end, after a header.
 *
 * With limits, a complete file is renamed (report/sinks/rotation.h), and a new file begins. Rows
 * that are written together stay in one file.
 *
 * Opening has four steps, so that no file changes if another output cannot be opened:
 *     output_file_open()   finds the file,
 *     output_file_lock()   excludes other runs,
 *     output_file_look()   finds the position at which to continue,
 *     output_file_start()  changes the file.
 * After that, one thread at a time may use the file. An epoch is written to all outputs of a run,
 * then marked as complete in all of them.
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

/* Form of an output file. */
struct output_form {
	struct text header; /* first line, with its line end; empty: the format has none */
	const struct format *format;
	const struct columns *columns; /* columns of its rows */
};

enum output_file_mode {
	OUTPUT_NEW,    /* fail if a regular file exists */
	OUTPUT_APPEND, /* continue an existing file after its last complete epoch */
	OUTPUT_FORCE,  /* empty an existing file */
};

struct output_file {
	const char *name; /* "-" or /dev/stdout: standard output */
	const char *option;
	/* form.columns is NULL if the file contains tables for the operator instead of rows. */
	struct output_form form;
	struct rotate_limits limits;
	const struct sink_log *sink_log;
	/* set to true when the run no longer waits for readers; NULL: it always waits */
	const atomic_bool *over;

	int fd;
	/* path that a symbolic link led to when it was opened; NULL: the name is not a link */
	char *target;
	bool regular;        /* writes can be rolled back */
	bool named;          /* regular, but not standard output: can be opened again by its name */
	bool created;        /* created by open() */
	bool locked;         /* locked by lock() */
	bool header_due;     /* the header must be written before the next rows */
	bool appends;        /* opened with OUTPUT_APPEND: the numbers of epochs continue */
	bool appended;       /* opened with OUTPUT_APPEND, and existed before */
	bool had_mark;       /* had a mark when it was opened: the run that wrote it was killed */
	bool marked;         /* has a mark of this run */
	uint64_t next;       /* first epoch that is not yet in all outputs of the run */
	uint64_t size;       /* bytes at open */
	uint64_t keep;       /* bytes that output_file_start() keeps; 0 with OUTPUT_FORCE */
	bool has_epoch;      /* last_epoch is valid */
	uint64_t last_epoch; /* epoch number of the last complete row */
	bool has_start;      /* the file has a row, and `start` is valid */
	int64_t start;       /* start of the first row, ns since 1970-01-01 UTC */
	bool stuck;          /* true if renaming failed, and this was logged */

	/* no more writes: its reader closed it, or it ends with an incomplete row */
	bool gone;
	bool unread;       /* standard output whose reader closed it: no row counts as lost */
	int error;         /* errno of the last write; 0: success */
	uint64_t lost;     /* rows lost since the run began */
	uint64_t lost_now; /* rows lost since the last successful write */
	uint64_t here;     /* rows written since the file was opened */
};

/* Whole rows of one epoch. */
struct output_rows {
	const struct text *text;
	uint64_t n;
	int64_t start; /* start of this epoch, ns since 1970-01-01 UTC */
};

/*
 * Opens or creates the file. Does not change an existing one. Before the call, set name, option,
 * form, limits, sink_log and over, set fd to -1, and set all other fields to 0.
 *
 * Returns 0, or the exit status with a message in error[size]. 2: the file exists; 1: any other
 * reason.
 */
int output_file_open(
	struct output_file *file, enum output_file_mode mode, char *error, size_t size);

/*
 * Locks the file for this run. Returns 0, or 1 with a message in `error`: another run has locked
 * the file, or has changed it since output_file_open().
 */
int output_file_lock(struct output_file *file, char *error, size_t size);

/*
 * Finds the last complete epoch of an existing file. next: the largest output_file.next of all
 * outputs. Returns 0, or 1 with a message in `error`.
 */
int output_file_look(struct output_file *file, uint64_t next, char *error, size_t size);

/*
 * Removes incomplete rows from the end of the file, or with OUTPUT_FORCE all rows. next: first
 * epoch of the run. Returns 0, or 1 with a message in `error`.
 */
int output_file_start(struct output_file *file, uint64_t next, char *error, size_t size);

/*
 * Releases a file if the run does not start, even if output_file_open() failed. Call it instead of
 * output_file_close(). Removes a file that output_file_open() created, unless another run has
 * locked it.
 */
void output_file_abandon(struct output_file *file);

/* Returns true if `a` and `b` are the same regular file or pipe, so that their rows would mix. */
bool output_file_same(const struct output_file *a, const struct output_file *b);

/* Writes the header if it is due. Logs a failure; the next write tries again. */
void output_file_write_header(struct output_file *file);

/*
 * Writes the header if it is due, then the rows. First begins a new file if a rotation is due.
 *
 * Either all rows are written, or all count as lost. Logs when losses begin and end. If the text
 * has failed because of missing memory, its rows count as lost. The call waits while the reader of
 * a pipe does not read. Once the run ends (base/signals.h) or `over` is set, it waits only a few
 * seconds.
 */
void output_file_write(struct output_file *file, const struct output_rows *rows);

/* Marks all epochs before `next` as complete. Call it when every output of the run has them. */
void output_file_mark(struct output_file *file, uint64_t next);

/*
 * Completes the file if its rotation period has ended at `time`. No later row may start before
 * `time`.
 */
void output_file_pass(struct output_file *file, int64_t time);

/*
 * Opens a named file again by its name. Returns NULL on success. Otherwise logs the reason, returns
 * it and keeps the old file. A symbolic link or a file of another user is such a reason.
 */
const char *output_file_reopen(struct output_file *file);

/*
 * Closes the file, except standard output, and frees the header. If the header could not be
 * written, and no row was lost, counts one row as lost.
 */
void output_file_close(struct output_file *file);

/*
 * A mark stores the length of the complete epochs in an output file. By it, the next run finds an
 * epoch that a killed run left incomplete. It is an extended attribute: it stays with the file if
 * the file is renamed, and rows do not change. A file that was closed normally has no mark.
 *
 * An epoch is first written to all outputs, then marked in all. If one mark has `next` = N, every
 * other output therefore has the whole epoch N - 1, even if it is not marked yet. The exception is
 * --export deliveries: its rows are written one epoch later.
 */
struct output_mark {
	/* bytes from the beginning of the file to the end of its last complete epoch */
	uint64_t whole;
	uint64_t next; /* first epoch that is not yet in all outputs of the run */
};

/* Returns false if there is no mark. errno is ENOTSUP if the file system does not support marks. */
bool output_mark_read(int fd, struct output_mark *mark);

/* Writes the mark. If that fails, removes the old mark. */
void output_mark_write(int fd, const struct output_mark *mark);
