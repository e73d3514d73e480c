/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Searches the highest rate at which at most a given share of packets is lost (RFC 2544, section
 * 26.1), by bisection over trials. The first trial has the highest possible rate; if it passes, the
 * search ends. The result passed, and a rate that failed is at most 1 % higher; if loss does not
 * grow with the rate, even higher rates may pass.
 */

#include <stdbool.h>
#include <stdint.h>

#define RATE_SEARCH_RESOLUTION 100 /* the search ends if high - low is at most 1/100 of high */
#define RATE_SEARCH_TRIALS_MAX 20

struct rate_search {
	double loss; /* allowed loss, 0 to 1 */
	/* highest rate that passed, lowest that failed, packets per second; 0: none */
	uint64_t low, high;
	uint64_t asked; /* rate of the next trial, packets per second; 0: unlimited */
	uint32_t trials;
};

/* Starts a search. loss: allowed share. highest: packets per second; 0: unlimited. */
void rate_search_init(struct rate_search *search, double loss, uint64_t highest);

/* Returns true if another trial is needed, with rate search->asked. */
bool rate_search_goes_on(const struct rate_search *search);

/* Adds the result of a trial. rate: sending rate, packets per second. Returns true if it passed. */
bool rate_search_report(struct rate_search *search, uint64_t sent, uint64_t lost, uint64_t rate);
