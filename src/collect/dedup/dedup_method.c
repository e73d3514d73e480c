/* SPDX-License-Identifier: BSD-3-Clause */

#include "collect/dedup/dedup_method.h"

#include <math.h>

#include "collect/dedup/flow_front.h"
#include "sketch/counter.h"

/* With this number of samples, an observer selected by them is unbiased. */
#define SAMPLES_UNBIASED 16

/*
 * An observer saw the flow's first packets if its first record begins at most this part of its
 * duration later: reports may be delayed.
 */
#define LATE_PART 8

/* An observer that missed at most this part of a record's packets lost them: the flow did not move. */
#define MISSED_PART 16

#define NOTHING ((struct record_value){0, 0, 1})

static struct record_value whole(const struct record_in_progress *record)
{
	return (struct record_value){
		record->packets, record->bytes, (double)record->observation->sampling};
}

/* Returns the bytes of a part of the record's packets, by mean size. */
static uint64_t part_bytes(const struct record_in_progress *record, uint64_t packets)
{
	if (packets >= record->packets)
		return record->bytes;
	return (uint64_t)((double)record->bytes * (double)packets / (double)record->packets + 0.5);
}

static struct record_value part(
	const struct record_in_progress *record, uint64_t packets, double sampling)
{
	return (struct record_value){packets, part_bytes(record, packets), sampling};
}

/* Notes packets dropped as duplicates that may be new. */
static void doubt_new(
	struct dedup_context *context, const struct record_in_progress *record, uint64_t packets)
{
	struct role_doubt *doubt = &context->doubt;

	doubt->new_packets = counter64_sum(doubt->new_packets, packets);
	doubt->new_bytes = counter64_sum(doubt->new_bytes, most_part_bytes(record, packets));
	if (record->observation->sampling > doubt->new_sampling)
		doubt->new_sampling = record->observation->sampling;
}

/* Notes counted packets that may be duplicates. */
static void doubt_duplicate(
	struct dedup_context *context, const struct record_in_progress *record, uint64_t packets)
{
	struct role_doubt *doubt = &context->doubt;

	doubt->duplicate_packets = counter64_sum(doubt->duplicate_packets, packets);
	doubt->duplicate_bytes =
		counter64_sum(doubt->duplicate_bytes, most_part_bytes(record, packets));
}

/* --- unsampled: positions in the flow --- */

/* Returns a lower bound of the packets of the flow at a time; 0: unknown. */
static uint64_t index_at(const struct flow *flow, uint32_t time)
{
	int32_t before = (int32_t)(flow->front - time);

	if (before <= 0)
		return flow->packets;
	if ((uint32_t)before > span_of(flow) || flow->advance == ADVANCE_MAX)
		return 0;
	return flow->packets - flow->advance;
}

/*
 * Returns the start of a record without times by an observer that joined or returned: it is as long
 * as the flow's last record. A record with far more packets is longer, and may end where others
 * end.
 */
static uint64_t begin_without_time(const struct record_in_progress *record)
{
	const struct flow *flow = record->flow;
	uint32_t span = span_of(flow);
	uint64_t advance = flow->advance;

	if (span == 0)
		return 0;
	if (record->packets > advance + advance / 2)
		return flow->packets > record->packets ? flow->packets - record->packets : 0;
	return index_at(flow, record->now - (span > MARGIN_TICKS ? span : MARGIN_TICKS));
}

/* Returns the packets of the record before the front, assuming a constant rate. */
static uint64_t before_front(const struct record_in_progress *record)
{
	int32_t before = (int32_t)(record->flow->front - record->first);
	int32_t all = (int32_t)(record->last - record->first);

	if (before <= 0)
		return 0;
	if (all <= before)
		return record->packets;
	return (uint64_t)((double)record->packets * before / all + 0.5);
}

/*
 * Returns true if the record starts so shortly before the front that clock differences may explain
 * it.
 */
static bool overlap_is_short(const struct record_in_progress *record)
{
	int32_t most = JITTER_TICKS;

	if (record->observation->flags & OBSERVATION_CUT_TIMES)
		most += 2 * CUT_TICKS;
	return (int32_t)(record->flow->front - record->first) <= most;
}

/* Returns true for the first record of an observer that did not see the flow's first packets. */
static bool is_of_middle(struct dedup_context *context, const struct record_in_progress *record)
{
	uint32_t begin;

	if (!record->is_new || record->flow->packets == 0)
		return false;
	begin = *flow_begin(&context->held, record->flow);
	begin += begin & BEGIN_CUT ? 2 * CUT_TICKS : 0;
	return (int32_t)(record->first - begin) >
	       JITTER_TICKS + (int32_t)(record->last - record->first) / LATE_PART;
}

/* Returns true if the time is after the begin of the flow's last gap. */
static bool is_in_gap(const struct flow *flow, uint32_t time)
{
	return (int32_t)(time - (flow->gap_end - (uint32_t)flow->gap * SPAN_TICKS)) > JITTER_TICKS;
}

