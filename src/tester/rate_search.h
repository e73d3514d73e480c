/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The highest rate at which no more than a share of the packets is lost (RFC 2544, 26.1): by
 * halves, from trials at rates that it asks for. The first is the highest there is; what it passes
 * is the answer. A device that loses at one rate and not at a higher one has no such rate: then the
 * answer is one that passed, below one that did not.
 */

#include <stdbool.h>
#include <stdint.h>

#define RATE_SEARCH_RESOLUTION 100 /* ends within the hundredth part of the answer */
#define RATE_SEARCH_TRIALS_MAX 20

struct rate_search {
	double loss;        /* share that may be lost, 0 to 1 */
	uint64_t low, high; /* packets per second: passed, or 0; failed, or 0 where none did */
	uint64_t asked;     /* of the trial at hand; 0: as fast as packets can be sent */
	uint32_t trials;
};

/* highest: packets per second; 0: as many as can be sent. */
void rate_search_init(struct rate_search *search, double loss, uint64_t highest);

/* Whether there is another trial to be made, at `asked`. */
bool rate_search_goes_on(const struct rate_search *search);

/*
 * How the trial went: packets sent and lost, and the rate at which they were sent. Returns whether
 * it passed.
 */
bool rate_search_report(struct rate_search *search, uint64_t sent, uint64_t lost, uint64_t rate);
