/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Rate-limits a warning about epochs: once a minute, or at once if its value doubles. */

#include <stdbool.h>
#include <stdint.h>

/* State of one warning. The caller clears it. */
struct log_ratelimit {
	bool logged;
	int64_t logged_at; /* ns since 1970-01-01 UTC; end of the epoch of the last warning */
	uint64_t worst;    /* largest value logged within the minute */
	uint64_t unsaid;   /* suppressed epochs since then */
	uint64_t epochs;   /* epochs covered by the last warning */
	char since[80];    /* suffix of the warning about suppressed epochs; may be empty */
};

/*
 * Call it for each affected epoch with the end of the epoch and a value in any unit. Returns true
 * if the warning is due. Then ratelimit->epochs is the number of affected epochs since the last
 * warning, including this one, and ratelimit->since is a suffix that names it if it is more than one.
 */
bool log_ratelimit_due(struct log_ratelimit *ratelimit, int64_t end, uint64_t badness);
