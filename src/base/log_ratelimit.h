/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What may be true of every epoch is said once a minute, and at once where it gets twice as bad. */

#include <stdbool.h>
#include <stdint.h>

/* Remembers what was said of one thing. Zeroed at the start. */
struct log_ratelimit {
	bool said;
	int64_t said_at; /* ns since 1970-01-01 UTC, by the epochs */
	uint64_t worst;  /* of what was said within the minute */
	uint64_t unsaid; /* epochs since then of which it was true */
	uint64_t epochs; /* as many as the last word was about */
	char since[80];  /* what a word adds about epochs of which none was said; empty: nothing */
};

/*
 * Call for each epoch of which it is true, with the epoch's end and how bad it is, in any unit.
 * True where it is to be said; rarely->epochs is then how many epochs it was so since it was last
 * said, this one included, and rarely->since ends the sentence with that where it is more than one.
 */
bool log_ratelimit_due(struct log_ratelimit *rarely, int64_t end, uint64_t badness);