/*
 * Returns true if this gap replaces the last one: it is not much shorter, and the flow moved after
 * it if it moved after the last one; or the last one is old.
 */
static bool is_better_gap(const struct observed_flows *flows,
	const struct record_in_progress *record, uint32_t gap, bool moves)
{
	const struct flow *flow = record->flow;

	return flow->gap == 0 || (2 * gap >= flow->gap && (moves || !flow->moved)) ||
	       (int32_t)(record->now - flow->gap_end) > (int32_t)flows->timeout;
}

/* Returns a value of flow->doubted_at. */
static uint32_t doubt_time(uint32_t now)
{
	uint32_t time = now / SPAN_TICKS & DOUBTED_MAX;

	return time > 0 ? time : 1;
}

static void doubt_flow(struct flow *flow, uint32_t now)
{
	flow->doubted_at = doubt_time(now) & DOUBTED_MAX;
	flow->flags |= FLOW_UNSURE;
}

/* Returns true if records of the flow recently contradicted each other. */
static bool is_doubted(const struct dedup_context *context, const struct record_in_progress *record)
{
	const struct flow *flow = record->flow;
	uint32_t since = (doubt_time(record->now) - (uint32_t)flow->doubted_at) & DOUBTED_MAX;

	return flow->doubted_at > 0 &&
	       since <= DOUBT_TIMEOUTS * context->flows.timeout / SPAN_TICKS;
}

/* Notes that the flow moved: an observer reported packets that no other one will report. */
static void check_moved(struct dedup_context *context, const struct record_in_progress *record)
{
	context->check.compared++;
	context->check.differed += CHECK_CERTAIN;
	if (record->flow->moved)
		doubt_flow(record->flow, record->now);
}

/* Notes the gap between the packets reported so far and those of the record. */
static void note_gap(struct dedup_context *context, const struct record_in_progress *record)
{
	struct flow *flow = record->flow;
	uint32_t gap = gap_before(record);
	uint64_t own = record->share->packets - record->packets;
	bool moves = own + record->packets / MISSED_PART + 1 < flow->packets;

	if (gap == 0)
		return;
	if (moves)
		check_moved(context, record);
	if (!is_better_gap(&context->flows, record, gap, moves))
		return;
	flow->gap = gap & GAP_MAX;
	flow->moved = moves;
	flow->gap_end = record->first;
	flow->before_gap = flow->packets;
}

/* A second observer reports the flow: stores the gap before the last record of the first one. */
static void keep_gap(struct flow *flow)
{
	if (flow->gap == 0 || flow->before_gap > 0)
		return;
	flow->gap_end = flow->front - span_of(flow);
	flow->before_gap = flow->packets > flow->advance ? flow->packets - flow->advance : 0;
	if (flow->before_gap == 0)
		flow->gap = 0;
}

/* Returns the start of the record in packets of the flow. */
static uint64_t begin_of(struct dedup_context *context, struct record_in_progress *record)
{
	const struct flow *flow = record->flow;
	uint64_t own = record->is_new ? 0 : record->share->packets, at, told;

	/* So far, samples were counted: of the same packets, or of the last ones. */
	if (!(flow->flags & FLOW_UNSAMPLED)) {
		at = flow->packets / 2 > record->packets ? flow->packets - record->packets : 0;
		return at > own ? at : own;
	}
	if (!record->has_first) {
		at = record->joins ? begin_without_time(record) : own;
		record->aligned = at > own;
		return at > own ? at : own;
	}
	if (precedes_gap_end(record))
		return is_in_gap(flow, record->first) && flow->before_gap > own ? flow->before_gap
										: own;
	if (is_later(record)) {
		record->later = true;
		return flow->packets > own ? flow->packets : own;
	}
	/* Its records are consecutive, unless others reported packets in between. */
	record->unsure = is_of_middle(context, record);
	if (!is_contradicted(record, own + record->packets))
		return own;
	told = overlap_is_short(record) ? before_front(record) : record->packets;
	at = flow->packets > told ? flow->packets - told : 0;
	if (at <= own)
		return own;
	record->aligned = true;
	return at;
}

void find_begin(struct dedup_context *context, struct record_in_progress *record)
{
	if (record->is_new && record->flow->nb > 1)
		keep_gap(record->flow);
	record->joins = record->is_new || came_back(&context->flows, record);
	record->begin = begin_of(context, record);
}

/* Moves the start of the share, which includes the record, forward. */
static void move_share(struct record_in_progress *record, uint64_t begin)
{
	struct share *share = record->share;
	struct flow *flow = record->flow;
	uint64_t own = share->packets - record->packets;
	double bytes;

	if (begin <= own)
		return;
	bytes = flow->packets > 0 ? (double)flow->bytes * (double)begin / (double)flow->packets : 0;
	share->packets = (begin + record->packets) & (2 * SHARE_PACKETS_LIMIT - 1);
	share->bytes = ((uint64_t)bytes + record->bytes) & (2 * SHARE_BYTES_LIMIT - 1);
	share->estimated = begin != flow->packets;
	flow->flags |= share->estimated ? FLOW_UNSURE : 0;
}

