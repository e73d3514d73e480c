/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Details of flows beyond counts (flow_detail_update.h): a second cache line from a pool. A flow
 * keeps it until its record ends, whatever its state.
 */

#include "sketch/flow_states.h"
#include "sketch/flow_table/flow_entries.h"

#define FLOW_WINDOW_NS      UINT32_C(1000000)    /* window of the peak rate and of bursts */
#define FLOW_QUIET_NS       UINT64_C(1000000000) /* brings a flow one state back */
#define FLOW_BURST_PACKETS  16                   /* least packets in the window of a burst */
#define FLOW_BURST_MEANS    4                    /* factor above the mean window */
#define FLOW_DEEP_FLOWS_MAX ((UINT32_C(1) << 27) - 1)
#define FLOW_DEEP_WIDTH_PART                                                                       \
	8 /* default of --flow-detail max=: one flow per this number of buckets */

/*
 * Fields that every packet writes are not adjacent: compilers would gather adjacent fields into
 * vectors, which is slower than separate stores.
 */
struct flow_detail {
	uint64_t packets; /* packets processed in state rate or tcp */
	uint32_t gap_min, bursts;
	/* ns, added up: from the flow's packet before each of them, at most a second */
	uint64_t gaps;
	uint32_t window_start; /* the low half of a time */
	uint32_t retransmitted;
	/* Of the window, FLOW_IN_BURST beside it. In state count: the table's count of the flow's
	 * packets when it came back, the low half of it. */
	uint32_t window_packets;
	uint32_t out_of_order;
	uint32_t window_bytes, zero_windows, peak_bytes;
	uint32_t next, hole_begin, hole_end; /* sequence numbers; the hole is what was left out */
};

_Static_assert(sizeof(struct flow_detail) == 64, "a deep flow is one cache line more");

#define FLOW_IN_BURST (UINT32_C(1) << 31)

/*
 * What flow_entry.deep says, from its lowest bit: the state by the flow's own packets, the one that
 * its last packet was looked at in, a mark, and the number of its detail; 0: it has none. Without
 * one it is counted, and the mark says that there was no room for one; with one, that packets were
 * looked at in tcp.
 */
#define FLOW_DEEP_STATE    UINT32_C(3)
#define FLOW_DETAIL_STATES UINT32_C(15) /* both */
#define FLOW_DEEP_LOOKED   2
#define FLOW_DEEP_MARK     (UINT32_C(1) << 4)
#define FLOW_DEEP_DETAIL   5

/* Returns the part of flow_entry.deep with both states. */
#define FLOW_DEEP_OF(own, looked) ((uint32_t)(own) | (uint32_t)(looked) << FLOW_DEEP_LOOKED)

/*
 * Of a packet whose flow stays in its state, and is looked at as the one before. The topmost byte
 * is the state that it is looked at in. The others count packets by the state that they met: those
 * of a burst are added up, and what becomes of the topmost does not matter.
 */
#define FLOW_STEADY_OF(own, looked)                                                                \
	((uint32_t)(looked) << FLOW_STEADY_LOOKED | UINT32_C(1) << 8 * (uint32_t)(own))
#define FLOW_STEADY_LOOKED          24
#define FLOW_STEADY_MET(sum, state) ((sum) >> 8 * (uint32_t)(state)&UINT8_MAX)

struct flow_deep {
	struct sketch_deep params;
	struct flow_states states;
	/* By whether a flow is of the share, and by its states: FLOW_STEADY_OF(), or 0 where the
	 * next packet may change them. */
	uint32_t steady[2][FLOW_DETAIL_STATES + 1];
	bool held; /* the states are not FLOW_STATES_IDENTITY */
	uint64_t packets[FLOW_STATES];
	uint64_t total;   /* packets that came to the table */
	uint64_t refused; /* flows that found the pool empty */
	/* Details are numbered from 1: those below `used` were taken at least once, and those that
	 * were given back are a list, linked by their first bytes. */
	uint32_t used, returned;
	struct flow_detail *details; /* [params.flows + 1] */
} __attribute__((aligned(64)));

/* Bytes of it, with its details; 0 without --flow-detail. */
size_t flow_deep_memory(const struct sketch_params *params);
/* Initializes details in zeroed memory. */
struct flow_deep *flow_deep_init(void *memory, const struct sketch_params *params);
void flow_deep_set_states(struct flow_deep *deep, const struct flow_states *states);
/* As after init, but for the states. */
void flow_deep_reset(struct flow_deep *deep);

/* The number of an empty detail; 0: there is none. */
uint32_t flow_detail_take(struct flow_deep *deep);
/* The record in an entry has ended: its detail goes back. */
void flow_deep_end(struct flow_deep *deep, struct flow_entry *entry);

/* Returns the detail of an entry in details[]; the first one, which is unused, if it has none. */
static inline struct flow_detail *flow_detail_of(
	struct flow_detail *details, const struct flow_entry *entry)
{
	const size_t step = sizeof(struct flow_detail) >> FLOW_DEEP_DETAIL;

	return (struct flow_detail *)((char *)details +
				      step * (entry->deep &
						     ~(FLOW_DETAIL_STATES | FLOW_DEEP_MARK)));
}

/* Returns the figures of an entry and a copy of its detail. */
struct flow_figures flow_deep_figures(
	const struct flow_entry *entry, const struct flow_detail *detail);
