/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Details of flows in the states rate and tcp. A flow keeps them until its record ends. */

#include "sketch/flow_states.h"
#include "sketch/flow_table/flow_entries.h"

#define FLOW_WINDOW_NS       UINT32_C(1000000)    /* ns; window for the peak rate and for bursts */
#define FLOW_QUIET_NS        UINT64_C(1000000000) /* ns; a longer gap moves a flow one state back */
#define FLOW_BURST_PACKETS   16                   /* minimum packets in a window with a burst */
#define FLOW_BURST_MEANS     4 /* minimum ratio of a burst's packets to the flow's mean window */
#define FLOW_DEEP_FLOWS_MAX  ((UINT32_C(1) << 27) - 1)
/* --flow-detail max= is by default one flow per this number of buckets. */
#define FLOW_DEEP_WIDTH_PART 8

/*
 * Fields that every packet writes are not adjacent, because compilers would combine the stores
 * into vectors, which is slower.
 */
struct flow_detail {
	uint64_t packets; /* processed in state rate or tcp */
	uint32_t gap_min, bursts;
	/* sum of the gaps before these packets, ns; a gap counts at most 1 s */
	uint64_t gaps;
	uint32_t window_start; /* low 32 bits of a time in ns */
	uint32_t retransmitted;
	/*
	 * Packets of the window, with bit FLOW_IN_BURST. In state count: the low 32 bits of the
	 * packets that the flow had when it returned to this state.
	 */
	uint32_t window_packets;
	uint32_t out_of_order;
	uint32_t window_bytes, zero_windows, peak_bytes;
	uint32_t next, hole_begin,
		hole_end; /* TCP sequence numbers: the next one, and the missing range before it */
};

_Static_assert(sizeof(struct flow_detail) == 64, "a flow detail is one cache line");

#define FLOW_IN_BURST (UINT32_C(1) << 31)

/*
 * flow_entry.deep, from the lowest bit:
 *
 *     2 bits   the flow's own state
 *     2 bits   the state in which its last packet was processed
 *     1 bit    with a detail, packets were processed in state tcp; without, the pool was empty
 *     27 bits  number of its detail; 0: none
 */
#define FLOW_DEEP_STATE    UINT32_C(3)
#define FLOW_DETAIL_STATES UINT32_C(15)
#define FLOW_DEEP_LOOKED   2
#define FLOW_DEEP_MARK     (UINT32_C(1) << 4)
#define FLOW_DEEP_DETAIL   5

#define FLOW_DEEP_OF(own, looked) ((uint32_t)(own) | (uint32_t)(looked) << FLOW_DEEP_LOOKED)

/*
 * Result of a packet that changes neither state in flow_entry.deep: the highest byte is the state
 * in which the packet was processed, and each lower byte counts packets of one own state. Sums
 * over a burst have one counter per byte.
 */
#define FLOW_STEADY_OF(own, looked)                                                                \
	((uint32_t)(looked) << FLOW_STEADY_LOOKED | UINT32_C(1) << 8 * (uint32_t)(own))
#define FLOW_STEADY_LOOKED          24
#define FLOW_STEADY_MET(sum, state) ((sum) >> 8 * (uint32_t)(state)&UINT8_MAX)

struct flow_deep {
	struct sketch_deep params;
	struct flow_states states;
	/* Indexed by flow_states_part() < share and FLOW_DEEP_OF(). 0: the states may change. */
	uint32_t steady[2][FLOW_DETAIL_STATES + 1];
	bool held; /* true: some own states are mapped to states with less detail */
	uint64_t packets[FLOW_STATES];
	uint64_t total;   /* all packets passed to the table */
	uint64_t refused; /* flows that found the pool empty */
	/*
	 * Details from `used` on were never taken. `returned` is the head of the free list; 0:
	 * none.
	 */
	uint32_t used, returned;
	struct flow_detail *details;           /* [params.flows + 1] */
	const struct queries *queries;         /* NULL: flows advance from state to state */
	struct flow_query_packets *of_queries; /* NULL without queries */
} __attribute__((aligned(64)));

/* Returns 0 without --flow-detail. */
size_t flow_deep_memory(const struct sketch_params *params);
/* `memory` must be zeroed. */
struct flow_deep *flow_deep_init(void *memory, const struct sketch_params *params);
void flow_deep_set_states(struct flow_deep *deep, const struct flow_states *states);
/* Keeps the mapping of states. */
void flow_deep_reset(struct flow_deep *deep);

/* Returns 0 if the pool is empty. */
uint32_t flow_detail_take(struct flow_deep *deep);
void flow_deep_end(struct flow_deep *deep, struct flow_entry *entry);

/* Returns details[0], which no flow uses, if the entry has none. */
static inline struct flow_detail *flow_detail_of(
	struct flow_detail *details, const struct flow_entry *entry)
{
	const size_t step = sizeof(struct flow_detail) >> FLOW_DEEP_DETAIL;

	return (struct flow_detail *)((char *)details +
				      step * (entry->deep &
						     ~(FLOW_DETAIL_STATES | FLOW_DEEP_MARK)));
}

struct flow_figures flow_deep_figures(
	const struct flow_entry *entry, const struct flow_detail *detail);

/* Results do not depend on burst boundaries: flows change states strictly in packet order. */
void flow_detail_update(struct flow_table *table, const struct key_burst *burst);
void flow_detail_update_weighted(struct flow_table *table, const struct key_burst *burst);