/* Notes the doubt of the bytes of a part of the record. */
static void doubt_bytes(struct dedup_context *context, const struct record_in_progress *record,
	const struct record_value *value)
{
	struct role_doubt *doubt = &context->doubt;
	uint64_t least = value->packets * PACKET_LEAST;
	uint64_t most = most_part_bytes(record, value->packets);

	if (value->bytes > least)
		doubt->duplicate_bytes =
			counter64_sum(doubt->duplicate_bytes, value->bytes - least);
	if (most > value->bytes)
		doubt->new_bytes = counter64_sum(doubt->new_bytes, most - value->bytes);
	doubt->late = true;
}

/* Lets the last gap begin after the record. */
static void fill_gap(const struct record_in_progress *record)
{
	struct flow *flow = record->flow;
	uint32_t left = (flow->gap_end - record->last - cut_of(record)) / SPAN_TICKS;

	if (left < flow->gap)
		flow->gap = left & GAP_MAX;
}

/* Inserts packets into the flow: the positions of other observers beyond `at` move. */
static void insert_at(struct dedup_context *context, const struct record_in_progress *record,
	uint64_t at, const struct record_value *value)
{
	struct flow *flow = record->flow;

	for (uint32_t i = 0; i < flow->nb; i++) {
		struct share *share = observed_flows_share(&context->flows, flow, i);

		if (share == record->share || share->total || share->sampled ||
			share->packets <= at)
			continue;
		share->packets = (share->packets + value->packets) & (2 * SHARE_PACKETS_LIMIT - 1);
		share->bytes = (share->bytes + value->bytes) & (2 * SHARE_BYTES_LIMIT - 1);
	}
	if (flow->before_gap >= at)
		flow->before_gap =
			(flow->before_gap + value->packets) & (2 * SHARE_PACKETS_LIMIT - 1);
}

static struct record_value insert_before(
	struct dedup_context *context, struct record_in_progress *record)
{
	struct flow *flow = record->flow;
	uint64_t end = record->share->packets;
	struct record_value value = {0, 0, 1};

	if (!flow->moved || end <= flow->before_gap) {
		if (is_in_gap(flow, record->last))
			doubt_new(context, record, record->packets);
		return NOTHING;
	}
	value.packets =
		end - flow->before_gap < record->packets ? end - flow->before_gap : record->packets;
	value.bytes = part_bytes(record, value.packets);
	if (value.packets < record->packets) {
		record->share->estimated = 1;
		flow->flags |= FLOW_UNSURE;
		doubt_bytes(context, record, &value);
	}
	insert_at(context, record, flow->before_gap, &value);
	fill_gap(record);
	return value;
}

/*
 * Returns true for a record without times by a joining observer that does not end where others end.
 */
static bool joins_in_doubt(const struct record_in_progress *record, uint64_t end)
{
	const struct flow *flow = record->flow;

	return record->joins && !record->has_first && span_of(flow) > 0 &&
	       (end > flow->packets || end + flow->advance < flow->packets);
}

/*
 * Notes doubt for the record's packets if the flow is in doubt: those counted may be duplicates,
 * and those dropped may be new.
 */
static void doubt_record(struct dedup_context *context, const struct record_in_progress *record,
	const struct record_value *value)
{
	if (!is_doubted(context, record))
		return;
	if (value->packets < record->packets)
		doubt_new(context, record, record->packets - value->packets);
	if (value->packets == 0)
		return;
	doubt_duplicate(context, record, value->packets);
	context->doubt.late = true;
}

/* Aligns the bytes of the observer, which reaches the front of the flow, with those of the flow. */
static void align_bytes(struct share *share, uint64_t bytes)
{
	share->bytes = bytes & (2 * SHARE_BYTES_LIMIT - 1);
	share->estimated = 0;
}

/*
 * Sets the bytes of the record's packets that advance the flow. If its observer's bytes do not
 * compare with those of the flow, those of a part are an estimate, and then those of the other
 * observers do not compare.
 */
static void set_bytes(struct dedup_context *context, struct record_in_progress *record,
	struct record_value *value)
{
	struct flow *flow = record->flow;
	uint64_t most;

	if (!record->share->estimated) {
		most = most_unsampled_bytes(&context->flows, flow);
		value->bytes = most > flow->bytes ? most - flow->bytes : 0;
		if (is_plausible(record, value))
			return;
	}
	value->bytes = part_bytes(record, value->packets);
	if (value->packets < record->packets) {
		doubt_bytes(context, record, value);
		for (uint32_t i = 0; i < flow->nb; i++)
			observed_flows_share(&context->flows, flow, i)->estimated = 1;
		flow->flags |= FLOW_UNSURE;
	}
	align_bytes(record->share, flow->bytes + value->bytes);
}

/* Returns true if all packets of the record precede those reported so far. */
static bool is_of_earlier(struct dedup_context *context, const struct record_in_progress *record)
{
	uint32_t begin;

	if (!record->is_new || !record->has_first || !(record->flow->flags & FLOW_UNSAMPLED))
		return false;
	begin = *flow_begin(&context->held, record->flow);
	return !(begin & BEGIN_LATER) && (int32_t)(begin - record->last) > JITTER_TICKS + 1;
}

