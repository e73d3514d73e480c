/* SPDX-License-Identifier: BSD-3-Clause */

#include "collect/dedup/route.h"

#include <string.h>

#include "base/power_of_two.h"
#include "base/random.h"
#include "collect/dedup/observers.h"

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
