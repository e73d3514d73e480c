/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Log callbacks of the sinks. */

#include <stdbool.h>
#include <stdint.h>

#include "report/formats/progress.h"

#define WRITER_ERROR_MAX 1024

/*
 * Called from any thread of the writer: the thread that calls writer_open() or writer_push(), and
 * those of queues.
 */
struct sink_log {
	/* Logs one line, without its end. */
	void (*log)(bool warning, const char *line, void *arg);
	void *arg;
	/*
	 * Called if the reader of standard output closed it, and there is no other output. May be
	 * NULL.
	 */
	void (*unread)(void);
	/* Progress line, suspended while a line is logged. May be NULL. */
	struct progress *progress;
	/* Returns the number of lines written to the terminal by others; NULL: none. */
	uint64_t (*lines_said)(void);
};

/* Result of reopening all files. */
struct sink_log_reopened {
	uint32_t files; /* number of named files that were reopened */
	/* error of the last file that failed and is kept; empty: none */
	char error[WRITER_ERROR_MAX];
};

/* Logs a line. Suspends the progress line meanwhile. Any thread. */
void sink_log_line(bool warning, const char *line, const struct sink_log *sink_log);

/*
 * Rate limit of warnings about a condition. Used by one thread. Begin and end are logged. A
 * condition that begins within LOG_RATELIMIT_QUIET_NS after the last logged end is logged only if
 * it lasts longer.
 */
#define LOG_RATELIMIT_QUIET_NS  INT64_C(60000000000)
#define LOG_RATELIMIT_OFTEN_MAX 64

struct log_ratelimit_state {
	bool logged; /* the warning was logged, its end was not */
	bool hushed; /* the condition holds, but the warning was suppressed */
	/* suppressed conditions since the last warning */
	uint32_t often;
	int64_t quiet_until;
};

/*
 * Called while the condition holds. Returns true if the caller must log it now, followed by
 * often[LOG_RATELIMIT_OFTEN_MAX].
 */
bool log_ratelimit_begins(struct log_ratelimit_state *ratelimit, int64_t now, char *often);
/* Called when the condition ended. Returns true if the caller must log that. */
bool log_ratelimit_ends(struct log_ratelimit_state *ratelimit, int64_t now);

static inline bool log_ratelimit_goes_on(const struct log_ratelimit_state *ratelimit)
{
	return ratelimit->logged || ratelimit->hushed;
}
