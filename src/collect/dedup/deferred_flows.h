/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Flows whose packets are counted at the end of the epoch, because later records decide how many,
 * or under which key:
 * - samples of a flow with an observer on its route that was first heard in this epoch;
 * - counted packets whose ingress and egress are required, on a route not known before this epoch.
 * Bounded: a flow without a free entry counts at once. A deferred flow never times out
 * (observed_flows.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assertion.h"
#include "collect/dedup/observed_flows.h"
#include "collect/dedup/record_value.h"
#include "key/key.h"
#include "sketch/sketch.h"

struct deferred_flow {
	struct key_extra extra; /* fields of the last record, which also sets `time` */
	struct key6 key;        /* an IPv4 flow's in its first bytes */
	int64_t time;
	uint64_t route;                    /* key of its route */
	uint64_t packets;                  /* upscaled samples: at most this is added */
	uint64_t sure_packets, sure_bytes; /* certain to count */
	float sure_sampling; /* largest sampling interval of the certain packets, rounded up */
	uint32_t flow;       /* entry of the flow */
	uint32_t begin;      /* flow_begin() while it is deferred */
	uint32_t smallest_frame, largest_frame; /* see struct dedup_counts */
	uint32_t sampling;                      /* largest sampling interval of the samples */
	uint8_t family, tcp_flags;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct deferred_flow) == 128, "two cache lines");

struct deferred_flows {
	struct deferred_flow *flows;
	uint32_t nb, room;
	uint32_t settled; /* settled entries of nb */
};

size_t deferred_flows_memory(uint64_t flows);
bool deferred_flows_init(
	struct deferred_flows *deferred, uint64_t flows, const struct sketch_allocator *allocator);
void deferred_flows_fini(
	struct deferred_flows *deferred, uint64_t flows, const struct sketch_allocator *allocator);

/* Defers the flow of a record and returns its entry; NULL: no room. */
struct deferred_flow *deferred_flows_get(struct deferred_flows *deferred,
	const struct observed_flows *flows, struct record_in_progress *record);

/* Returns the entry of a deferred flow. */
static inline struct deferred_flow *deferred_flow_of(
	const struct deferred_flows *deferred, const struct flow *flow)
{
	ASSERT(flow->flags & FLOW_DEFERRED, !=, 0);
	ASSERT(flow->held, <, deferred->nb);
	return &deferred->flows[flow->held];
}

/*
 * Returns where the time of the flow's first unsampled packet is kept, in ticks. Its low bits are
 * flags (flow_front.h).
 */
static inline uint32_t *flow_begin(const struct deferred_flows *deferred, struct flow *flow)
{
	return flow->flags & FLOW_DEFERRED ? &deferred_flow_of(deferred, flow)->begin
					   : &flow->begin;
}

/* Adds the samples of a record. */
void deferred_flow_add_samples(
	struct deferred_flow *deferred, const struct record_in_progress *record);
/* Adds packets that are certain to count. */
void deferred_flow_add_certain(struct deferred_flow *deferred, const struct record_value *value);

/* Widens the range of frame sizes to the mean of these packets. */
void deferred_flow_add_frames(struct deferred_flow *deferred, uint64_t packets, uint64_t bytes);

/*
 * Returns the next entry to settle, and marks its flow as no longer deferred. Returns NULL, and
 * empties the table, after the last.
 */
struct deferred_flow *deferred_flows_settle(
	struct deferred_flows *deferred, struct observed_flows *flows);
