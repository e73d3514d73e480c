/* SPDX-License-Identifier: BSD-3-Clause */

#include "collect/method.h"

#include <math.h>

/*
 * Samples that an observer on the way should have had when it had none: then it is not on this
 * flow's way (by chance: e^-20).
 */
#define SAMPLES_MISSED 20

#define NOTHING ((struct worth){0, 0, 1})

static struct worth whole(const struct record *record)
{
	return (struct worth){
		record->packets, record->bytes, (double)record->observation->sampling};
}

/* A part of a record's packets, of its mean size. */
static struct worth part(const struct record *record, uint64_t packets, double sampling)
{
	struct worth worth = {packets, record->bytes, sampling};

	if (packets < record->packets)
		worth.bytes = (uint64_t)((double)record->bytes * (double)packets /
						 (double)record->packets +
					 0.5);
	return worth;
}

/* Of what a flow has by now, so much as was not counted before. */
static uint64_t fresh(const struct record *record, uint64_t target)
{
	uint64_t counted = record->flow->packets;

	if (target <= counted)
		return 0;
	return target - counted < record->packets ? target - counted : record->packets;
}

/* The most bytes that an observer without sampling has. */
static uint64_t most_bytes(struct known *known, const struct record *record)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < record->flow->nb; i++) {
		const struct share *share = observed_flows_share(&known->flows, record->flow, i);

		if (!share->total && !share->sampled && share->bytes > most)
			most = share->bytes;
	}
	return most;
}

static struct worth best_unsampled(struct known *known, struct record *record)
{
	struct worth worth = {fresh(record, record->share->packets), 0, 1};
	uint64_t bytes;

	record->flow->flags |= FLOW_UNSAMPLED;
	if (worth.packets == 0)
		return NOTHING;
	bytes = most_bytes(known, record);
	if (bytes > record->flow->bytes)
		worth.bytes = bytes - record->flow->bytes;
	return worth;
}

/* What the samples of a flow say, of the observers that were heard. */
struct weighed {
	double sum;     /* of weight times packets */
	double weights; /* of the groups on the way */
	uint32_t heard; /* a bit for each group */
};

static struct weighed weigh(struct known *known, struct flow *flow, const struct route *route)
{
	struct weighed weighed = {0, route->sum, 0};

	for (uint32_t i = 0; i < flow->nb; i++) {
		const struct share *share = observed_flows_share(&known->flows, flow, i);
		uint32_t member;

		if (share->total)
			continue;
		member = route_member(route, known->observers.hops[share->hop].observer);
		if (member == ROUTE_NOBODY)
			continue;
		weighed.heard |= UINT32_C(1) << route->group[member];
		weighed.sum +=
			route_group_weight(route, route->group[member]) * (double)share->packets;
	}
	return weighed;
}

/* Leaves out groups that cannot be on this flow's way. */
static void leave_out(struct weighed *weighed, const struct route *route)
{
	double packets = weighed->sum / weighed->weights;

	for (uint32_t m = 0; m < route->nb; m++) {
		double weight;

		if (route->group[m] != m || weighed->heard >> m & 1)
			continue;
		weight = route_group_weight(route, m);
		if (packets * weight / (1 + weight) >= SAMPLES_MISSED)
			weighed->weights -= weight;
	}
}

/* Of a flow: where its fractions of packets are rounded up. Uniform, so that nothing is lost by
 * rounding on the average. */
static double rounding(const struct flow *flow)
{
	return (double)(flow->hash.lo >> 11) * 0x1p-53;
}

/* Whether an observer does not sample, by its last record. */
static bool any_unsampled(struct known *known, struct flow *flow)
{
	for (uint32_t i = 0; i < flow->nb; i++) {
		const struct share *share = observed_flows_share(&known->flows, flow, i);

		if (!share->total && !share->sampled)
			return true;
	}
	flow->flags &= (uint8_t)~FLOW_UNSAMPLED;
	return false;
}

struct route *route_of(struct known *known, struct record *record)
{
	struct route *route;

	if (record->route == 0)
		record->route = route_key(&known->routes, record->observation);
	route = route_find(&known->routes, record->route, record->now);
	if (route->ends_known &&
		route->ends_generation !=
			observers_ends_generation(&known->observers, route->ingress, route->egress))
		route->ends_known = false;
	return route;
}

