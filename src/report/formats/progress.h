/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Progress line of a long replay on a terminal. Any thread that writes other output to this
 * terminal calls progress_suspend() before and progress_resume() after it. In between, updates do
 * not draw. The lock is not held while other output is written. If the terminal stalls, only the
 * thread that writes waits.
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
	/* number of progress_suspend() calls whose progress_resume() is still due */
	uint32_t suspended;
	bool begun;
	size_t shown; /* columns drawn */
	uint64_t begin_ns, last_ns;
	uint64_t last_packets, last_bytes;
};

/* Draws nothing if fd is not a terminal. */
void progress_init(struct progress *progress, int fd, bool enabled);

/*
 * Draws the line. packets, bytes: totals since the run began. done: share of the work, 0 to 1;
 * negative if unknown. now_ns: a monotonic clock.
 *
 * Only one thread may call it, at any rate. The line changes at most twice a second. It first
 * appears half a second after the first call.
 */
void progress_update(
	struct progress *progress, double done, uint64_t packets, uint64_t bytes, uint64_t now_ns);

/*
 * Removes the line. It returns after as many progress_resume() calls as there were
 * progress_suspend() calls, of all threads. progress NULL: there is no line.
 */
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

/* Writes the text of the line, shorter than PROGRESS_LINE_MAX. Returns its length. */
size_t progress_format(char line[PROGRESS_LINE_MAX], const struct progress_state *state);