/* Returns true if the observer may have sent records of the flow that were lost before this one. */
static bool follows_a_loss(
	const struct dedup_context *context, const struct record_in_progress *record)
{
	uint32_t exporter = record->observation->exporter;

	if (record->is_new)
		return record->has_first &&
		       roles_lost_since(&context->roles, exporter, record->first);
	return record->flow->nb > 1 && roles_lost_since(&context->roles, exporter, record->before);
}

/* Tests whether the observers of the flow see the same packets. */
static void check_record(struct dedup_context *context, const struct record_in_progress *record,
	const struct record_value *value, uint64_t end)
{
	struct dedup_check *check = &context->check;

	if (record->flow->nb == 1)
		return;
	if (!record->has_first) {
		check_add(check, record, value, end, is_doubted(context, record));
		return;
	}
	if (is_contradicted(record, end)) {
		check->differed += CHECK_CERTAIN;
		doubt_flow(record->flow, record->now);
	} else if (value->packets < record->packets &&
		   is_ahead(record, record->flow->packets, end)) {
		check->differed++;
	}
	check_add(check, record, value, end, is_doubted(context, record));
}

static void note_begin(struct dedup_context *context, const struct record_in_progress *record)
{
	uint32_t *begin = flow_begin(&context->held, record->flow);
	uint32_t first = record->has_first ? record->first : record->last;

	if (record->flow->flags & FLOW_UNSAMPLED && (int32_t)(first - *begin) >= 0)
		return;
	*begin = first & ~(BEGIN_CUT | BEGIN_LATER);
	if (!record->has_first)
		*begin |= BEGIN_LATER;
	else if (record->observation->flags & OBSERVATION_CUT_TIMES)
		*begin |= BEGIN_CUT;
}

/* Returns true if the position of the record is unknown. Then its flow is in doubt. */
static bool is_of_unknown_position(
	struct dedup_context *context, const struct record_in_progress *record, uint64_t end)
{
	struct share *share = record->share;
	bool lost = follows_a_loss(context, record);

	if (record->later || (record->is_new && !record->aligned && !record->unsure && !lost))
		share->partial = 0;
	else if (record->unsure || lost || is_contradicted(record, end) || record->aligned)
		share->partial = 1;
	if (record->flow->nb == 1 || (!share->partial && !joins_in_doubt(record, end)))
		return false;
	doubt_flow(record->flow, record->now);
	return true;
}

/* An observer that missed packets continues at the lower bound of the flow. */
static void catch_up(struct record_in_progress *record, uint64_t end)
{
	const struct flow *flow = record->flow;
	uint64_t least = flow->packets - flow->advance;

	if (end < flow->packets && flow->advance < ADVANCE_MAX && least > record->packets)
		move_share(record, least - record->packets);
}

/* The evidence of interface_roles.h has only some flows, and may lack the longest records. */
static void note_duration(struct dedup_context *context, const struct record_in_progress *record)
{
	struct role_exporter *exporter = &context->roles.exporters[record->observation->exporter];
	uint32_t duration = record->now - record->first;

	if (!record->has_first)
		exporter->timeless = true;
	else if (duration > exporter->longest)
		exporter->longest =
			duration < context->flows.timeout ? duration : context->flows.timeout;
}

static struct record_value best_unsampled(
	struct dedup_context *context, struct record_in_progress *record)
{
	struct record_value value = {0, 0, 1};
	struct flow *flow = record->flow;
	bool is_earlier = is_of_earlier(context, record), is_unknown;
	uint64_t end;

	if (record->later && flow->nb > 1)
		note_gap(context, record);
	if (record->is_new)
		note_begin(context, record);
	note_duration(context, record);
	flow->flags |= FLOW_UNSAMPLED;
	if (is_earlier) {
		check_moved(context, record);
		doubt_flow(flow, record->now);
		doubt_new(context, record, record->packets);
		return NOTHING;
	}
	move_share(record, record->begin);
	if (precedes_gap_end(record) && (flow->moved || is_in_gap(flow, record->last))) {
		value = insert_before(context, record);
		check_add(&context->check, record, &value, record->share->packets,
			is_doubted(context, record));
		doubt_record(context, record, &value);
		return value;
	}
	end = record->share->packets;
	value.packets = fresh(record, end);
	is_unknown = is_of_unknown_position(context, record, end);
	check_record(context, record, &value, end);
	doubt_record(context, record, &value);
	if (is_unknown && value.packets < record->packets)
		catch_up(record, end);
	if (value.packets == 0) {
		if (record->share->packets == flow->packets && record->share->estimated &&
			!record->share->partial)
			align_bytes(record->share, flow->bytes);
		return NOTHING;
	}
	advance(flow, record, flow->packets, end);
	set_bytes(context, record, &value);
	if (is_doubted(context, record))
		doubt_bytes(context, record, &value);
	return value;
}

