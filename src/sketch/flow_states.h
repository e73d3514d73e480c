/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * States of flows with --flow-detail. The packets of a flow advance it from state to state. Under
 * overload, packets are processed in a state with less detail (docs/FLOWTABLE.md).
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key_burst.h"

enum flow_depth {
	FLOW_COUNT, /* packets, bytes, times, flags, as without --flow-detail */
	FLOW_RATE,  /* also peak rate, bursts, gaps */
	FLOW_TCP,   /* also retransmissions, order, zero windows */
};

#define FLOW_STATES 3

/* Returns NULL after the last state. */
const char *flow_depth_word(uint32_t i);

/* Highest rank of a query (sketch/queries.h). */
#define FLOW_ALL_RANKS 254

/*
 * `share` is a limit of flow_states_part(). Flows below it use to[1][own state], others to[0].
 * Queries of the `ranks_off` highest ranks are off.
 */
struct flow_states {
	uint8_t to[2][FLOW_STATES];
	uint32_t share;
	uint32_t ranks_off; /* 0 to FLOW_ALL_RANKS */
};

#define FLOW_STATES_IDENTITY                                                                       \
	{                                                                                          \
		.to = { {FLOW_COUNT, FLOW_RATE, FLOW_TCP}, {FLOW_COUNT, FLOW_RATE, FLOW_TCP} }     \
	}

/* Packets of flows with queries, which the reporter reads (sketch/queries.h). */
struct flow_query_packets {
	/* By the lowest rank that requests at least rate, or tcp. The last element: none. */
	uint64_t rate[FLOW_ALL_RANKS + 2], tcp[FLOW_ALL_RANKS + 2];
	/* By flow_states.ranks_off. */
	uint64_t ranks_off[FLOW_ALL_RANKS + 1];
};

/* Returns hash bits that do not select the bucket of a flow. */
static inline uint32_t flow_states_part(const struct key_hash *hash)
{
	return (uint32_t)(hash->lo >> 32);
}

struct flow_figures {
	uint64_t packets; /* processed in state rate or tcp */
	uint64_t gaps;    /* sum of the gaps before each of these packets, ns */
	uint64_t gap_min, peak_bytes, bursts;
	uint64_t retransmitted, out_of_order, zero_windows;
	uint8_t state; /* state of the last packet */
	bool tcp;      /* true: some packets were processed in state tcp */
};

#define FLOW_FIGURES_NONE                                                                          \
	(struct flow_figures)                                                                      \
	{                                                                                          \
		.gap_min = UINT32_MAX                                                              \
	}

/* Combines records of one key, in any order. */
void flow_figures_add(struct flow_figures *sum, const struct flow_figures *figures);

static inline enum flow_depth flow_states_map(
	const struct flow_states *states, const struct key_hash *hash, enum flow_depth state)
{
	return (enum flow_depth)states->to[flow_states_part(hash) < states->share][state];
}
