/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Logging of the writer and the sinks. */

#include <stdbool.h>
#include <stdint.h>

#include "report/formats/progress.h"

#define WRITER_ERROR_MAX 1024

/* Any thread of the writer may call these. */
struct sink_log {
	/* `line` has no line end */
	void (*log)(bool warning, const char *line, void *arg);
	void *arg;
	/*
	 * Called if the reader of standard output has closed it and the run has no other output.
	 * May be NULL.
	 */
	void (*unread)(void);
	/* suspended while a line is logged; may be NULL */
	struct progress *progress;
	/* Returns the number of lines that other code has written to the terminal. May be NULL. */
	uint64_t (*lines_said)(void);
};

/* Result of opening the output files again by their names. */
struct sink_log_reopened {
	uint32_t files; /* files that were opened again */
	/* for the last file that could not be opened again and is kept; empty: none */
	char error[WRITER_ERROR_MAX];
};

void sink_log_line(bool warning, const char *line, const struct sink_log *sink_log);

/*
 * Rate limit of warnings about a condition. The begin and end of the condition are logged. If it
 * begins again within LOG_RATELIMIT_QUIET_NS after a logged end, it is logged only if it outlasts
 * that time. Not thread-safe.
 */
#define LOG_RATELIMIT_QUIET_NS  INT64_C(60000000000)
#define LOG_RATELIMIT_OFTEN_MAX 64

struct log_ratelimit_state {
	bool logged; /* the condition holds, and its begin was logged */
	bool hushed; /* the condition holds, but its begin was not logged */
	/*
	 * number of times that the condition held and ended without being logged, since the last
	 * warning
	 */
	uint32_t often;
	int64_t quiet_until;
};

/*
 * Call it while the condition holds. If it returns true, the caller must log the condition,
 * followed by the text often[LOG_RATELIMIT_OFTEN_MAX].
 */
bool log_ratelimit_begins(struct log_ratelimit_state *ratelimit, int64_t now, char *often);
/* Call it when the condition no longer holds. Returns true if the caller must log its end. */
bool log_ratelimit_ends(struct log_ratelimit_state *ratelimit, int64_t now);

static inline bool log_ratelimit_goes_on(const struct log_ratelimit_state *ratelimit)
{
	return ratelimit->logged || ratelimit->hushed;
}
