/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Watches a run by its control socket: one epoch after the other as they close. Nothing blocks but
 * epoch_stream_open(): epoch_stream_fd() is ready when epoch_stream_take() has something to read.
 */

#include <stdint.h>

#include "cli/epoch_view.h"

enum stream_event {
	EPOCH_STREAM_EPOCH,   /* there is one, which is the caller's */
	EPOCH_STREAM_NOTHING, /* not yet */
	EPOCH_STREAM_ENDED,   /* the run ended, and said so; every epoch was seen that was there */
	EPOCH_STREAM_GONE,    /* it closed the connection without a word */
	EPOCH_STREAM_ODD,     /* it answers what is no answer: another version, or no memory */
};

struct epoch_stream;

/*
 * Begins with the last epoch that was closed. everything: with ports, workers and deliveries too. NULL: no run
 * answers, with the reason on standard error, or quiet.
 */
struct epoch_stream *epoch_stream_open(const char *name, bool everything, bool quiet);
/* The same of a run that is connected; takes the socket over. -1: NULL. */
struct epoch_stream *epoch_stream_begin(int fd, bool everything);
void epoch_stream_close(struct epoch_stream *stream); /* NULL is allowed */

/* Of a measurement that has as many rows as an epoch is kept with: it shall have more, while it
 * is the last. NULL: of none. */
void epoch_stream_rows_of(struct epoch_stream *stream, const char *measurement);

int epoch_stream_fd(const struct epoch_stream *stream);

/* Reads one answer and asks on. Blocks where epoch_stream_fd() is not ready. */
enum stream_event epoch_stream_take(struct epoch_stream *stream, struct epoch_view **epoch);
