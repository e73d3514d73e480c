/* SPDX-License-Identifier: BSD-3-Clause */

#include "collect/dedup/flow_paths.h"

#include <string.h>

#include "base/router_names.h"
#include "collect/dedup/path.h"

#define GENERATION_MASK UINT32_C(0x7fff)

size_t flow_paths_memory(uint64_t flows)
{
	return observed_flows_entries(flows) * sizeof(struct flow_path);
}

static void start(struct flow_path *path, const struct record_in_progress *record)
{
	uint64_t packets = path->packets, bytes = path->bytes;

	/* Packets of this epoch stay with the key of a restarted flow. */
	*path = (struct flow_path){.packets = packets, .bytes = bytes, .stale = true};
	record->flow->flags |= FLOW_TOLD;
	if (record->observation->family == KEY_IPV4) {
		memcpy(&path->key, &record->observation->key4, sizeof(struct key4));
		return;
	}
	path->key = record->observation->key6;
	record->flow->flags |= FLOW_IPV6;
}

static void turn_window(struct flow_path *path, uint32_t now, uint32_t length)
{
	uint16_t window = (uint16_t)(now / length);

	if (window == path->window)
		return;
	path->before = window == (uint16_t)(path->window + 1) ? path->now : 0;
	path->now = 0;
	path->window = window;
	path->stale = true;
}

void flow_path_report(struct flow_path *path, struct dedup_context *context,
	const struct record_in_progress *record, const struct record_value *value)
{
	uint32_t bit = UINT32_C(1) << record->number;

	if (!(record->flow->flags & FLOW_TOLD))
		start(path, record);
	turn_window(path, record->now, context->flows.timeout);
	path->stale |= !((path->now | path->before) & bit) || record->moved;
	path->now |= bit;
	path->reported |= bit;
	if (record->number < FLOW_PATH_TTLS && record->observation->ttl > 0)
		path->ttl[record->number] = record->observation->ttl;
	path->packets += value->packets;
	path->bytes += value->bytes;
}

/* Collects the hops of exporters that still exist. */
static uint32_t hops_of(
	struct dedup_context *context, struct flow *flow, uint32_t shares, const struct hop **hops)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < flow->nb; i++) {
		const struct hop *hop;

		if (!(shares >> i & 1))
			continue;
		hop = observation_points_living_hop(
			&context->observers, observed_flows_share(&context->flows, flow, i)->hop);
		if (hop)
			hops[n++] = hop;
	}
	return n;
}

/* Sets the TTL of the hops, each the largest of its exporter. */
static void set_ttl(const struct flow_path *path, struct dedup_context *context, struct flow *flow,
	uint32_t shares, struct path_row *row)
{
	for (uint32_t i = 0; i < flow->nb && i < FLOW_PATH_TTLS; i++) {
		const struct hop *hop;

		if (path->ttl[i] == 0 || !(shares >> i & 1))
			continue;
		hop = observation_points_living_hop(
			&context->observers, observed_flows_share(&context->flows, flow, i)->hop);
		for (uint32_t h = 0; hop != NULL && h < row->nb_hops; h++)
			if (row->hops[h].exporter == hop->exporter &&
				row->hops[h].ttl < path->ttl[i])
				row->hops[h].ttl = path->ttl[i];
	}
}

static uint32_t ends_generation(const struct flow_path *path, const struct dedup_context *context)
{
	return observation_points_ends_generation(
		       &context->observers, path->ingress, path->egress) &
	       GENERATION_MASK;
}

static void set_route_ends(
	struct route *route, const struct dedup_context *context, uint16_t ingress, uint16_t egress)
{
	if (!route->ends_known)
		route->ends_since = context->routes.epoch;
	route->ingress = ingress;
	route->egress = egress;
	route->ends_generation =
		observation_points_ends_generation(&context->observers, ingress, egress);
	route->ends_known = true;
}

/*
 * A flow with one known exporter takes ingress and egress of its route, unless that exporter is
 * known to be one of them.
 */
void flow_path_ends(
	struct flow_path *path, struct dedup_context *context, struct record_in_progress *record)
{
	const struct hop *hops[SHARES_MAX];
	struct path_hop way[PATH_HOPS_MAX];
	struct route *route;
	bool ordered;
	uint32_t n;

	if (!path->stale && path->ends_generation == ends_generation(path, context))
		return;
	n = path_order(hops, hops_of(context, record->flow, path->now | path->before, hops), way,
		&ordered);
	path->stale = n == 0;
	path->ingress = n > 0 ? (uint16_t)way[0].exporter : ROUTER_UNKNOWN;
	path->egress = n > 0 ? (uint16_t)way[n - 1].exporter : ROUTER_UNKNOWN;
	route = route_of(context, record);
	if (n > 1) {
		set_route_ends(route, context, path->ingress, path->egress);
	} else if (route->ends_known) {
		path->ingress = route->ingress;
		path->egress = route->egress;
	}
	if (!path->stale)
		path->ends_generation = ends_generation(path, context) & GENERATION_MASK;
}

static void set_key(struct key *key, const struct flow_path *path, const struct flow *flow)
{
	memset(key, 0, sizeof(*key));
	key->family = KEY_IPV4;
	if (flow->flags & FLOW_IPV6) {
		key->family = KEY_IPV6;
		key->v6 = path->key;
	} else {
		memcpy(&key->v4, &path->key, sizeof(key->v4));
	}
}

void flow_path_emit(struct flow_path *path, struct dedup_context *context, struct flow *flow,
	void (*emit)(void *arg, const struct path_row *row), void *arg)
{
	const struct hop *hops[SHARES_MAX];
	uint32_t shares = path->now | path->before | path->reported;
	struct path_row row;

	if (!path->reported)
		return;
	memset(&row, 0, sizeof(row));
	set_key(&row.key, path, flow);
	row.nb_hops =
		path_order(hops, hops_of(context, flow, shares, hops), row.hops, &row.ordered);
	set_ttl(path, context, flow, shares, &row);
	row.observers = (uint32_t)__builtin_popcount(path->reported);
	row.packets = path->packets;
	row.bytes = path->bytes;
	row.changed = path->told & ~shares || flow->flags & FLOW_MOVED;
	path->told = shares;
	path->reported = 0;
	path->packets = path->bytes = 0;
	flow->flags &= (uint8_t)~FLOW_MOVED;
	emit(arg, &row);
}
