/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Progress of a flow as reported by unsampled observation points, and the position of a record in
 * it (docs/ESTIMATES.md, "Each packet once").
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/dedup/observed_flows.h"
#include "collect/dedup/record_value.h"

/* Maximum difference of several exporters in the time of one packet. */
#define JITTER_TICKS 19
/* Maximum difference in the arrival time of its record. */
#define MARGIN_TICKS (2 * TICKS_PER_SECOND)
#define CUT_TICKS    TICKS_PER_SECOND /* error of OBSERVATION_CUT_TIMES */

/* Doubt lasts for N timeouts: that of the records in doubt, and that of records that overlap them. */
#define DOUBT_TIMEOUTS 2

/* Flags of flow_begin(). */
#define BEGIN_CUT   UINT32_C(1) /* up to 2 * CUT_TICKS too early */
#define BEGIN_LATER UINT32_C(2) /* too late: the record has no times */

/* One in N packets may be lost between two observers. */
#define DROPPED_ONE_IN 64

/* Returns the part of a flow up to `target` that was not counted before. */
static inline uint64_t fresh(const struct record_in_progress *record, uint64_t target)
{
	uint64_t counted = record->flow->packets;

	if (target <= counted)
		return 0;
	return target - counted < record->packets ? target - counted : record->packets;
}

static inline uint32_t span_of(const struct flow *flow)
{
	return (uint32_t)flow->span * SPAN_TICKS;
}

/* Returns true if the observation point was silent about the flow until others overtook it. */
static inline bool came_back(
	const struct observed_flows *flows, const struct record_in_progress *record)
{
	const struct flow *flow = record->flow;
	uint32_t silent = record->now - record->before;
	uint64_t end = record->share->packets + record->packets;

	if (silent > flows->timeout)
		return true;
	return !record->has_first && !(record->observation->flags & OBSERVATION_SAMPLE) &&
	       silent > 2 * (span_of(flow) + MARGIN_TICKS) && end + record->packets < flow->packets;
}

/*
 * Returns true if others reported packets that the observer did not see: it is then unknown whether
 * its packets are among theirs. A record that ends later than all others must also reach a higher
 * count, except for packets lost between the observers. end: count reached by the record.
 */
static inline bool is_contradicted(const struct record_in_progress *record, uint64_t end)
{
	const struct flow *flow = record->flow;
	uint64_t reach = end + record->packets / DROPPED_ONE_IN;
	uint32_t time = record->last - JITTER_TICKS;

	if (reach >= flow->packets)
		return false;
	if (record->observation->flags & OBSERVATION_SAMPLE) /* samples may be late */
		return false;
	if (!record->has_first)
		return end + record->packets < flow->packets;
	if (record->observation->flags & OBSERVATION_CUT_TIMES)
		time -= CUT_TICKS;
	if ((int32_t)(time - flow->front) > 0)
		return true;
	return (int32_t)(time - (flow->front - span_of(flow))) > 0 && flow->advance < ADVANCE_MAX &&
	       reach < flow->packets - flow->advance;
}

/* Returns by how much the times of the record may be too early. */
static inline uint32_t cut_of(const struct record_in_progress *record)
{
	return record->observation->flags & OBSERVATION_CUT_TIMES ? 2 * CUT_TICKS : 0;
}

/*
 * Returns true if the observer saw packets that no other one reported: its record ends no later than
 * theirs, but reaches a higher count. counted: flow->packets before the record.
 */
static inline bool is_ahead(const struct record_in_progress *record, uint64_t counted, uint64_t end)
{
	const struct flow *flow = record->flow;
	uint64_t most = counted + record->packets / DROPPED_ONE_IN;
	uint32_t duration = record->last - record->first;

	if (end <= most || counted == 0 || !record->has_first || flow->front_cut ||
		cut_of(record) > 0 || (int32_t)(record->last - flow->front) > JITTER_TICKS)
		return false;
	return end > most + record->packets * JITTER_TICKS / (duration + JITTER_TICKS);
}

/* Returns true if all packets of the record are later than all reported ones. */
static inline bool is_later(const struct record_in_progress *record)
{
	return record->has_first && (int32_t)(record->first - record->flow->front) > JITTER_TICKS;
}

/* Returns the gap before the record, after the front; 0: none. In units of SPAN_TICKS. */
static inline uint32_t gap_before(const struct record_in_progress *record)
{
	const struct flow *flow = record->flow;
	uint32_t begin = flow->front + (flow->front_cut ? 2 * CUT_TICKS : 0);
	uint32_t gap = (record->first - begin) / SPAN_TICKS;

	if ((int32_t)(record->first - begin) <= 0)
		return 0;
	return gap < GAP_MAX ? gap : GAP_MAX;
}

/* Returns true if all packets of the record precede the end of the last gap of the flow. */
static inline bool precedes_gap_end(const struct record_in_progress *record)
{
	const struct flow *flow = record->flow;

	return record->has_first && flow->gap > 0 && flow->nb > 1 &&
	       (int32_t)(flow->gap_end - record->last - cut_of(record)) > JITTER_TICKS;
}

/* Returns true if the record begins where the last record of the observation point ended. */
static inline bool follows(
	const struct observed_flows *flows, const struct record_in_progress *record)
{
	return !came_back(flows, record) && !is_later(record) && !precedes_gap_end(record);
}

/*
 * Advances the front of the flow to the record, whose member `later` is set. counted: flow->packets
 * before the record. The caller may have changed flow->packets since then.
 */
static inline void advance(
	struct flow *flow, const struct record_in_progress *record, uint64_t counted, uint64_t end)
{
	uint32_t begin = record->has_first ? record->first : flow->front, span;
	bool cut = flow->front_cut;

	if (flow->nb == 1) /* saves a cache line: keep_gap() */
		flow_set_bytes(flow, flow->bytes, record->later ? gap_before(record) : 0, false);
	if (counted == 0)
		begin = record->has_first ? record->first : record->last;
	else if ((int32_t)(begin - flow->front) < 0)
		begin = flow->front;
	if (counted == 0 || (int32_t)(record->last - flow->front) > 0) {
		flow->front = record->last;
		cut = (record->observation->flags & OBSERVATION_CUT_TIMES) != 0;
	}
	span = (int32_t)(flow->front - begin) > 0 ? (flow->front - begin) / SPAN_TICKS : 0;
	flow->span = span < UINT16_MAX ? (uint16_t)span : UINT16_MAX;
	flow_set_progress(flow, flow->packets, end - counted, cut);
}
