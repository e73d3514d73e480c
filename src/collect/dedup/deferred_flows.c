/* SPDX-License-Identifier: BSD-3-Clause */

#include "collect/dedup/deferred_flows.h"

#include <math.h>
#include <string.h>

#include "sketch/counter.h"

#define FLOWS_OF_DEFERRED 16
#define DEFERRED_MIN      256 /* at most the number of flows */
#define SETTLE_AHEAD      16  /* prefetch distance, in deferred flows */

static uint32_t room_for(uint64_t flows)
{
	uint32_t entries = observed_flows_entries(flows);

	if (entries / FLOWS_OF_DEFERRED >= DEFERRED_MIN)
		return entries / FLOWS_OF_DEFERRED;
	return entries < DEFERRED_MIN ? entries : DEFERRED_MIN;
}

size_t deferred_flows_memory(uint64_t flows)
{
	return room_for(flows) * sizeof(struct deferred_flow);
}

bool deferred_flows_init(
	struct deferred_flows *deferred, uint64_t flows, const struct sketch_allocator *allocator)
{
	*deferred = (struct deferred_flows){
		.flows = allocator->alloc(deferred_flows_memory(flows), allocator->arg),
		.room = room_for(flows),
	};
	return deferred->flows;
}

void deferred_flows_fini(
	struct deferred_flows *deferred, uint64_t flows, const struct sketch_allocator *allocator)
{
	if (deferred->flows)
		allocator->free(deferred->flows, deferred_flows_memory(flows), allocator->arg);
}

static struct deferred_flow *add_deferred(
	struct deferred_flows *deferred, struct flow *flow, uint32_t number)
{
	struct deferred_flow *place;
	uint32_t begin;

	if (deferred->nb == deferred->room)
		return NULL;
	begin = flow->begin; /* not before: it is in another cache line than the rest */
	flow->flags |= FLOW_DEFERRED;
	flow->held = deferred->nb++;
	place = deferred_flow_of(deferred, flow);
	*place = (struct deferred_flow){
		.flow = number, .begin = begin, .smallest_frame = UINT32_MAX};
	return place;
}

struct deferred_flow *deferred_flows_get(struct deferred_flows *deferred,
	const struct observed_flows *flows, struct record_in_progress *record)
{
	const struct observation *observation = record->observation;
	struct flow *flow = record->flow;
	struct deferred_flow *place;

	if (flow->flags & FLOW_DEFERRED)
		place = deferred_flow_of(deferred, flow);
	else
		place = add_deferred(deferred, flow, flow_number(flows, flow));
	if (!place)
		return NULL;
	place->family = observation->family;
	if (observation->family == KEY_IPV4)
		memcpy(&place->key, &observation->key4, sizeof(observation->key4));
	else
		place->key = observation->key6;
	place->extra = observation->extra;
	place->time = observation->time;
	place->route = record->route;
	place->tcp_flags |= observation->extra.tcp_flags[0];
	if (frame_sizes_unknown(observation) && place->largest_frame < FRAME_EXPECTED)
		place->largest_frame = FRAME_EXPECTED;
	return place;
}

void deferred_flow_add_frames(struct deferred_flow *deferred, uint64_t packets, uint64_t bytes)
{
	uint64_t least, most;

	if (packets == 0)
		return;
	least = bytes / packets;
	most = least + (bytes % packets != 0);
	if (least < deferred->smallest_frame)
		deferred->smallest_frame = (uint32_t)least;
	if (most > deferred->largest_frame)
		deferred->largest_frame = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

/* Rounds up; small integers are exact. */
static float above(double value)
{
	float rounded = (float)value;

	return (double)rounded < value ? nextafterf(rounded, INFINITY) : rounded;
}

void deferred_flow_add_samples(
	struct deferred_flow *deferred, const struct record_in_progress *record)
{
	deferred->packets = counter64_sum(deferred->packets, record->packets);
	if (record->observation->sampling > deferred->sampling)
		deferred->sampling = record->observation->sampling;
	deferred_flow_add_frames(deferred, record->packets, record->bytes);
}

void deferred_flow_add_certain(
	struct deferred_flow *deferred, const struct record_value *record_value)
{
	deferred->sure_packets = counter64_sum(deferred->sure_packets, record_value->packets);
	deferred->sure_bytes = counter64_sum(deferred->sure_bytes, record_value->bytes);
	if (record_value->packets > 0 && record_value->sampling > deferred->sure_sampling)
		deferred->sure_sampling = above(record_value->sampling);
	deferred_flow_add_frames(deferred, record_value->packets, record_value->bytes);
}

struct deferred_flow *deferred_flows_settle(
	struct deferred_flows *deferred, struct observed_flows *flows)
{
	struct deferred_flow *place;

	if (deferred->settled == deferred->nb) {
		deferred->settled = deferred->nb = 0;
		return NULL;
	}
	if (deferred->settled + SETTLE_AHEAD < deferred->nb) {
		const struct deferred_flow *later =
			&deferred->flows[deferred->settled + SETTLE_AHEAD];
		const char *flow = (const char *)&flows->flows[later->flow];

		__builtin_prefetch(flow, 1);
		__builtin_prefetch(flow + 64, 1);
	}
	place = &deferred->flows[deferred->settled++];
	flows->flows[place->flow].flags &= (uint8_t)~FLOW_DEFERRED;
	flows->flows[place->flow].begin = place->begin;
	return place;
}
