/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Watches a run by its control socket: one epoch after the other as they close. Nothing blocks but
 * watch_open(): watch_fd() is ready when watch_take() has something to read.
 */

#include <stdint.h>

#include "cli/epoch_view.h"

enum watch_news {
	WATCH_EPOCH,   /* there is one, which is the caller's */
	WATCH_NOTHING, /* not yet */
	WATCH_ENDED,   /* the run ended, and said so; every epoch was seen that was there */
	WATCH_GONE,    /* it closed the connection without a word */
	WATCH_ODD,     /* it answers what is no answer: another version, or no memory */
};

struct watch;

/*
 * Begins with the last epoch that was closed. everything: with ports, workers and deliveries too. NULL: no run
 * answers, with the reason on standard error, or quiet.
 */
struct watch *watch_open(const char *name, bool everything, bool quiet);
/* The same of a run that is connected; takes the socket over. -1: NULL. */
struct watch *watch_begin(int fd, bool everything);
void watch_close(struct watch *watch); /* NULL is allowed */

/* Of a measurement that has as many rows as an epoch is kept with: it shall have more, while it
 * is the last. NULL: of none. */
void watch_rows_of(struct watch *watch, const char *measurement);

int watch_fd(const struct watch *watch);

/* Reads one answer and asks on. Blocks where watch_fd() is not ready. */
enum watch_news watch_take(struct watch *watch, struct seen_epoch **epoch);
