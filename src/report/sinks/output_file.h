/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Output file for rows of complete epochs. A failed write to a regular file is rolled back; the
 * next run removes an epoch that a killed run left incomplete. Named
 * regular files are opened for appending, so that after another program truncates one (logrotate's
 * copytruncate) rows continue at its new end, with a header.
 *
 * With limits, a complete file is renamed (report/sinks/rotation.h) and a new one begun. Rows
 * written together stay in one file.
 *
 * Opening takes four steps, so that nothing is overwritten if another output cannot be opened:
 * open() finds the file, lock() excludes other runs, look() finds the position to continue at,
 * start() changes the file. After that, one thread at a time may use the file. An epoch is written
 * to all outputs of a run, then marked complete in all of them.
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
	struct text header; /* first line, with its end; empty: none */
	const struct format *format;
	const struct columns *columns; /* columns of its rows */
};

enum output_file_mode {
	OUTPUT_NEW,    /* fails if a regular file exists */
	OUTPUT_APPEND, /* continues after its last complete epoch */
	OUTPUT_FORCE,  /* empties it */
};

struct output_file {
	const char *name; /* "-" or /dev/stdout: standard output */
	const char *option;
	struct output_form form; /* form of the rows; columns NULL: text for the operator */
	struct rotate_limits limits;
	const struct sink_log *sink_log;
	const atomic_bool *over; /* set when the run no longer waits for readers; NULL: never */

	int fd;
	char *target;        /* target of the name when opened; NULL: the name was not a link */
	bool regular;        /* writes can be rolled back */
	bool named;          /* regular and not standard output: can be opened again */
	bool created;        /* created by open() */
	bool locked;         /* locked by lock() */
	bool header_due;     /* header is missing: written before the next rows */
	bool appends;        /* opened with OUTPUT_APPEND: epoch numbers continue */
	bool appended;       /* existed before, and opened with OUTPUT_APPEND */
	bool had_mark;       /* has a mark at open: its run was killed */
	bool marked;         /* has a mark of this run */
	uint64_t next;       /* first epoch not yet in all outputs of the run */
	uint64_t size;       /* bytes at open */
	uint64_t keep;       /* bytes that start() keeps; 0 for OUTPUT_FORCE */
	bool has_epoch;      /* last_epoch is valid */
	uint64_t last_epoch; /* epoch of its last complete row */
	bool has_start;      /* there is a row; `start` is valid */
	int64_t start;       /* start of the first row, ns since 1970-01-01 UTC */
	bool stuck;          /* could not be renamed; already logged */

	bool gone;         /* closed by its reader, or ends with a partial row: no more writes */
	bool unread;       /* standard output closed by its reader: nothing counts as lost */
	int error;         /* errno of the last write; 0: it worked */
	uint64_t lost;     /* rows not written since the start */
	uint64_t lost_now; /* rows lost since the last successful write */
	uint64_t here;     /* rows written to the open file */
};

/* Whole rows of one epoch. */
struct output_rows {
	const struct text *text;
	uint64_t n;
	int64_t start; /* start of the epoch, ns since 1970-01-01 UTC */
};

/*
 * Set name, option, form, limits, sink_log and over, fd = -1, all else 0. Changes nothing
 * except that it creates a missing file. Returns 0, or the exit status (2: the file exists, 1: any
 * other reason) with one line in error[size].
 */
int output_file_open(
	struct output_file *file, enum output_file_mode mode, char *error, size_t size);

/*
 * Locks the file for this run. Returns 0, or 1 with one line in error: another run has locked it,
 * or changed it since open().
 */
int output_file_lock(struct output_file *file, char *error, size_t size);

/*
 * Finds the position to continue an existing file at, and its last epoch. `next` is the largest
 * `next` of all outputs. Returns 0, or 1 with one line in error.
 */
int output_file_look(struct output_file *file, uint64_t next, char *error, size_t size);

/*
 * Truncates the file to its complete rows, or to 0. `next` is the first epoch of the run. Returns
 * 0, or 1 with one line in error.
 */
int output_file_start(struct output_file *file, uint64_t next, char *error, size_t size);

/*
 * Call this instead of close() if a run does not start, also after a failed open(). Removes a file
 * that open() created, unless another run has locked it.
 */
void output_file_abandon(struct output_file *file);

/* Returns true if both are the same pipe or regular file, so that their rows would mix. */
bool output_file_same(const struct output_file *a, const struct output_file *b);

/* Writes the header if it is due. A failed header is logged, and the next write repeats it. */
void output_file_write_header(struct output_file *file);

/*
 * Writes the header if it is due, then the rows: to a new file if rotation requires one. Either all
 * rows are written or all count as lost; the start and end of losses are logged. A failed text (out
 * of memory) counts as lost. Blocks while the reader of a pipe does not read, but only a few
 * seconds when the run ends (base/signals.h) or `over` is set.
 */
void output_file_write(struct output_file *file, const struct output_rows *rows);

/* Marks the epochs before `next` as complete. Call it when every output of the run has them. */
void output_file_mark(struct output_file *file, uint64_t next);

/* No later row starts before `time`: completes the file if its period has ended. */
void output_file_pass(struct output_file *file, int64_t time);

/*
 * Reopens a named file by its name. On failure it logs the reason and keeps the old file: also if
 * the name is now a symbolic link or another user's file. Returns NULL or the reason.
 */
const char *output_file_reopen(struct output_file *file);

/*
 * Closes the file (never standard output) and frees the header. A header that could not be written
 * counts as one lost row if no other row was lost.
 */
void output_file_close(struct output_file *file);

/*
 * Stores in an output file the length of its complete epochs, so that the next run finds an epoch
 * that a killed run left incomplete. The mark is an extended attribute: it moves with the file and
 * rows are unchanged. A file that was closed normally has no mark.
 *
 * An epoch is written to all outputs, then marked in all. If one mark has `next` = N, every other
 * output has epoch N - 1 complete, marked or not. The exception is --export deliveries, which is
 * written one epoch later.
 */
struct output_mark {
	uint64_t whole; /* bytes of complete epochs, from the beginning of the file */
	uint64_t next;  /* first epoch not yet in all outputs of the run */
};

/* Returns false if there is no mark; errno ENOTSUP: the file system does not support marks. */
bool output_mark_read(int fd, struct output_mark *mark);

/* Writes the mark, or removes the old one on failure. */
void output_mark_write(int fd, const struct output_mark *mark);
