/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Receives the epochs of a run from its control socket, each when it ends. Only epoch_stream_open()
 * blocks. epoch_stream_take() can read an answer if epoch_stream_fd() is readable.
 */

#include <stdint.h>

#include "cli/epoch_view.h"

enum stream_event {
	EPOCH_STREAM_EPOCH,   /* an epoch, owned by the caller */
	EPOCH_STREAM_NOTHING, /* no epoch yet */
	EPOCH_STREAM_ENDED,   /* the run ended normally, after its last epoch */
	EPOCH_STREAM_GONE,    /* the connection broke */
	EPOCH_STREAM_ODD,     /* invalid answer: the run has another version, or out of memory */
};

struct epoch_stream;

/*
 * Connects to a run by name and starts with its last closed epoch. everything: also requests ports,
 * workers and deliveries. Returns NULL if no run answers; prints the reason to standard error
 * unless `quiet` is set.
 */
struct epoch_stream *epoch_stream_open(const char *name, bool everything, bool quiet);
/* As epoch_stream_open() on a connected socket. Takes ownership of it. Returns NULL if fd is -1. */
struct epoch_stream *epoch_stream_begin(int fd, bool everything);
void epoch_stream_close(struct epoch_stream *stream); /* NULL is allowed */

/*
 * Selects a measurement of which up to 40 rows are requested, instead of 10. The run has these rows
 * only for its last epoch. NULL: none.
 */
void epoch_stream_rows_of(struct epoch_stream *stream, const char *measurement);

int epoch_stream_fd(const struct epoch_stream *stream);

/* Reads one answer and sends the next request. Blocks if epoch_stream_fd() is not readable. */
enum stream_event epoch_stream_take(struct epoch_stream *stream, struct epoch_view **epoch);
