/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Routes between two prefixes (IPv4 /24, IPv6 /48): ingress and egress exporter, and the lowest
 * exporter slot that reports flows of the route. If the table is full, a new route replaces the one
 * without records for longest.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/exporters/observation.h"
#include "sketch/sketch.h"

#define ROUTE_NOBODY UINT32_MAX

struct route {
	uint64_t key; /* key of the two prefixes; 0: free */
	uint32_t last;
	uint32_t lowest;          /* lowest observer seen by the edge method */
	uint32_t lowest_heard;    /* time of its last record, ticks */
	uint16_t ingress, egress; /* exporters of the last known path */
	/*
	 * sum of the generations of both exporter slots when they were stored here; if the sum is
	 * different now, one of the slots belongs to another exporter
	 */
	uint16_t ends_generation;
	bool ends_known;     /* ingress and egress are known */
	uint32_t ends_since; /* epoch in which they became known */
};

struct routes {
	struct route *routes;
	uint64_t sets; /* number of sets of ROUTE_WAYS routes; a power of two */
	uint64_t seed;
	uint32_t stale; /* ticks of silence after which an exporter left the route */
	uint32_t epoch; /* current epoch, set by the caller */
};

size_t routes_memory(uint64_t flows);
bool routes_init(struct routes *routes, uint64_t flows, uint64_t seed, uint32_t stale,
	const struct sketch_allocator *allocator);
void routes_fini(struct routes *routes, uint64_t flows, const struct sketch_allocator *allocator);

uint64_t route_key(const struct routes *routes, const struct observation *observation);

/* Returns the route, adding it if necessary. now: ticks. */
struct route *route_find(struct routes *routes, uint64_t key, uint32_t now);

#define ROUTE_WAYS 4
