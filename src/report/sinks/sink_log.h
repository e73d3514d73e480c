/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Logging of the writer and the sinks: callbacks, and rate limits of warnings. */

#include <stdbool.h>
#include <stdint.h>

#include "report/formats/progress.h"

#define WRITER_ERROR_MAX 1024

/*
 * Callbacks for messages. May be called by any thread of the writer: those that call writer_open()
 * or writer_push(), and the threads of queues.
 */
struct sink_log {
	/* Logs one line, which has no line end. */
	void (*log)(bool warning, const char *line, void *arg);
	void *arg;
	/*
	 * Called if the reader of standard output has closed it and the run has no other output.
	 * May be NULL.
	 */
	void (*unread)(void);
	/* Progress line that is suspended while a line is logged. May be NULL. */
	struct progress *progress;
	/* Returns the number of lines that other code has written to the terminal. NULL: none. */
	uint64_t (*lines_said)(void);
};

/* Result of opening the output files again. */
struct sink_log_reopened {
	uint32_t files; /* number of named files that were opened again */
	/*
	 * error of the last file that could not be opened again; its old file is kept. Empty: none.
	 */
	char error[WRITER_ERROR_MAX];
};

/* Logs a line. Suspends the progress line during this time. May be called by any thread. */
void sink_log_line(bool warning, const char *line, const struct sink_log *sink_log);

/*
 * Rate limit of warnings about a condition, used by one thread. The begin and the end of the
 * condition are logged. If the condition begins again within LOG_RATELIMIT_QUIET_NS after a logged
 * end, it is logged only if it lasts beyond that time.
 */
#define LOG_RATELIMIT_QUIET_NS  INT64_C(60000000000)
#define LOG_RATELIMIT_OFTEN_MAX 64

struct log_ratelimit_state {
	bool logged; /* true: the begin was logged, and the condition still holds */
	bool hushed; /* true: the condition holds, but its begin was not logged */
	/* times that the condition held without being logged, since the last warning */
	uint32_t often;
	int64_t quiet_until;
};

/*
 * Call it while the condition holds. Returns true if the caller must now log the condition, with
 * the text often[LOG_RATELIMIT_OFTEN_MAX] at the end.
 */
bool log_ratelimit_begins(struct log_ratelimit_state *ratelimit, int64_t now, char *often);
/* Call it when the condition no longer holds. Returns true if the caller must log that. */
bool log_ratelimit_ends(struct log_ratelimit_state *ratelimit, int64_t now);

static inline bool log_ratelimit_goes_on(const struct log_ratelimit_state *ratelimit)
{
	return ratelimit->logged || ratelimit->hushed;
}
