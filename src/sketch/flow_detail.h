/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What is kept of flows that are looked at more closely than counted (flow_deep.h): a second cache
 * line, from a pool. A flow that got one keeps it until its record ends, whatever its state becomes.
 */

#include "sketch/flow_entries.h"
#include "sketch/flow_states.h"

#define FLOW_WINDOW_NS       UINT32_C(1000000)    /* of the peak rate, and of bursts */
#define FLOW_QUIET_NS        UINT64_C(1000000000) /* brings a flow one state back */
#define FLOW_BURST_PACKETS   16                   /* that a window of a burst has at least, */
#define FLOW_BURST_MEANS     4                    /* and more than so many times the mean one */
#define FLOW_DEEP_FLOWS_MAX  ((UINT32_C(1) << 27) - 1)
#define FLOW_DEEP_WIDTH_PART 8 /* without --deep-flows: one flow in so many buckets */

struct flow_detail {
	uint64_t packets; /* that were looked at in rate or tcp */
	uint64_t
		gaps; /* ns, added up: from the flow's packet before each of them, at most a second */
	uint32_t gap_min;
	uint32_t window_start; /* the low half of a time */
	/* Of the window, FLOW_IN_BURST beside it. In state count: the table's count of the flow's
	 * packets when it came back, the low half of it. */
	uint32_t window_packets;
	uint32_t window_bytes, peak_bytes;
	uint32_t bursts;
	uint32_t next, hole_begin, hole_end; /* sequence numbers; the hole is what was left out */
	uint32_t retransmitted, out_of_order, zero_windows;
};

_Static_assert(sizeof(struct flow_detail) == 64, "a deep flow is one cache line more");

#define FLOW_IN_BURST (UINT32_C(1) << 31)

/*
 * What flow_entry.deep says, from its lowest bit: the state by the flow's own packets, the one that
 * its last packet was looked at in, a mark, and the number of its detail; 0: it has none. Without
 * one it is counted, and the mark says that there was no room for one; with one, that packets were
 * looked at in tcp.
 */
#define FLOW_DEEP_STATE  UINT32_C(3)
#define FLOW_DEEP_STATES UINT32_C(15) /* both */
#define FLOW_DEEP_LOOKED 2
#define FLOW_DEEP_MARK   (UINT32_C(1) << 4)
#define FLOW_DEEP_DETAIL 5

struct flow_deep {
	struct sketch_deep params;
	struct flow_states states;
	uint64_t packets[FLOW_STATES];
	uint64_t total;   /* packets that came to the table */
	uint64_t refused; /* flows that found the pool empty */
	/* Details are numbered from 1: those below `used` were taken at least once, and those that
	 * were given back are a list, linked by their first bytes. */
	uint32_t used, returned;
	struct flow_detail *details; /* [params.flows + 1] */
} __attribute__((aligned(64)));

/* Bytes of it, with its details; 0 without --deep. */
size_t flow_deep_memory(const struct sketch_params *params);
/* In zeroed memory of so many bytes. */
struct flow_deep *flow_deep_init(void *memory, const struct sketch_params *params);
/* As after init, but for the states. */
void flow_deep_reset(struct flow_deep *deep);

/* The number of an empty detail; 0: there is none. */
uint32_t flow_detail_take(struct flow_deep *deep);
/* The record in an entry has ended: its detail goes back. */
void flow_deep_end(struct flow_deep *deep, struct flow_entry *entry);

/* An entry's detail; the first, which is of none, where it has none. */
static inline struct flow_detail *flow_detail_of(
	const struct flow_deep *deep, const struct flow_entry *entry)
{
	return &deep->details[entry->deep >> FLOW_DEEP_DETAIL];
}

/* What an entry, and a copy of its detail, say. */
struct flow_figures flow_deep_figures(
	const struct flow_entry *entry, const struct flow_detail *detail);
