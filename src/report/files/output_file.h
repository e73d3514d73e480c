/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A file that rows go to, and never half an epoch: on a regular file a write that fails is cut back
 * to where it began, and what a kill left of one is cut by the next run
 * (report/files/output_mark.h). Named regular files are opened for appending, so that a file that
 * somebody else empties under us (logrotate's copytruncate) goes on at its new end, with a header.
 *
 * With limits a complete file is renamed (report/files/rotation.h) and a new one begun; rows that
 * are written together stay together.
 *
 * Opening takes steps, so that nothing is destroyed when another file cannot be had: open() finds
 * the file, lock() keeps other runs out, look() decides where it goes on, start() changes. After
 * them one thread at a time may use the file. An epoch is written to all outputs of a run, then all
 * of them are told that it is whole.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "report/files/output_tail.h"
#include "base/text.h"
#include "report/files/rotation.h"

/* Says one line (without its end) to a person; see writer.h. */
typedef void (*writer_say_fn)(bool warning, const char *line, void *arg);

enum output_file_mode {
	OUTPUT_NEW,    /* an existing regular file is refused */
	OUTPUT_APPEND, /* goes on after its last whole epoch */
	OUTPUT_FORCE,  /* empties it */
};

struct output_file {
	const char *name; /* "-" or /dev/stdout: standard output */
	const char *option;
	struct output_form form; /* form of its rows; columns NULL: text for people */
	struct rotate_limits limits;
	writer_say_fn log;
	void *log_arg;
	const atomic_bool *over; /* set when readers are waited for no longer; NULL: never */

	int fd;
	char *target;        /* target of the name when opened; NULL: the name was not a link */
	bool regular;        /* can be cut back */
	bool named;          /* regular and not standard output: can be opened again */
	bool created;        /* created by open() */
	bool locked;         /* locked by lock() */
	bool header_due;     /* goes before the next rows */
	bool appends;        /* goes on in a numbering, */
	bool appended;       /* the file existed before */
	bool had_mark;       /* when it was opened: its run was killed */
	bool marked;         /* marks the length of complete epochs */
	uint64_t next;       /* the first epoch that is not in all outputs of the run */
	uint64_t size;       /* when it was opened */
	uint64_t keep;       /* bytes that start() leaves: the rest is unfinished, or given up */
	bool has_epoch;      /* the file goes on after last_epoch */
	uint64_t last_epoch; /* epoch of its last complete row */
	bool has_start;      /* there is a row, and the first one starts then */
	int64_t start;       /* ns since 1970 */
	bool stuck;          /* could not be renamed; already logged */

	bool gone;         /* closed by its reader, or not to be repaired: nothing is tried */
	bool unread;       /* standard output, gone: who closed it wants no more, nothing is lost */
	int error;         /* errno of the last write; 0: it worked */
	uint64_t lost;     /* rows that could not be written, in all */
	uint64_t lost_now; /* since it last worked */
	uint64_t here;     /* rows that were written to the open file */
};

/* Whole rows of one epoch. */
struct output_rows {
	const struct text *text;
	uint64_t n;
	int64_t start; /* start of the epoch, ns since 1970-01-01 UTC */
};

/*
 * name, option, form, limits, say, log_arg and over are filled, fd is -1, the rest is 0. Changes
 * nothing but to create a file that is not there. Returns 0, or the exit status (2: it exists, 1:
 * any other reason) with one line in error[size].
 */
int output_file_open(
	struct output_file *file, enum output_file_mode mode, char *error, size_t size);

/*
 * Claims the file for this run. Returns 0, or 1 with one line in error: another run has it, or
 * changed it since open().
 */
int output_file_lock(struct output_file *file, char *error, size_t size);

/*
 * Finds where a file that was there goes on, and its last epoch. `next` is the largest of all
 * outputs'. Returns 0 or 1 with one line in error.
 */
int output_file_look(struct output_file *file, uint64_t next, char *error, size_t size);

/*
 * Empties the file or cuts what is unfinished at its end. The run's first epoch is `next`. Returns
 * 0 or 1 with one line in error.
 */
int output_file_start(struct output_file *file, uint64_t next, char *error, size_t size);

/*
 * Call it instead of close() after open(), even a failed one. Removes what open() created, unless
 * another run has taken it meanwhile.
 */
void output_file_abandon(struct output_file *file);

/* Both open the same pipe or regular file, where one would end up inside the other. */
bool output_file_same(const struct output_file *a, const struct output_file *b);

/* Writes the header if it is due. Failures are logged and repeated by the next write. */
void output_file_write_header(struct output_file *file);

/*
 * Writes the rows after the header where it is due, to a new file where they do not belong in this
 * one. All of them reach the file, or they count as lost: that is said when it starts and when it
 * ends. A failed text (no memory) counts as lost too. On a pipe it blocks while the reader does,
 * but not for long when the run was asked to end (base/signals.h), or `over` says so.
 */
void output_file_write(struct output_file *file, const struct output_rows *rows);

/* All rows of the epochs before `next` were written to every output of the run. */
void output_file_mark(struct output_file *file, uint64_t next);

/* No row will come that starts before `time`: completes the file where that ends its period. */
void output_file_pass(struct output_file *file, int64_t time);

/*
 * Opens a named file again by its name; keeps the old one, and says so, where that fails: also
 * where the name has become a link, or another user's file. Returns NULL or why.
 */
const char *output_file_reopen(struct output_file *file);

/*
 * Closes the file (never standard output) and frees the header. A header that could not be written,
 * without rows, counts as lost.
 */
void output_file_close(struct output_file *file);
