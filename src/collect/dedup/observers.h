/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Observers and hops. An observer is the slot of an exporter and a side (ingress, egress or
 * unknown). A hop is an observer and the interfaces at which it saw a flow. Several hops of one
 * observer see different packets. If a slot is reassigned, its observers get new numbers; counts of
 * the old ones stay theirs. Senders choose interfaces, so the index is seeded, and an exporter has
 * at most a quarter of the hops. Beyond that limit its hops have no interfaces.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/exporters/observation.h"
#include "sketch/sketch.h"

#define HOP_NONE                UINT32_MAX
#define HOPS_MAX                (UINT32_C(1) << 20)
#define OBSERVATION_POINT_SIDES 4
#define OBSERVATION_POINT_SLOTS 65536
#define GENERATION_SHIFT        18

struct hop {
	uint32_t point;
	uint32_t exporter;
	uint32_t input, output;
	uint32_t next;  /* slot of the exporter at the next hop; EXPORTER_NONE: unknown */
	uint16_t flags; /* OBSERVATION_ENTERS, OBSERVATION_LEAVES, OBSERVATION_EDGES */
	uint8_t side;
	bool used;
	union {
		uint32_t next_free;
		uint32_t interface; /* index in interface_roles.h, valid for this generation */
	};
	uint16_t next_generation; /* generation of the slot `next` */
	uint16_t interface_generation;
};

_Static_assert(sizeof(struct hop) == 32, "two to a cache line");

struct observation_points {
	struct hop *hops;
	uint32_t *index;      /* hop + 1; 0: free */
	uint16_t *generation; /* [slots]: incremented if the slot is given to another exporter */
	uint32_t *taken;      /* hops, of each slot's exporter */
	uint64_t seed;
	uint32_t nb_exporters;
	uint32_t nb_hops, hops_max; /* hops used so far; size */
	uint32_t used;
	uint32_t free_hops; /* free list; HOP_NONE: end */
	uint32_t mask;
	bool turned_away; /* a hop was rejected since the last observation_points_sweep() */
};

size_t observation_points_memory(uint32_t exporters);
bool observation_points_init(struct observation_points *points, uint32_t exporters, uint64_t seed,
	const struct sketch_allocator *allocator);
void observation_points_fini(
	struct observation_points *points, const struct sketch_allocator *allocator);

/* Returns the index of the hop of an observation, new if needed; HOP_NONE: no room. */
uint32_t observation_points_hop(
	struct observation_points *points, const struct observation *observation);

/*
 * Returns a hop, or NULL if its slot was reassigned. Sets its next hop to unknown if that slot was
 * reassigned.
 */
const struct hop *observation_points_living_hop(struct observation_points *points, uint32_t number);

/* Prepares a slot for another exporter. */
void observation_points_forget(struct observation_points *points, uint32_t exporter);

/* Returns true if unused hops may occupy needed room. */
bool observation_points_want_sweep(const struct observation_points *points);
/* Removes all hops except those with in_use[hop]. */
void observation_points_sweep(struct observation_points *points, const uint8_t *in_use);

/* Returns a number of the slot, its generation and the side: another exporter gets another one. */
static inline uint32_t observation_points_number(
	const struct observation_points *points, uint32_t exporter, uint32_t side)
{
	return (uint32_t)points->generation[exporter] << GENERATION_SHIFT |
	       exporter * OBSERVATION_POINT_SIDES | side;
}

/* Returns true if the slot of the hop still belongs to its exporter. */
static inline bool observation_points_has(
	const struct observation_points *points, const struct hop *hop)
{
	return hop->point == observation_points_number(points, hop->exporter, hop->side);
}

/*
 * Returns the sum of the generations of two exporter slots. It changes if one of the slots is given
 * to another exporter.
 */
static inline uint16_t observation_points_ends_generation(
	const struct observation_points *points, uint32_t ingress, uint32_t egress)
{
	return (uint16_t)(points->generation[ingress] + points->generation[egress]);
}