void add_evidence(struct dedup_context *context, const struct record_in_progress *record)
{
	const struct observation *observation = record->observation;
	uint32_t duration = record->has_first ? record->now - record->first : 0;

	if (!roles_want(&context->roles, &record->flow->hash, observation->sampling > 1))
		return;
	roles_add(&context->roles, record->flow,
		&(struct role_evidence){
			.flow = flow_number(&context->flows, record->flow),
			.share = record->number,
			.exporter = observation->exporter,
			.sampling = observation->sampling,
			.packets = observation->packets,
			.duration = duration < context->flows.timeout ? duration
								      : context->flows.timeout,
			.ttl = observation->ttl,
			.segment = observation->segment,
		});
}

struct route *route_of(struct dedup_context *context, struct record_in_progress *record)
{
	struct route *route;

	if (record->route == 0)
		record->route = route_key(&context->routes, record->observation);
	route = route_find(&context->routes, record->route, record->now);
	if (route->ends_known &&
		route->ends_generation != observation_points_ends_generation(&context->observers,
						  route->ingress, route->egress))
		route->ends_known = false;
	return route;
}

/* --- samples: their ingress edge --- */

/* Returns true if the exporter is dead, or did not report the flow for the timeout. */
static bool is_stale(const struct dedup_context *context, const struct share *share, uint32_t now)
{
	const struct hop *hop = &context->observers.hops[share->hop];

	return (int32_t)(now - share_time(&context->flows, share, now)) >
		       (int32_t)context->flows.timeout ||
	       !observation_points_has(&context->observers, hop) ||
	       !roles_is_alive(&context->roles, hop->exporter);
}

/*
 * Returns the exporter that last reported the flow unsampled, *silent ticks ago; NULL: none does.
 * *most: most ticks between two of its records.
 */
static struct role_exporter *unsampled_exporter(struct dedup_context *context, struct flow *flow,
	uint32_t now, uint32_t *silent, uint32_t *most)
{
	struct role_exporter *last = NULL;

	*silent = UINT32_MAX;
	for (uint32_t i = 0; i < flow->nb; i++) {
		const struct share *share = observed_flows_share(&context->flows, flow, i);
		uint32_t since = now - share_time(&context->flows, share, now), exporter;

		if (share->total || share->sampled || is_stale(context, share, now) ||
			since >= *silent)
			continue;
		exporter = context->observers.hops[share->hop].exporter;
		*silent = since;
		*most = roles_record_most(&context->roles, exporter);
		last = &context->roles.exporters[exporter];
	}
	if (last == NULL)
		flow->flags &= (uint8_t)~FLOW_UNSAMPLED;
	return last;
}

/* Edges configured by the operator have precedence over learned roles. */
static enum interface_role role_at(const struct role_interface *interface, const struct hop *hop)
{
	if (hop->flags & OBSERVATION_EDGES)
		return hop->flags & OBSERVATION_ENTERS ? ROLE_EDGE : ROLE_FED;
	return interface != NULL ? (enum interface_role)interface->role : ROLE_OPEN;
}

static void forget_samples(struct dedup_context *context, struct flow *flow)
{
	for (uint32_t i = 0; i < flow->nb; i++) {
		struct share *share = observed_flows_share(&context->flows, flow, i);

		if (!share->total && share->sampled && share->packets > 0) {
			share->packets = 0;
			share->bytes = 0;
		}
	}
}

/*
 * Defers the samples in the share until the end of the epoch. Returns false if the table is full.
 */
static bool hold_samples(struct dedup_context *context, struct record_in_progress *record)
{
	struct share *share = record->share;
	struct deferred_flow *deferred;

	if (!(record->flow->flags & FLOW_DEFERRED))
		forget_samples(context, record->flow);
	if (share->packets + record->packets >= 2 * SHARE_PACKETS_LIMIT ||
		share->bytes + record->bytes >= 2 * SHARE_BYTES_LIMIT)
		return false;
	deferred = deferred_flows_get(&context->held, &context->flows, record);
	if (!deferred)
		return false;
	deferred_flow_add_samples(deferred, record);
	share->packets = (share->packets + record->packets) & (2 * SHARE_PACKETS_LIMIT - 1);
	share->bytes = (share->bytes + record->bytes) & (2 * SHARE_BYTES_LIMIT - 1);
	record->held = true;
	return true;
}

/* For interfaces of unknown role: returns the first living observer of the flow, which counts. */
static uint32_t first_observer(struct dedup_context *context, struct flow *flow, uint32_t now)
{
	for (uint32_t i = 0; i < flow->nb; i++) {
		const struct share *share = observed_flows_share(&context->flows, flow, i);

		if (!share->total && share->sampled && !is_stale(context, share, now))
			return i;
	}
	return 0;
}

static struct record_value without_room(
	struct dedup_context *context, struct record_in_progress *record)
{
	if (first_observer(context, record->flow, record->now) == record->number) {
		doubt_duplicate(context, record, record->packets);
		return whole(record);
	}
	doubt_new(context, record, record->packets);
	return NOTHING;
}

