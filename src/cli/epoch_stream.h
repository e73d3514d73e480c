/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Receives the epochs of a run from its control socket. Only epoch_stream_open() and
 * epoch_stream_take() block.
 */

#include <stdint.h>

#include "cli/epoch_view.h"

enum stream_event {
	EPOCH_STREAM_EPOCH,
	EPOCH_STREAM_NOTHING, /* the epoch is not complete yet */
	EPOCH_STREAM_ENDED,   /* after the last epoch */
	EPOCH_STREAM_GONE,
	EPOCH_STREAM_ODD, /* invalid answer, for example of another version; or no memory */
};

struct epoch_stream;

/*
 * Connects to a run by name. The first epoch is the last one that the run has closed. everything:
 * also requests ports, workers and deliveries. On failure, returns NULL and, unless `quiet` is set,
 * prints the reason.
 */
struct epoch_stream *epoch_stream_open(const char *name, bool everything, bool quiet);
/* The same on a connected socket, of which it takes ownership. Returns NULL if fd is -1. */
struct epoch_stream *epoch_stream_begin(int fd, bool everything);
void epoch_stream_close(struct epoch_stream *stream);

/* Requests up to 40 rows of this measurement; NULL: 10, as of the others. */
void epoch_stream_rows_of(struct epoch_stream *stream, const char *measurement);

int epoch_stream_fd(const struct epoch_stream *stream);

/* Reads one answer and requests the next. Blocks until epoch_stream_fd() is readable. */
enum stream_event epoch_stream_take(struct epoch_stream *stream, struct epoch_view **epoch);
