/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What is known of the way between two prefixes (IPv4 /24, IPv6 /48): its first and its last
 * exporter, and of those that report its flows the one in the lowest slot. Bounded: the route that
 * was silent the longest gives its place.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/exporters/observation.h"
#include "sketch/sketch.h"

#define ROUTE_NOBODY UINT32_MAX

struct route {
	uint64_t key; /* of the prefixes; 0: free */
	uint32_t last;
	uint32_t lowest;          /* observer, of those that the edge rule saw */
	uint32_t lowest_heard;    /* when it was */
	uint16_t ingress, egress; /* exporters of the last path that was known */
	uint16_t ends_generation; /* observation_points_ends_generation() of ingress and egress */
	bool ends_known;
	uint32_t ends_since; /* the epoch in which ends became known */
};

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

/* Finds it, or makes it. now: ticks. */
struct route *route_find(struct routes *routes, uint64_t key, uint32_t now);

#define ROUTE_WAYS 4