static void add_doubt(uint64_t *packets, uint64_t *bytes, const struct share *share)
{
	*packets = counter64_sum(*packets, share->packets);
	*bytes = counter64_sum(*bytes, share->bytes);
}

/* Adds a sample to those since the last record of an unsampled exporter, `silent` ticks ago. */
static void add_covered(const struct record_in_progress *record, uint32_t silent)
{
	struct share *share = record->share;
	bool first = record->is_new || record->now - record->before >= silent;
	uint64_t packets = first ? 0 : share->packets, bytes = first ? 0 : share->bytes;

	packets = counter64_sum(packets, record->packets);
	bytes = counter64_sum(bytes, record->bytes);
	packets = packets < SHARE_PACKETS_LIMIT ? packets : SHARE_PACKETS_LIMIT;
	bytes = bytes < SHARE_BYTES_LIMIT ? bytes : SHARE_BYTES_LIMIT;
	share->packets = packets & (2 * SHARE_PACKETS_LIMIT - 1);
	share->bytes = bytes & (2 * SHARE_BYTES_LIMIT - 1);
}

/*
 * A sample of a flow that an exporter reports unsampled, the last time `silent` ticks ago. If this
 * is longer than `most`, the flow may have moved: all samples since then are in doubt. Returns false
 * if it moved: it has many samples, and this exporter would have reported it twice.
 */
static bool is_covered(struct dedup_context *context, const struct record_in_progress *record,
	uint32_t silent, uint32_t most)
{
	uint64_t many = (uint64_t)ROLE_SAMPLES_LARGE * record->observation->sampling;
	uint32_t since = record->is_new ? silent : record->now - record->before;
	bool deferred = (record->flow->flags & FLOW_DEFERRED) != 0;

	if (!deferred)
		add_covered(record, silent);
	if (silent <= most)
		return true;
	if (silent / 2 > most && (deferred || record->share->packets >= many)) {
		record->flow->flags &= (uint8_t)~FLOW_UNSAMPLED;
		return false;
	}
	if (!deferred && (since >= silent || silent - since <= most))
		add_doubt(&context->doubt.new_packets, &context->doubt.new_bytes, record->share);
	else
		doubt_new(context, record, record->packets);
	return true;
}

struct record_value value_of_sample(
	struct dedup_context *context, struct record_in_progress *record)
{
	const struct hop *hop = &context->observers.hops[record->share->hop];
	struct role_exporter *unsampled = NULL;
	struct role_interface *interface;
	uint32_t silent, most;

	if (record->flow->flags & FLOW_UNSAMPLED)
		unsampled = unsampled_exporter(context, record->flow, record->now, &silent, &most);
	if (unsampled != NULL && is_covered(context, record, silent, most)) {
		unsampled->covered_packets += record->packets;
		unsampled->covered_bytes += record->bytes;
		return NOTHING;
	}
	interface = roles_interface(
		&context->roles, &context->observers, record->share->hop, record->now);
	if (interface != NULL)
		interface->heard = record->now;
	switch (role_at(interface, hop)) {
	case ROLE_EDGE:
		if (interface != NULL) {
			interface->counted_packets += record->packets;
			interface->counted_bytes += record->bytes;
		}
		return whole(record);
	case ROLE_FED:
		if (interface != NULL) {
			interface->dropped_packets += record->packets;
			interface->dropped_bytes += record->bytes;
		}
		return NOTHING;
	case ROLE_OPEN: break;
	}
	return hold_samples(context, record) ? NOTHING : without_room(context, record);
}

static struct record_value take_best(
	struct dedup_context *context, struct record_in_progress *record)
{
	if (record->observation->sampling == 1)
		return best_unsampled(context, record);
	return value_of_sample(context, record);
}

/* Deferred samples of a share, with its present role. */
struct held_share {
	struct share *share;
	uint32_t number;
	enum interface_role role;
	uint8_t ttl; /* largest TTL; 0: unknown */
};

static uint32_t find_waiting(
	struct dedup_context *context, struct flow *flow, uint32_t now, struct held_share *waiting)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < flow->nb; i++) {
		struct share *share = observed_flows_share(&context->flows, flow, i);

		if (share->total || !share->sampled ||
			(share->packets == 0 && is_stale(context, share, now)))
			continue;
		waiting[n++] = (struct held_share){
			.share = share,
			.number = i,
			.ttl = roles_ttl(&context->roles, flow_number(&context->flows, flow), i),
			.role = role_at(roles_interface(&context->roles, &context->observers,
						share->hop, now),
				&context->observers.hops[share->hop]),
		};
	}
	return n;
}

/* Returns, of the shares of unknown role, the first on the path or the first to report. */
static const struct held_share *find_owner(const struct held_share *waiting, uint32_t n)
{
	const struct held_share *owner = NULL;

	for (uint32_t i = 0; i < n; i++) {
		if (waiting[i].role != ROLE_OPEN)
			continue;
		if (owner == NULL || (owner->ttl > 0 && waiting[i].ttl > owner->ttl))
			owner = &waiting[i];
	}
	return owner;
}