/* An observer at the next hop. */
static uint32_t next_of(const struct known *known, const struct observation *observation)
{
	if (observation->next == EXPORTER_NONE)
		return ROUTE_NOBODY;
	return observers_number(&known->observers, observation->next, OBSERVED_ANYWHERE);
}

static uint32_t count_groups(const struct route *route)
{
	uint32_t groups = 0;

	for (uint32_t m = 0; m < route->nb; m++)
		groups += route->group[m] == m;
	return groups;
}

/*
 * The weights of all on the way. A route of which there were few samples has members that were not
 * heard: as many groups as other routes have on the average are taken for it, each as good as those
 * that were heard.
 */
static double all_weights(
	const struct known *known, const struct weighed *weighed, const struct route *route)
{
	double likely;

	if (route_is_learned(route) || !(known->learned > 0))
		return weighed->weights;
	likely = known->learned / known->inverse_groups / count_groups(route);
	return likely > 1 ? weighed->weights * likely : weighed->weights;
}

/* `sampling`: that of the flow's observer, where it has but one. */
static struct worth estimated(struct known *known, const struct record *record,
	const struct route *route, uint32_t sampling)
{
	struct weighed weighed;
	double target;

	if (route->nb == 1 && record->flow->nb == 1 && route_is_learned(route))
		return part(record, fresh(record, record->share->packets), (double)sampling);
	weighed = weigh(known, record->flow, route);
	leave_out(&weighed, route);
	target = floor(weighed.sum / all_weights(known, &weighed, route) + rounding(record->flow));
	/*
	 * The interval is that of all members who were not left out, heard or not; not that of
	 * those who are only likely to be there.
	 */
	return part(record, fresh(record, (uint64_t)target),
		route->nb == 1 ? (double)sampling : 1 + 1 / weighed.weights);
}

void learn_groups(struct known *known)
{
	double learned = 0, inverse = 0;

	for (uint32_t i = 0; i < known->held.nb; i++) {
		const struct held_flow *held = &known->held.flows[i];
		uint32_t now = known->flows.flows[held->flow].last;
		const struct route *route;

		if (held->packets == 0)
			continue;
		route = route_find(&known->routes, held->route, now);
		if (route->nb == 0 || !route_is_learned(route))
			continue;
		learned++;
		inverse += 1.0 / count_groups(route);
	}
	if (learned > 0) {
		known->learned = known->learned / 2 + learned;
		known->inverse_groups = known->inverse_groups / 2 + inverse;
	}
}

/* While it is not known who else is on the route, and until the flow is settled. */
static bool hold_samples(struct known *known, struct record *record, const struct route *route)
{
	struct held_flow *held;

	if (!(record->flow->flags & FLOW_HELD) && route->joined != known->routes.epoch)
		return false;
	held = held_flows_get(&known->held, &known->flows, record);
	if (!held)
		return false;
	held_flow_add_samples(held, record);
	record->held = true;
	return true;
}

/* All that reported the flow are members of its route, also where the route was given up since. */
static void hear_again(struct known *known, struct record *record, struct route *route,
	const struct held_flow *held)
{
	for (uint32_t i = 0; i < record->flow->nb; i++) {
		const struct share *share = observed_flows_share(&known->flows, record->flow, i);
		uint32_t observer = known->observers.hops[share->hop].observer;

		if (!share->total && share->sampled &&
			route_member(route, observer) == ROUTE_NOBODY)
			route_hear(&known->routes, route, observer, held->sampling, ROUTE_NOBODY,
				record->now);
	}
}

struct worth worth_of_held(struct known *known, const struct held_flow *held)
{
	struct flow *flow = &known->flows.flows[held->flow];
	struct record record = {
		.flow = flow,
		.share = observed_flows_share(&known->flows, flow, 0),
		.now = flow->last,
		.packets = held->packets,
		.bytes = held->bytes,
		.route = held->route,
	};
	struct route *route;

	if (held->packets == 0 || (flow->flags & FLOW_UNSAMPLED && any_unsampled(known, flow)))
		return NOTHING;
	route = route_of(known, &record);
	hear_again(known, &record, route, held);
	return estimated(known, &record, route, held->sampling);
}

static struct worth best_sampled(struct known *known, struct record *record)
{
	const struct observation *observation = record->observation;
	uint32_t observer = known->observers.hops[record->share->hop].observer;
	struct route *route;

