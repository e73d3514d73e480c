/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What outlets say to a person. */

#include <stdbool.h>
#include <stdint.h>

#include "report/files/output_file.h"
#include "report/formats/progress.h"

#define WRITER_ERROR_MAX 1024

/*
 * How the writer reaches a person: say() gets what went wrong with the outputs (a warning) or came
 * right again, from the thread that calls writer_open() or writer_push(), or from an outlet's.
 * That calls unread() when whoever read standard output has closed it, and there is no other
 * output.
 */
struct sink_log {
	writer_say_fn log;
	void *arg;
	void (*unread)(void);      /* may be NULL */
	struct progress *progress; /* taken off the screen for the while; may be NULL */
	/* Lines that others have written on the terminal so far; NULL: nobody writes there. */
	uint64_t (*lines_said)(void);
};

/* What came of reopening all files. */
struct sink_log_reopened {
	uint32_t files;               /* that have names, and were opened */
	char error[WRITER_ERROR_MAX]; /* of the last that was not, and is kept; empty: none */
};

/* Says a line, with what is on the screen taken away for the while. Any thread. */
void sink_log_line(bool warning, const char *line, void *sink_log);

/* Around what is written to the terminal: the progress line is off the screen. Any thread. */
void sink_log_pause(const struct sink_log *sink_log);
void sink_log_go_on(const struct sink_log *sink_log);

/*
 * Trouble that comes and goes, of one thread: it is told when it begins and when it is over, and then
 * not again for LOG_RATELIMIT_QUIET_NS, unless it goes on.
 */
#define LOG_RATELIMIT_QUIET_NS  INT64_C(60000000000)
#define LOG_RATELIMIT_OFTEN_MAX 64

struct log_ratelimit_state {
	bool logged;    /* that it began, and nothing since */
	bool hushed;    /* it began, and was not said */
	uint32_t often; /* it did, and was over, since it was said */
	int64_t quiet_until;
};

/* It is there. True: it is to be said now, with what often[LOG_RATELIMIT_OFTEN_MAX] adds. */
bool log_ratelimit_begins(struct log_ratelimit_state *ratelimit, int64_t now, char *often);
/* It is over. True: that is to be said. */
bool log_ratelimit_ends(struct log_ratelimit_state *ratelimit, int64_t now);

static inline bool log_ratelimit_goes_on(const struct log_ratelimit_state *ratelimit)
{
	return ratelimit->logged || ratelimit->hushed;
}
