/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * States of flows in a flow table with --flow-detail: count, rate, tcp. The packets of a flow
 * advance it from state to state. The flow's state selects the detail in which its packets are
 * processed. Under overload, struct flow_states maps it to a state with less detail
 * (docs/FLOWTABLE.md).
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key_burst.h"

enum flow_depth {
	FLOW_COUNT, /* packets, bytes, times, flags, as without --flow-detail */
	FLOW_RATE,  /* also peak rate, bursts, gaps */
	FLOW_TCP,   /* also retransmissions, order, zero windows */
};

#define FLOW_STATES 3 /* count, rate, tcp */

/* Returns the name of state i, NULL after the last. */
const char *flow_depth_word(uint32_t i);

/*
 * Maps the own state of a flow to the state in which its packets are processed. Flows with
 * flow_states_part() < share use to[1][own], all others to[0][own].
 */
struct flow_states {
	uint8_t to[2][FLOW_STATES];
	uint32_t share;
};

#define FLOW_STATES_IDENTITY                                                                       \
	{                                                                                          \
		.to = { {FLOW_COUNT, FLOW_RATE, FLOW_TCP}, {FLOW_COUNT, FLOW_RATE, FLOW_TCP} }     \
	}

/* Returns 32 bits of the hash. None of them selects the bucket of a flow. */
static inline uint32_t flow_states_part(const struct key_hash *hash)
{
	return (uint32_t)(hash->lo >> 32);
}

/* Detailed figures of a flow; flow_figures_add() sums several records. */
struct flow_figures {
	uint64_t packets; /* packets processed in state rate or tcp */
	uint64_t gaps;    /* sum of the gaps before each of these packets, ns */
	uint64_t gap_min, peak_bytes, bursts;
	uint64_t retransmitted, out_of_order, zero_windows;
	uint8_t state; /* state of the last packet */
	bool tcp;      /* some packets were processed in state tcp */
};

/* Figures of zero packets. */
#define FLOW_FIGURES_NONE                                                                          \
	(struct flow_figures)                                                                      \
	{                                                                                          \
		.gap_min = UINT32_MAX                                                              \
	}

/*
 * Combines records of one key, in any order: sums, smallest gap, highest peak, most detailed state.
 */
void flow_figures_add(struct flow_figures *sum, const struct flow_figures *figures);

static inline enum flow_depth flow_states_map(
	const struct flow_states *states, const struct key_hash *hash, enum flow_depth state)
{
	return (enum flow_depth)states->to[flow_states_part(hash) < states->share][state];
}
