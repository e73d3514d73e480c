/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The states of a flow in a flow table with --deep, and how many of the flows are held back from
 * theirs. A flow has a state by its own packets; what is looked at in each of them is that of the
 * state to which this one is mapped (docs/FLOWTABLE.md).
 */

#include <stdint.h>

#include "base/key_burst.h"

enum flow_depth {
	FLOW_COUNT, /* packets, bytes, times, flags, as without --deep */
	FLOW_RATE,  /* and peak rate, bursts, gaps */
	FLOW_TCP,   /* and retransmissions, order, zero windows */
};

#define FLOW_STATES 3 /* count, rate, tcp */

/* Flows whose part of the hash is below `share` take to[1][state], the others to[0][state]. */
struct flow_states {
	uint8_t to[2][FLOW_STATES];
	uint32_t share;
};

#define FLOW_STATES_IDENTITY                                                                       \
	{                                                                                          \
		.to = { {FLOW_COUNT, FLOW_RATE, FLOW_TCP}, {FLOW_COUNT, FLOW_RATE, FLOW_TCP} }     \
	}

/* Bits that choose no bucket. */
static inline uint32_t flow_states_part(const struct key_hash *hash)
{
	return (uint32_t)(hash->lo >> 32);
}

static inline enum flow_depth flow_states_map(
	const struct flow_states *states, const struct key_hash *hash, enum flow_depth state)
{
	return (enum flow_depth)states->to[flow_states_part(hash) < states->share][state];
}
