/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Progress line of a long replay on a terminal. A thread calls progress_suspend() before, and
 * progress_resume() after it writes other output. The lock is not held in between: if the terminal
 * stalls, only that thread waits.
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
	bool enabled;
	pthread_mutex_t lock; /* protects the following fields */
	/* calls of progress_suspend() without their progress_resume() */
	uint32_t suspended;
	bool begun;
	size_t shown;
	uint64_t begin_ns, last_ns;
	uint64_t last_packets, last_bytes;
};

/* Draws nothing if fd is not a terminal. */
void progress_init(struct progress *progress, int fd, bool enabled);

/*
 * Only one thread may call it, at any rate. The line first appears after half a second, and changes
 * at most twice a second. packets, bytes: since the run began. done: 0 to 1; negative: unknown.
 */
void progress_update(
	struct progress *progress, double done, uint64_t packets, uint64_t bytes, uint64_t now_ns);

/*
 * progress_suspend() removes the line. The line returns after as many progress_resume() calls as
 * there were progress_suspend() calls of all threads. NULL is allowed.
 */
void progress_suspend(struct progress *progress);
void progress_resume(struct progress *progress);

/* Removes the line until the next update. */
void progress_clear(struct progress *progress);

struct progress_state {
	double done;         /* 0 to 1; negative: unknown */
	uint64_t packets;    /* since the run began */
	double pps, bps;     /* since the last update, per second */
	uint64_t elapsed_ns; /* since the run began */
};

/* Returns the length, less than PROGRESS_LINE_MAX. */
size_t progress_format(char line[PROGRESS_LINE_MAX], const struct progress_state *state);
