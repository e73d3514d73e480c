/* SPDX-License-Identifier: BSD-3-Clause */

#include "collect/route.h"

#include <string.h>

#include "base/power_of_two.h"
#include "base/random.h"
#include "collect/observers.h"

#define FLOWS_OF_ROUTE 8
#define SETS_LEAST     64

static uint64_t sets_of(uint64_t flows)
{
	uint64_t sets = power_of_two_at_least(flows / FLOWS_OF_ROUTE / ROUTE_WAYS + 1);

	return sets > SETS_LEAST ? sets : SETS_LEAST;
}

size_t routes_memory(uint64_t flows)
{
	return sets_of(flows) * ROUTE_WAYS * sizeof(struct route);
}

bool routes_init(struct routes *routes, uint64_t flows, uint64_t seed, uint32_t stale,
	const struct sketch_allocator *allocator)
{
	*routes = (struct routes){
		.routes = allocator->alloc(routes_memory(flows), allocator->arg),
		.sets = sets_of(flows),
		.seed = random_mix(seed + 1),
		.stale = stale,
	};
	return routes->routes;
}

void routes_fini(struct routes *routes, uint64_t flows, const struct sketch_allocator *allocator)
{
	if (routes->routes)
		allocator->free(routes->routes, routes_memory(flows), allocator->arg);
}

uint64_t route_key(const struct routes *routes, const struct observation *observation)
{
	const uint8_t *src = observation->key6.src_ip, *dst = observation->key6.dst_ip;
	size_t len = 6;
	uint64_t from = 0, to = 0, key;

	if (observation->family == KEY_IPV4) {
		src = observation->key4.src_ip;
		dst = observation->key4.dst_ip;
		len = 3;
	}
	memcpy(&from, src, len);
	memcpy(&to, dst, len);
	key = random_mix(from ^ routes->seed) + to;
	key = random_mix(key ^ (uint64_t)observation->family << 56 ^ routes->seed);
	return key > 0 ? key : 1;
}

static void start(struct route *route, uint64_t key, uint32_t now)
{
	*route = (struct route){.key = key, .last = now, .lowest = ROUTE_NOBODY};
}

struct route *route_find(struct routes *routes, uint64_t key, uint32_t now)
{
	struct route *set = &routes->routes[(key & (routes->sets - 1)) * ROUTE_WAYS];
	struct route *oldest = set;

	for (uint32_t way = 0; way < ROUTE_WAYS; way++) {
		if (set[way].key == key) {
			set[way].last = now;
			return &set[way];
		}
		if (oldest->key && (!set[way].key || (int32_t)(set[way].last - oldest->last) < 0))
			oldest = &set[way];
	}
	start(oldest, key, now);
	return oldest;
}

double route_group_weight(const struct route *route, uint32_t group)
{
	double weight = route->weight[group];

	if (!route->branches)
		return weight;
	for (uint32_t m = group + 1; m < route->nb; m++) {
		if (route->group[m] == group && route->weight[m] < weight)
			weight = route->weight[m];
	}
	return weight;
}

static void add_up(struct route *route)
{
	route->sum = 0;
	for (uint32_t m = 0; m < route->nb; m++) {
		if (route->group[m] == m)
			route->sum += route_group_weight(route, m);
	}
}

/* The members of two groups are one group. */
static void join(struct route *route, uint32_t a, uint32_t b)
{
	uint8_t low = route->group[a] < route->group[b] ? route->group[a] : route->group[b];
	uint8_t high = route->group[a] < route->group[b] ? route->group[b] : route->group[a];

	if (low == high)
		return;
	for (uint32_t m = 0; m < route->nb; m++) {
		if (route->group[m] == high)
			route->group[m] = low;
	}
	route->branches = true;
}

/* Another one for each that had the slot. */
static uint32_t exporter_of(uint32_t observer)
{
	return observer / OBSERVER_SIDES;
}

/*
 * Two next hops of one observer: every member of the one with those of the other that look at the
 * same side. (Both sides of one exporter see the same packets: two groups.)
 */
static void join_exporters(struct route *route, uint32_t a, uint32_t b)
{
	for (uint32_t m = 0; m < route->nb; m++) {
		for (uint32_t k = 0;
			k < route->nb && exporter_of(route->observer[m]) == exporter_of(a); k++) {
			if (exporter_of(route->observer[k]) == exporter_of(b) &&
				route->observer[k] % OBSERVER_SIDES ==
					route->observer[m] % OBSERVER_SIDES)
				join(route, m, k);
		}
	}
}

static void remove_member(struct route *route, uint32_t gone)
{
	uint32_t nb = route->nb;

	for (uint32_t m = gone; m + 1 < nb; m++) {
		route->weight[m] = route->weight[m + 1];
		route->observer[m] = route->observer[m + 1];
		route->next[m] = route->next[m + 1];
		route->heard[m] = route->heard[m + 1];
	}
	route->nb--;
	/* Groups are numbered by their first members: they are learned anew. */
	for (uint32_t m = 0; m < route->nb; m++)
		route->group[m] = (uint8_t)m;
	route->branches = false;
}

static void age(const struct routes *routes, struct route *route, uint32_t now)
{
	for (uint32_t m = route->nb; m-- > 0;) {
		if ((int32_t)(now - route->heard[m]) > (int32_t)routes->stale)
			remove_member(route, m);
	}
}

static uint32_t add_member(
	const struct routes *routes, struct route *route, uint32_t observer, uint32_t now)
{
	uint32_t m;

	age(routes, route, now);
	m = route->nb;
	if (m == ROUTE_MEMBERS)
		return ROUTE_NOBODY;
	route->observer[m] = observer;
	route->next[m] = ROUTE_NOBODY;
	route->weight[m] = 0;
	route->heard[m] = now;
	route->group[m] = (uint8_t)m;
	route->nb++;
	route->joined = routes->epoch;
	return m;
}

uint32_t route_hear(const struct routes *routes, struct route *route, uint32_t observer,
	uint32_t sampling, uint32_t next, uint32_t now)
{
	uint32_t m = route_member(route, observer);
	double weight = 1.0 / ((double)sampling - 1);
	bool changed = m == ROUTE_NOBODY;

	if (changed)
		m = add_member(routes, route, observer, now);
	if (m == ROUTE_NOBODY)
		return m;
	if (now - route->heard[m] > routes->stale / 4) {
		route->heard[m] = now;
		age(routes, route, now);
		m = route_member(route, observer);
		changed = true;
	}
	if (route->weight[m] < weight || route->weight[m] > weight) {
		route->weight[m] = weight;
		changed = true;
	}
	if (next != ROUTE_NOBODY && next != route->next[m]) {
		if (route->next[m] != ROUTE_NOBODY) {
			join_exporters(route, route->next[m], next);
			changed = true;
		}
		route->next[m] = next;
	}
	if (changed)
		add_up(route);
	return m;
}
