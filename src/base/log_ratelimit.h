/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Rate-limits a repeated warning about a value, such as a number of lost packets. The warning is
 * due once a minute, or at once if its value doubles. Times are ends of epochs, the measurement
 * intervals.
 */

#include <stdbool.h>
#include <stdint.h>

/* State of one warning. Zeroed by the caller before the first use. */
struct log_ratelimit {
	bool logged;
	int64_t logged_at;   /* end of the epoch of the last warning, ns since 1970-01-01 UTC */
	uint64_t worst;      /* value of the last warning */
	uint64_t suppressed; /* epochs without a warning since the last one */
	uint64_t epochs;     /* affected epochs up to the last warning, since the previous one */
	char since[80];      /* suffix for the text of the warning, with `epochs`; may be empty */
};

/*
 * Call it for each affected epoch, with the end of the epoch and a value in any unit. Returns true
 * if the warning is due, and sets `epochs` and `since`. `since` is empty if `epochs` is 1.
 */
bool log_ratelimit_due(struct log_ratelimit *ratelimit, int64_t end, uint64_t badness);
