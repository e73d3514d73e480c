/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Repeats a warning once a minute, or at once if its value (such as lost packets) doubles. */

#include <stdbool.h>
#include <stdint.h>

/* Zero it before the first use. */
struct log_ratelimit {
	bool logged;
	int64_t logged_at;   /* ns since 1970-01-01 UTC */
	uint64_t worst;      /* value in the last warning */
	uint64_t suppressed; /* measurement intervals since the last warning */
	uint64_t epochs;
	char since[80]; /* text to append to the warning; may be empty */
};

/* `end` is the end of a measurement interval. Returns true if the warning must be logged. */
bool log_ratelimit_due(struct log_ratelimit *ratelimit, int64_t end, uint64_t badness);