/*
 * Returns true if its packets passed the owner first: by their TTL, unless it has significantly
 * more of them.
 */
static bool is_behind(
	const struct held_share *waiting, const struct held_share *owner, uint32_t sampling)
{
	double own = (double)owner->share->packets, more = (double)waiting->share->packets - own;

	return waiting->ttl > 0 && waiting->ttl < owner->ttl &&
	       (more <= 0 || more * more <= 25 * sampling * (own + sampling));
}

static void add_share(struct record_value *value, const struct share *share)
{
	value->packets += share->packets;
	value->bytes += share->bytes;
}

/* Returns the value of the samples of a deferred flow by the current roles. */
static struct record_value value_of_deferred(
	struct dedup_context *context, const struct deferred_flow *deferred)
{
	struct flow *flow = &context->flows.flows[deferred->flow];
	struct record_value value = {0, 0, (double)deferred->sampling};
	struct role_doubt *doubt = &context->doubt;
	struct held_share waiting[SHARES_MAX];
	const struct role_exporter *unsampled = NULL;
	const struct held_share *owner;
	bool edge = false;
	uint32_t n, silent, most;

	if (deferred->packets == 0)
		return NOTHING;
	n = find_waiting(context, flow, flow->last, waiting);
	owner = find_owner(waiting, n);
	for (uint32_t i = 0; i < n; i++)
		edge |= waiting[i].role == ROLE_EDGE;
	if (flow->flags & FLOW_UNSAMPLED)
		unsampled = unsampled_exporter(context, flow, flow->last, &silent, &most);
	for (uint32_t i = 0; i < n; i++) {
		const struct share *share = waiting[i].share;

		if (unsampled != NULL) {
			if (unsampled->in_doubt || !unsampled->alive)
				add_doubt(&doubt->new_packets, &doubt->new_bytes, share);
		} else if (waiting[i].role == ROLE_EDGE) {
			add_share(&value, share);
		} else if (waiting[i].role == ROLE_OPEN && owner != &waiting[i] &&
			   is_behind(&waiting[i], owner, deferred->sampling)) {
			continue;
		} else if (waiting[i].role == ROLE_OPEN && (edge || owner != &waiting[i])) {
			add_doubt(&doubt->new_packets, &doubt->new_bytes, share);
		} else if (waiting[i].role == ROLE_OPEN) {
			add_share(&value, share);
			if (share->packets < (uint64_t)SAMPLES_UNBIASED * deferred->sampling)
				add_doubt(
					&doubt->duplicate_packets, &doubt->duplicate_bytes, share);
		}
	}
	forget_samples(context, flow);
	return value;
}

/* --- methods of EMC2, for comparison --- */

/* Returns true if an observer reports significantly more of the flow than the counted one. */
static bool tells_more(const struct record_in_progress *record, uint64_t counted)
{
	/* The counted one may be late by one record. */
	double more = (double)record->share->packets - (double)record->packets - (double)counted;
	double sampling = (double)record->observation->sampling;
	double variance = sampling > 1 ? sampling * (double)record->share->packets : 0;

	return more > 0 && more * more > 25 * variance;
}

/* The first observer of a flow counts until it times out. */
static struct record_value take_exporter(
	struct dedup_context *context, struct record_in_progress *record)
{
	struct flow *flow = record->flow;
	bool sampled = record->observation->sampling > 1;
	const struct share *owner;

	if (record->number != flow->owner) {
		owner = observed_flows_share(&context->flows, flow, flow->owner);
		if (owner->total || is_stale(context, owner, record->now))
			flow->owner = record->number;
		else if (tells_more(record, owner->packets))
			doubt_new(context, record, record->packets);
	}
	if (record->number != flow->owner)
		return NOTHING;
	if (sampled &&
		record->share->packets < (uint64_t)SAMPLES_UNBIASED * record->observation->sampling)
		doubt_duplicate(context, record, record->packets);
	return whole(record);
}

/*
 * The next unsampled record of the flow, expected within another timeout, tells the packets of
 * samples that follow the last one. It never arrives if its exporter dies.
 */
static bool awaits_record(
	const struct dedup_context *context, const struct record_in_progress *record)
{
	const struct flow *flow = record->flow;

	return flow->flags & FLOW_UNSAMPLED &&
	       (int32_t)(record->now - flow->counted) <= (int32_t)context->flows.timeout;
}

/* Without room to defer it, a sample counts at once. */
static struct record_value window_sampled(
	struct dedup_context *context, struct record_in_progress *record)
{
	struct record_value value;

	if (awaits_record(context, record)) {
		doubt_new(context, record, record->packets);
		return NOTHING;
	}
	record->flow->flags &= (uint8_t)~FLOW_UNSAMPLED;
	if (hold_samples(context, record))
		return NOTHING;
	value = without_room(context, record);
	record->flow->from_samples += value.packets;
	return value;
}

