/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Who is on the way between two prefixes (IPv4 /24, IPv6 /48): the sampling observers that
 * reported a flow from the one to the other, so that a flow of which some have no sample yet is
 * divided by all of them. Bounded: the route that was silent the longest gives its place.
 *
 * Branches: where one observer names several next hops, each packet goes to one of them; their
 * exporters are one group, which weighs as much as one observer, and whose counts add up. Nothing
 * else is recognized as a branch here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/observation.h"
#include "sketch/sketch.h"

#define ROUTE_MEMBERS 10
#define ROUTE_NOBODY  UINT32_MAX

struct route {
	uint64_t key; /* of the prefixes; 0: free */
	double sum;   /* of the groups' weights */
	uint32_t last;
	uint32_t lowest;          /* observer, of those that the edge rule saw */
	uint32_t lowest_heard;    /* when it was */
	uint16_t ingress, egress; /* exporters of the last path that was known */
	bool ends_known;
	bool branches;
	uint8_t nb;
	uint8_t samples;              /* of its flows; 255: that or more */
	uint8_t group[ROUTE_MEMBERS]; /* the number of its first member */
	uint16_t ends_generation;     /* observers_ends_generation() of ingress and egress */
	double weight[ROUTE_MEMBERS]; /* 1 / (sampling interval - 1) */
	uint32_t observer[ROUTE_MEMBERS];
	uint32_t next[ROUTE_MEMBERS];  /* an observer, of any side */
	uint32_t heard[ROUTE_MEMBERS]; /* when */
	uint32_t joined;     /* the epoch in which a member was heard for the first time */
	uint32_t ends_since; /* the epoch in which ends became known */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct route) == 256, "four cache lines");

struct routes {
	struct route *routes;
	uint64_t sets; /* of ROUTE_WAYS each; a power of two */
	uint64_t seed;
	uint32_t stale; /* ticks; who was silent for longer is not on the way any more */
	uint32_t epoch; /* counted by who uses it */
};

size_t routes_memory(uint64_t flows);
bool routes_init(struct routes *routes, uint64_t flows, uint64_t seed, uint32_t stale,
	const struct sketch_allocator *allocator);
void routes_fini(struct routes *routes, uint64_t flows, const struct sketch_allocator *allocator);

uint64_t route_key(const struct routes *routes, const struct observation *observation);

static inline void route_prefetch(const struct routes *routes, uint64_t key);

/* Finds it, or makes it. now: ticks. */
struct route *route_find(struct routes *routes, uint64_t key, uint32_t now);

/*
 * A sampling observer (sampling >= 2) reported a flow: its place among the members, or ROUTE_NOBODY
 * where there are too many. next: an observer of the exporter at the next hop, of any side;
 * ROUTE_NOBODY: unknown.
 */
uint32_t route_hear(const struct routes *routes, struct route *route, uint32_t observer,
	uint32_t sampling, uint32_t next, uint32_t now);

/* Samples of one of its flows came. */
static inline void route_count_samples(struct route *route, uint64_t samples)
{
	uint64_t sum = route->samples + samples;

	route->samples = samples < UINT8_MAX && sum < UINT8_MAX ? (uint8_t)sum : UINT8_MAX;
}

/*
 * Whether there were samples enough that all who are on the way are among the members: another one
 * that samples as they do would have had SAMPLES_ENOUGH (by chance none: e^-5).
 */
#define SAMPLES_ENOUGH 5

static inline bool route_is_learned(const struct route *route)
{
	return route->samples >= SAMPLES_ENOUGH * route->nb;
}

/* The place of an observer, or ROUTE_NOBODY. */
static inline uint32_t route_member(const struct route *route, uint32_t observer)
{
	for (uint32_t m = 0; m < route->nb; m++) {
		if (route->observer[m] == observer)
			return m;
	}
	return ROUTE_NOBODY;
}

/* The weight of a group: that of its coarsest member. */
double route_group_weight(const struct route *route, uint32_t group);

#define ROUTE_WAYS 4

static inline void route_prefetch(const struct routes *routes, uint64_t key)
{
	const struct route *set = &routes->routes[(key & (routes->sets - 1)) * ROUTE_WAYS];

	for (uint32_t way = 0; way < ROUTE_WAYS; way++)
		__builtin_prefetch(&set[way]);
}

/* Behind route_prefetch(): what there is of the members, where the route is there. */
static inline void route_prefetch_members(const struct routes *routes, uint64_t key)
{
	const struct route *set = &routes->routes[(key & (routes->sets - 1)) * ROUTE_WAYS];

	for (uint32_t way = 0; way < ROUTE_WAYS; way++) {
		if (set[way].key != key)
			continue;
		__builtin_prefetch((const char *)&set[way] + 64);
		__builtin_prefetch((const char *)&set[way] + 128);
		__builtin_prefetch((const char *)&set[way] + 192, 1);
		return;
	}
}
