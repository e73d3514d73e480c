/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Time to count packets by the state of their flow, or by queries: Table III of Tangari 2017. */

#include <stdbool.h>
#include <stdint.h>

#include "tune/measure/workload.h"

#define STATE_COUNTING_CASES 3

/* Numbers of states and of queries, as in the paper. */
extern const uint32_t counted_states[STATE_COUNTING_CASES], counted_queries[STATE_COUNTING_CASES];

struct state_counting {
	/* ns per packet: an array of counters, indexed by state */
	double states[STATE_COUNTING_CASES];
	/*
	 * ns per packet of known flows: a flow table with this number of queries, minus one without
	 * queries. All match a flow, and all are off.
	 */
	double queries[STATE_COUNTING_CASES];
	double no_match[STATE_COUNTING_CASES]; /* likewise; no query matches a flow */
	double without;                        /* ns per packet of the flow table without queries */
};

/* Minima of the rounds. Returns false if out of memory. */
bool state_counting_measure(struct state_counting *times, const struct workload *workload,
	uint32_t rounds, uint64_t seed);
