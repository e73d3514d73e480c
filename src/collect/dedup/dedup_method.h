/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Methods of --dedup, one row each: decide how many packets of a record count, given the known
 * state of its flow. A new method is a row of dedup_methods[] in the order of enum dedup_method.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/dedup/deferred_flows.h"
#include "collect/dedup/flow_front.h"
#include "collect/dedup/interface_roles.h"
#include "collect/dedup/observed_flows.h"
#include "collect/dedup/observers.h"
#include "collect/dedup/record_value.h"
#include "collect/dedup/route.h"
#include "collect/exporters/observation.h"
#include "sketch/counter.h"

#define CHECK_CERTAIN 8
/* A record of fewer packets can end at the front by chance. */
#define MEETING_LEAST 16
/* After this time without packets, the flow has probably ended. */
#define ENDED_TICKS   (MARGIN_TICKS + 2 * CUT_TICKS)

/*
 * Test of the assumption of method `best` that unsampled exporters on one path see the same packets,
 * and that paths rarely change. Only records of flows that several exporters report are tested.
 * While the test fails, all of these packets are in doubt.
 */
struct dedup_check {
	/* At the end of an epoch, these two are halved, so they include the recent past. */
	uint64_t compared; /* records with duplicates */
	/*
	 * Sum over records that contradict others, and over changes of path. Each adds
	 * CHECK_CERTAIN, or 1 if a burst of packets may explain it.
	 */
	uint64_t differed;
	/*
	 * Where times are inexact, records can rarely contradict others. But observers of one path
	 * agree on the end of a flow, except for drops. Halved in time.
	 */
	uint64_t inexact; /* last records of flows, with MEETING_LEAST packets or more */
	uint64_t met;     /* those that end at the front */
	/* Packets and bytes of this epoch, without those in doubt already. */
	uint64_t dropped_packets, dropped_bytes;
	uint64_t counted_packets, counted_bytes;
	bool failed;
	uint32_t failed_at; /* end of the last epoch in which too many records differed, ticks */
};

/*
 * Notes whether the last record of a flow, with duplicates, ends at the front. Records of an active
 * timeout end at any packet.
 */
static inline void check_meeting(struct dedup_check *check, const struct record_in_progress *record,
	const struct record_value *value, uint64_t end)
{
	uint64_t apart;

	if (record->packets < MEETING_LEAST || record->now - record->last < ENDED_TICKS ||
		!(record->observation->flags & OBSERVATION_CUT_TIMES || record->flow->front_cut))
		return;
	check->inexact++;
	apart = end > record->flow->packets ? end - record->flow->packets
					    : record->flow->packets - end;
	check->met += value->packets < record->packets && apart <= record->packets / DROPPED_ONE_IN;
}

/*
 * Adds the packets of a record. A record without times cannot differ, so it is not compared. end:
 * count reached by the record. doubted: its packets are in doubt already.
 */
static inline void check_add(struct dedup_check *check, const struct record_in_progress *record,
	const struct record_value *value, uint64_t end, bool doubted)
{
	uint64_t dropped = record->packets - value->packets;

	if (dropped > 0) {
		check->compared += record->has_first;
		check_meeting(check, record, value, end);
	}
	if (doubted)
		return;
	/* The collector keeps all sums of an epoch below 2^63. */
	check->dropped_packets += dropped;
	check->counted_packets += value->packets;
	if (dropped == 0) {
		check->counted_bytes += record->bytes;
	} else if (value->packets == 0) {
		check->dropped_bytes += record->bytes;
	} else {
		check->dropped_bytes += most_part_bytes(record, dropped);
		check->counted_bytes += most_part_bytes(record, value->packets);
	}
}

/* State of the methods besides flows. */
struct dedup_context {
	struct observed_flows flows;
	struct observation_points observers;
	struct routes routes;
	struct deferred_flows held;
	struct roles roles;
	struct role_doubt doubt; /* doubt of the burst, or of the end of the epoch */
	struct dedup_check check;
	uint8_t *has_ingress; /* indexed by slot: reports flows at ingress */
	bool edges;           /* the edge of some exporter is known */
	bool aligns;          /* records have a position in the flow: method best */
};

struct dedup_ops {
	const char *word, *suits;
	bool flows; /* keeps flows; records without room follow the edge rule */
	struct record_value (*take)(
		struct dedup_context *context, struct record_in_progress *record);
	/* Returns the value of the samples of a deferred flow. NULL: samples count at once. */
	struct record_value (*settle)(
		struct dedup_context *context, const struct deferred_flow *deferred);
};

/* Returns the route of the record. Caches its key in record->route. */
struct route *route_of(struct dedup_context *context, struct record_in_progress *record);

/* Sets record->begin of an unsampled record. Call before its share is updated. */
void find_begin(struct dedup_context *context, struct record_in_progress *record);

/* Values a sampled record by method `best`. Call it after its share is updated. */
struct record_value value_of_sample(
	struct dedup_context *context, struct record_in_progress *record);

/* Adds a record to the evidence of interface roles. Call after its share is updated. */
void add_evidence(struct dedup_context *context, const struct record_in_progress *record);

/* In the order of enum dedup_method. A row without a name ends the list. */
extern const struct dedup_ops dedup_methods[];

/*
 * Values a record without flow state: packets that enter at an edge count. If any exporter has
 * known edges, exporters without them are in the core. If none has, the exporter in the lowest slot
 * counts, of those that report flows between the two prefixes.
 */
struct record_value value_at_edge(struct dedup_context *context, struct record_in_progress *record);
