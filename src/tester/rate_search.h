/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Searches the highest rate that loses at most a share of the packets (RFC 2544, 26.1), by
 * bisection over trials. The first trial has the highest possible rate and, if it passes, is the
 * result. A device that loses at one rate and not at a higher one has no such rate; the result is
 * then a rate that passed, below one that failed.
 */

#include <stdbool.h>
#include <stdint.h>

#define RATE_SEARCH_RESOLUTION 100 /* the search ends within 1/100 of the result */
#define RATE_SEARCH_TRIALS_MAX 20

struct rate_search {
	double loss; /* allowed loss, 0 to 1 */
	/* packets per second: highest passed, 0: none; lowest failed, 0: none */
	uint64_t low, high;
	uint64_t asked; /* packets per second of the current trial; 0: unlimited */
	uint32_t trials;
};

/* Starts a search. highest: packets per second; 0: unlimited. */
void rate_search_init(struct rate_search *search, double loss, uint64_t highest);

/* Returns true if another trial is needed, at the rate `asked`. */
bool rate_search_goes_on(const struct rate_search *search);

/* Reports a trial: packets sent and lost, and the sending rate. Returns true if it passed. */
bool rate_search_report(struct rate_search *search, uint64_t sent, uint64_t lost, uint64_t rate);
