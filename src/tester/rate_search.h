/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Searches the highest rate at which at most a given share of packets is lost (RFC 2544, section
 * 26.1), by bisection. If loss does not grow with the rate, even higher rates than the result may
 * pass.
 */

#include <stdbool.h>
#include <stdint.h>

#define RATE_SEARCH_RESOLUTION 100
#define RATE_SEARCH_TRIALS_MAX 20

struct rate_search {
	double loss; /* allowed loss, 0 to 1 */
	/* packets/s; highest that passed, lowest that failed; 0: none */
	uint64_t low, high;
	uint64_t asked; /* packets/s of the next trial; 0: unlimited */
	uint32_t trials;
};

/* loss: allowed share. highest: packets/s; 0: unlimited. */
void rate_search_init(struct rate_search *search, double loss, uint64_t highest);

bool rate_search_goes_on(const struct rate_search *search);

/* rate: packets/s that were sent. Returns true if the trial passed. */
bool rate_search_report(struct rate_search *search, uint64_t sent, uint64_t lost, uint64_t rate);
