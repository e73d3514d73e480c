/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * One line on a terminal that says how far a long replay is. Other output to the same terminal
 * stands between progress_suspend() and progress_resume(), from any thread; updates that come
 * meanwhile are left out. The lock is never held while other output is written, so that a stopped
 * terminal stops nobody but who writes to it.
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
	pthread_mutex_t lock; /* guards what follows */
	uint32_t suspended;   /* suspend() without their resume() */
	bool begun;
	size_t shown; /* columns on the screen */
	uint64_t begin_ns, last_ns;
	uint64_t last_packets, last_bytes;
};

/* Silent where fd is not a terminal. */
void progress_init(struct progress *progress, int fd, bool enabled);

/*
 * packets and bytes since the run began; done is 0 to 1, or negative where the end is not known.
 * now_ns is any clock that does not run backwards. One thread calls it, as often as it likes: the
 * line changes at most twice a second, for the first time half a second after the first call.
 */
void progress_update(
	struct progress *progress, double done, uint64_t packets, uint64_t bytes, uint64_t now_ns);

/* Takes the line off the screen until progress_resume(). They nest, also between threads. */
void progress_suspend(struct progress *progress);
void progress_resume(struct progress *progress);

/* Takes the line off the screen until the next update. */
void progress_clear(struct progress *progress);

struct progress_state {
	double done;         /* 0 to 1; negative: not known */
	uint64_t packets;    /* so far */
	double pps, bps;     /* packets and bits per second, lately */
	uint64_t elapsed_ns; /* so far */
};

/* Writes the line, less than PROGRESS_LINE_MAX columns, to line and returns its length. */
size_t progress_format(char line[PROGRESS_LINE_MAX], const struct progress_state *state);