/* Discards the deferred samples of the flow. */
static void discard_samples(struct dedup_context *context, struct flow *flow)
{
	if (!(flow->flags & FLOW_DEFERRED))
		return;
	deferred_flow_of(&context->held, flow)->packets = 0;
	forget_samples(context, flow);
}

/*
 * An unsampled record counts unless it is within the timeout of the last one that counted. Samples
 * that wait for the end of the epoch are of its packets, and so are those that counted before.
 */
static struct record_value take_window(
	struct dedup_context *context, struct record_in_progress *record)
{
	int32_t window = (int32_t)(context->flows.timeout / 2);
	struct flow *flow = record->flow;
	struct record_value value;
	uint64_t covered;

	if (record->sampled)
		return window_sampled(context, record);
	if (flow->flags & FLOW_UNSAMPLED && (int32_t)(record->now - flow->counted) <= window) {
		if (record->share->packets > flow->packets)
			doubt_new(context, record, fresh(record, record->share->packets));
		return NOTHING;
	}
	flow->flags |= FLOW_UNSAMPLED;
	flow->counted = record->now;
	discard_samples(context, flow);
	covered = flow->from_samples < record->packets ? flow->from_samples : record->packets;
	if (covered == 0)
		return whole(record);
	flow->from_samples -= covered;
	value = part(record, record->packets - covered, 1);
	/* Samples tell only about how many packets an earlier interval has. */
	doubt_new(context, record, covered);
	doubt_duplicate(context, record, value.packets);
	return value;
}

/* The mean covers only observers with a sample; it is too large for small flows. */
static struct record_value value_of_window(
	struct dedup_context *context, const struct deferred_flow *deferred)
{
	struct flow *flow = &context->flows.flows[deferred->flow];
	struct record_value value = {0, 0, (double)deferred->sampling};
	struct role_doubt *doubt = &context->doubt;
	uint64_t packets = 0, bytes = 0, observers = 0;

	if (deferred->packets == 0)
		return NOTHING;
	for (uint32_t i = 0; i < flow->nb; i++) {
		const struct share *share = observed_flows_share(&context->flows, flow, i);

		if (share->total || !share->sampled || share->packets == 0)
			continue;
		packets += share->packets;
		bytes += share->bytes;
		observers++;
	}
	forget_samples(context, flow);
	if (observers == 0)
		return NOTHING;
	value.packets = packets / observers;
	value.bytes = bytes / observers;
	doubt->new_packets = counter64_sum(doubt->new_packets, packets - value.packets);
	doubt->new_bytes = counter64_sum(doubt->new_bytes, bytes - value.bytes);
	doubt->duplicate_packets = counter64_sum(doubt->duplicate_packets, value.packets);
	doubt->duplicate_bytes = counter64_sum(doubt->duplicate_bytes, value.bytes);
	flow->from_samples += value.packets;
	return value;
}

/* Returns true if its slot is the lowest of those that report flows between the prefixes. */
static bool is_lowest(struct dedup_context *context, const struct record_in_progress *record)
{
	const struct observation *observation = record->observation;
	struct route *route =
		route_find(&context->routes, route_key(&context->routes, observation), record->now);
	uint32_t point = observation_points_number(
		&context->observers, observation->exporter, observation->side);
	uint32_t slots = UINT32_C(1) << GENERATION_SHIFT;
	bool other = point != route->lowest;

	if (other && route->lowest != ROUTE_NOBODY && route->lowest % slots <= point % slots &&
		(int32_t)(record->now - route->lowest_heard) <= (int32_t)context->routes.stale)
		return false;
	route->lowest = point;
	route->lowest_heard = record->now;
	return true;
}

static bool counts_at_edge(struct dedup_context *context, const struct record_in_progress *record)
{
	const struct observation *observation = record->observation;

	if (observation->flags & OBSERVATION_EDGES)
		context->edges = true;
	if (observation->side == OBSERVED_INGRESS)
		context->has_ingress[observation->exporter] = 1;
	if (!context->edges)
		return is_lowest(context, record);
	if (!(observation->flags & OBSERVATION_ENTERS))
		return false;
	/* An exporter that reports both sides reports the same packets. */
	return observation->side != OBSERVED_EGRESS || !context->has_ingress[observation->exporter];
}

struct record_value value_at_edge(struct dedup_context *context, struct record_in_progress *record)
{
	return counts_at_edge(context, record) ? whole(record) : NOTHING;
}

static struct record_value take_all(
	struct dedup_context *context, struct record_in_progress *record)
{
	(void)context;
	return whole(record);
}

const struct dedup_ops dedup_methods[] = {
	{"best", "the largest count of any exporter; samples count at edge interfaces", true,
		take_best, value_of_deferred},
	{"exporter", "count records of the first exporter that reports the flow", true,
		take_exporter, NULL},
	{"window", "ignore records within --active-timeout of a counted record", true, take_window,
		value_of_window},
	{"edge", "count records that enter at an edge interface; keeps no flow cache", false,
		value_at_edge, NULL},
	{"none", "count every record", false, take_all, NULL},
	{0},
};
