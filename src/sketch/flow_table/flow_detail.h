/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Details of flows beyond counts (flow_detail_update.c): a second cache line from a pool. A flow
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
	/* sum of the gaps before these packets, ns; each gap counts at most 1 s */
	uint64_t gaps;
	uint32_t window_start; /* low 32 bits of a time in ns */
	uint32_t retransmitted;
	/*
	 * Packets of the window, and FLOW_IN_BURST. In state count: low 32 bits of the flow's
	 * packet count at its return to count.
	 */
	uint32_t window_packets;
	uint32_t out_of_order;
	uint32_t window_bytes, zero_windows, peak_bytes;
	uint32_t next, hole_begin, hole_end; /* sequence numbers; the hole is the missing range */
};

_Static_assert(sizeof(struct flow_detail) == 64, "a flow detail is one cache line");

#define FLOW_IN_BURST (UINT32_C(1) << 31)

/*
 * Layout of flow_entry.deep, from the lowest bit: the flow's own state, the state of its last
 * packet, a mark, and the number of its detail (0: none). Without a detail the mark means that the
 * pool was empty; with a detail, that packets were processed in state tcp.
 */
#define FLOW_DEEP_STATE    UINT32_C(3)
#define FLOW_DETAIL_STATES UINT32_C(15) /* both */
#define FLOW_DEEP_LOOKED   2
#define FLOW_DEEP_MARK     (UINT32_C(1) << 4)
#define FLOW_DEEP_DETAIL   5

/* Returns the part of flow_entry.deep with both states. */
#define FLOW_DEEP_OF(own, looked) ((uint32_t)(own) | (uint32_t)(looked) << FLOW_DEEP_LOOKED)

/*
 * Result of a packet whose flow keeps its own state and the state of its last packet. The highest
 * byte is the state in which the packet is processed. The other bytes count packets by own state.
 * The sum over a burst is valid in these bytes; its highest byte has no meaning.
 */
#define FLOW_STEADY_OF(own, looked)                                                                \
	((uint32_t)(looked) << FLOW_STEADY_LOOKED | UINT32_C(1) << 8 * (uint32_t)(own))
#define FLOW_STEADY_LOOKED          24
#define FLOW_STEADY_MET(sum, state) ((sum) >> 8 * (uint32_t)(state)&UINT8_MAX)

struct flow_deep {
	struct sketch_deep params;
	struct flow_states states;
	/*
	 * Indexed by membership in the share and by both states: FLOW_STEADY_OF(), or 0 if the next
	 * packet may change the states.
	 */
	uint32_t steady[2][FLOW_DETAIL_STATES + 1];
	bool held; /* the states are not FLOW_STATES_IDENTITY */
	uint64_t packets[FLOW_STATES];
	uint64_t total;   /* packets passed to the table */
	uint64_t refused; /* flows that found the pool empty */
	/*
	 * Details are numbered from 1. Details below `used` were taken at least once. Returned
	 * details are a list, linked by their first bytes.
	 */
	uint32_t used, returned;
	struct flow_detail *details; /* [params.flows + 1] */
} __attribute__((aligned(64)));

/* Returns its bytes with all details; 0 without --flow-detail. */
size_t flow_deep_memory(const struct sketch_params *params);
/* Initializes details in zeroed memory. */
struct flow_deep *flow_deep_init(void *memory, const struct sketch_params *params);
void flow_deep_set_states(struct flow_deep *deep, const struct flow_states *states);
/* Restores the state after init, but keeps the mapping of states. */
void flow_deep_reset(struct flow_deep *deep);

/* Returns the number of an unused detail, 0 if there is none. */
uint32_t flow_detail_take(struct flow_deep *deep);
/* Returns the detail of an entry, whose record has ended, to the pool. */
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

/*
 * Count a burst; replace flow_update_separate() with --flow-detail (flow_detail_update.c). Details
 * are taken, and states change, strictly in packet order, so nothing depends on burst boundaries.
 */
void flow_detail_update(struct flow_table *table, const struct key_burst *burst);
void flow_detail_update_weighted(struct flow_table *table, const struct key_burst *burst);
