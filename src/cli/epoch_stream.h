/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Follows the epochs of a run through its control socket as they close. Only epoch_stream_open()
 * blocks: epoch_stream_fd() is readable when epoch_stream_take() has an answer to read.
 */

#include <stdint.h>

#include "cli/epoch_view.h"

enum stream_event {
	EPOCH_STREAM_EPOCH,   /* an epoch, owned by the caller */
	EPOCH_STREAM_NOTHING, /* no epoch yet */
	EPOCH_STREAM_ENDED,   /* the run ended normally, after its last epoch */
	EPOCH_STREAM_GONE,    /* the connection broke */
	EPOCH_STREAM_ODD,     /* invalid answer: another version, or out of memory */
};

struct epoch_stream;

/*
 * Connects to a run by name and starts with the last closed epoch. everything: also ports, workers
 * and deliveries. Returns NULL if no run answers; prints the reason to standard error unless
 * `quiet` is set.
 */
struct epoch_stream *epoch_stream_open(const char *name, bool everything, bool quiet);
/* As epoch_stream_open() for a connected socket, which it owns then. fd -1: returns NULL. */
struct epoch_stream *epoch_stream_begin(int fd, bool everything);
void epoch_stream_close(struct epoch_stream *stream); /* NULL is allowed */

/*
 * Selects a measurement for which more rows are requested than an answer has, while its epoch is
 * the last one. NULL: none.
 */
void epoch_stream_rows_of(struct epoch_stream *stream, const char *measurement);

int epoch_stream_fd(const struct epoch_stream *stream);

/* Reads one answer and sends the next request. Blocks if epoch_stream_fd() is not readable. */
enum stream_event epoch_stream_take(struct epoch_stream *stream, struct epoch_view **epoch);