	if (record->flow->flags & FLOW_UNSAMPLED && any_unsampled(known, record->flow))
		return NOTHING;
	route = route_of(known, record);
	if (route_hear(&known->routes, route, observer, observation->sampling,
		    next_of(known, observation), record->now) == ROUTE_NOBODY)
		return NOTHING;
	if (route->samples < UINT8_MAX)
		route_count_samples(route, record->packets / observation->sampling);
	if (hold_samples(known, record, route))
		return NOTHING;
	return estimated(known, record, route, observation->sampling);
}

static struct worth take_best(struct known *known, struct record *record)
{
	if (record->observation->sampling == 1)
		return best_unsampled(known, record);
	return best_sampled(known, record);
}

/* The flow's first share is that of its first observer. */
static struct worth take_exporter(struct known *known, struct record *record)
{
	(void)known;
	return record->number == 0 ? whole(record) : NOTHING;
}

static struct worth window_sampled(struct known *known, struct record *record)
{
	uint64_t packets = 0, observers = 0;
	uint32_t sampling = record->observation->sampling;

	if (record->flow->flags & FLOW_UNSAMPLED)
		return NOTHING;
	if (sampling > record->flow->coarsest)
		record->flow->coarsest = sampling;
	for (uint32_t i = 0; i < record->flow->nb; i++) {
		const struct share *share = observed_flows_share(&known->flows, record->flow, i);

		if (share->total || share->packets == 0)
			continue;
		packets += share->packets;
		observers++;
	}
	if (observers == 0)
		return NOTHING;
	return part(record, fresh(record, packets / observers), (double)record->flow->coarsest);
}

static struct worth take_window(struct known *known, struct record *record)
{
	struct flow *flow = record->flow;
	bool first = !(flow->flags & FLOW_UNSAMPLED);

	if (record->observation->sampling > 1 || record->observation->flags & OBSERVATION_SAMPLE)
		return window_sampled(known, record);
	if (!first && (int32_t)(record->now - flow->counted) <= (int32_t)known->flows.timeout)
		return NOTHING;
	flow->flags |= FLOW_UNSAMPLED;
	flow->counted = record->now;
	return whole(record);
}

/* Whether it is in the lowest slot among those that report flows between its prefixes. */
static bool is_lowest(struct known *known, const struct record *record)
{
	const struct observation *observation = record->observation;
	struct route *route =
		route_find(&known->routes, route_key(&known->routes, observation), record->now);
	uint32_t observer =
		observers_number(&known->observers, observation->exporter, observation->side);
	uint32_t slots = UINT32_C(1) << GENERATION_SHIFT;
	bool other = observer != route->lowest;

	if (other && route->lowest != ROUTE_NOBODY && route->lowest % slots <= observer % slots &&
		(int32_t)(record->now - route->lowest_heard) <= (int32_t)known->routes.stale)
		return false;
	route->lowest = observer;
	route->lowest_heard = record->now;
	return true;
}

static bool counts_at_edge(struct known *known, const struct record *record)
{
	const struct observation *observation = record->observation;

	if (observation->flags & OBSERVATION_EDGES)
		known->edges = true;
	if (observation->side == OBSERVED_INGRESS)
		known->has_ingress[observation->exporter] = 1;
	if (!known->edges)
		return is_lowest(known, record);
	if (!(observation->flags & OBSERVATION_ENTERS))
		return false;
	/* Who reports both sides does so for the same packets. */
	return observation->side != OBSERVED_EGRESS || !known->has_ingress[observation->exporter];
}

struct worth worth_at_edge(struct known *known, struct record *record)
{
	return counts_at_edge(known, record) ? whole(record) : NOTHING;
}

static struct worth take_all(struct known *known, struct record *record)
{
	(void)known;
	return whole(record);
}

const struct dedup_ops dedup_methods[] = {
	{"best", "the most that an observer saw; of samples the best mean of all on the way", true,
		take_best},
	{"exporter", "the first exporter that reports a flow counts", true, take_exporter},
	{"window", "what comes within --export-timeout of a record that counted is told again",
		true, take_window},
	{"edge", "what enters at an edge interface counts; keeps no flows", false, worth_at_edge},
	{"none", "every record counts", false, take_all},
	{0},
};
