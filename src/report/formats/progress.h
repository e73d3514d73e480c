/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Progress line of a long replay on a terminal. Other output to the same terminal goes between
 * progress_suspend() and progress_resume(), from any thread; updates in between are skipped. The
 * lock is not held during other output, so that a stopped terminal blocks only the thread that
 * writes.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/option.h"

struct progress_options {
	bool none;
};

OPTION_OWNER(progress)

#define PROGRESS_LINE_MAX 80

struct progress {
	int fd;
	bool enabled;         /* fd is a terminal */
	pthread_mutex_t lock; /* protects the following fields */
	uint32_t suspended;   /* progress_suspend() calls without progress_resume() */
	bool begun;
	size_t shown; /* columns drawn */
	uint64_t begin_ns, last_ns;
	uint64_t last_packets, last_bytes;
};

/* Draws nothing if fd is not a terminal. */
void progress_init(struct progress *progress, int fd, bool enabled);

/*
 * Draws the line. packets and bytes: since the run began. done: 0 to 1, or negative if the end is
 * unknown. now_ns: any monotonic clock. Called by one thread, at any rate: the line changes at most
 * twice a second, first half a second after the first call.
 */
void progress_update(
	struct progress *progress, double done, uint64_t packets, uint64_t bytes, uint64_t now_ns);

/* Removes the line until progress_resume(). Calls nest, also across threads. NULL: no line. */
void progress_suspend(struct progress *progress);
void progress_resume(struct progress *progress);

/* Removes the line until the next update. */
void progress_clear(struct progress *progress);

struct progress_state {
	double done;         /* 0 to 1; negative: unknown */
	uint64_t packets;    /* since the run began */
	double pps, bps;     /* packets and bits per second since the last update */
	uint64_t elapsed_ns; /* since the run began */
};

/* Writes the line, less than PROGRESS_LINE_MAX columns, and returns its length. */
size_t progress_format(char line[PROGRESS_LINE_MAX], const struct progress_state *state);
