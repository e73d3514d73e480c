/* SPDX-License-Identifier: BSD-3-Clause */

#include "collect/dedup/observers.h"

#include "base/power_of_two.h"
#include "base/random.h"

#define HOPS_OF_EXPORTER 16
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define HOPS_LEAST 8 /* hops per exporter for which inputs are enough */
#else
#define HOPS_LEAST 4096
#endif
#define HOPS_QUOTA  4 /* an exporter has at most one hop in HOPS_QUOTA */
#define GENERATIONS (UINT32_C(1) << (32 - GENERATION_SHIFT))

_Static_assert(OBSERVATION_POINT_SLOTS *OBSERVATION_POINT_SIDES == 1 << GENERATION_SHIFT,
	"slots and sides");

static uint32_t room(uint32_t exporters)
{
	uint64_t hops = (uint64_t)exporters * HOPS_OF_EXPORTER + HOPS_LEAST;

	return hops < HOPS_MAX ? (uint32_t)hops : HOPS_MAX - 1;
}

static uint32_t index_size(uint32_t exporters)
{
	return (uint32_t)power_of_two_at_least((uint64_t)room(exporters) * 2);
}

static size_t hops_bytes(uint32_t exporters)
{
	return room(exporters) * sizeof(struct hop);
}

static size_t index_bytes(uint32_t exporters)
{
	return index_size(exporters) * sizeof(uint32_t);
}

static size_t generation_bytes(uint32_t exporters)
{
	return exporters * sizeof(uint16_t);
}

static size_t taken_bytes(uint32_t exporters)
{
	return exporters * sizeof(uint32_t);
}

size_t observation_points_memory(uint32_t exporters)
{
	return hops_bytes(exporters) + index_bytes(exporters) + generation_bytes(exporters) +
	       taken_bytes(exporters);
}

bool observation_points_init(struct observation_points *points, uint32_t exporters, uint64_t seed,
	const struct sketch_allocator *allocator)
{
	*points = (struct observation_points){
		.hops = allocator->alloc(hops_bytes(exporters), allocator->arg),
		.index = allocator->alloc(index_bytes(exporters), allocator->arg),
		.generation = allocator->alloc(generation_bytes(exporters), allocator->arg),
		.taken = allocator->alloc(taken_bytes(exporters), allocator->arg),
		.seed = random_mix(seed + 1),
		.nb_exporters = exporters,
		.hops_max = room(exporters),
		.free_hops = HOP_NONE,
		.mask = index_size(exporters) - 1,
	};
	return points->hops && points->index && points->generation && points->taken;
}

static void release(const struct sketch_allocator *allocator, void *memory, size_t size)
{
	if (memory)
		allocator->free(memory, size, allocator->arg);
}

void observation_points_fini(
	struct observation_points *points, const struct sketch_allocator *allocator)
{
	release(allocator, points->hops, hops_bytes(points->nb_exporters));
	release(allocator, points->index, index_bytes(points->nb_exporters));
	release(allocator, points->generation, generation_bytes(points->nb_exporters));
	release(allocator, points->taken, taken_bytes(points->nb_exporters));
}

static uint32_t home(
	const struct observation_points *points, uint32_t point, uint32_t input, uint32_t output)
{
	uint64_t mixed = random_mix(((uint64_t)input << 32 | output) ^ points->seed) + point;

	return (uint32_t)random_mix(mixed ^ points->seed) & points->mask;
}

/* Returns the index position of a hop, or the free one for it. */
static uint32_t find_point(
	const struct observation_points *points, uint32_t point, uint32_t input, uint32_t output)
{
	uint32_t at = home(points, point, input, output);

	for (; points->index[at]; at = (at + 1) & points->mask) {
		const struct hop *hop = &points->hops[points->index[at] - 1];

		if (hop->point == point && hop->input == input && hop->output == output)
			break;
	}
	return at;
}

static uint32_t take_hop(struct observation_points *points)
{
	uint32_t number = points->free_hops;

	if (number != HOP_NONE)
		points->free_hops = points->hops[number].next_free;
	else if (points->nb_hops < points->hops_max)
		number = points->nb_hops++;
	return number;
}

/* Returns true if the exporter may have another pair of interfaces. */
static bool has_room(const struct observation_points *points, uint32_t exporter)
{
	if (points->taken[exporter] >= points->hops_max / HOPS_QUOTA)
		return false;
	return points->free_hops != HOP_NONE ||
	       points->hops_max - points->nb_hops >= points->nb_exporters;
}

/* Adds a hop; without interfaces if the limit is reached. */
static uint32_t add_hop(struct observation_points *points, const struct observation *observation,
	uint32_t point, uint32_t at)
{
	uint32_t input = observation->input, output = observation->output;
	uint32_t number;

	if (!has_room(points, observation->exporter)) {
		points->turned_away = true;
		input = output = 0;
		at = find_point(points, point, 0, 0);
		if (points->index[at])
			return points->index[at] - 1;
	}
	number = take_hop(points);
	if (number == HOP_NONE)
		return HOP_NONE;
	points->hops[number] = (struct hop){
		.point = point,
		.exporter = observation->exporter,
		.input = input,
		.output = output,
		.next = EXPORTER_NONE,
		.side = observation->side,
		.used = true,
	};
	points->index[at] = number + 1;
	points->taken[observation->exporter]++;
	points->used++;
	return number;
}

static void set_next(const struct observation_points *points, struct hop *hop, uint32_t next)
{
	uint16_t generation = next == EXPORTER_NONE ? 0 : points->generation[next];

	if (hop->next == next && hop->next_generation == generation)
		return;
	hop->next = next;
	hop->next_generation = generation;
}

uint32_t observation_points_hop(
	struct observation_points *points, const struct observation *observation)
{
	uint32_t point =
		observation_points_number(points, observation->exporter, observation->side);
	uint32_t at = find_point(points, point, observation->input, observation->output);
	uint32_t number =
		points->index[at] ? points->index[at] - 1 : add_hop(points, observation, point, at);
	uint16_t ends =
		observation->flags & (OBSERVATION_ENTERS | OBSERVATION_LEAVES | OBSERVATION_EDGES);

	if (number == HOP_NONE)
		return HOP_NONE;
	if (points->hops[number].flags != ends)
		points->hops[number].flags = ends;
	set_next(points, &points->hops[number], observation->next);
	return number;
}

const struct hop *observation_points_living_hop(struct observation_points *points, uint32_t number)
{
	struct hop *hop = &points->hops[number];

	if (!observation_points_has(points, hop))
		return NULL;
	if (hop->next != EXPORTER_NONE && hop->next_generation != points->generation[hop->next])
		hop->next = EXPORTER_NONE;
	return hop;
}

void observation_points_forget(struct observation_points *points, uint32_t exporter)
{
	uint32_t next = (points->generation[exporter] + UINT32_C(1)) % GENERATIONS;

	points->generation[exporter] = (uint16_t)next;
	points->taken[exporter] = 0;
}

bool observation_points_want_sweep(const struct observation_points *points)
{
	return points->turned_away || points->used > points->hops_max / 2;
}

static void evict_point(struct observation_points *points, uint32_t number)
{
	struct hop *hop = &points->hops[number];

	if (observation_points_has(points, hop))
		points->taken[hop->exporter]--;
	points->used--;
	*hop = (struct hop){.next_free = points->free_hops};
	points->free_hops = number;
}

void observation_points_sweep(struct observation_points *points, const uint8_t *in_use)
{
	for (uint32_t at = 0; at <= points->mask; at++)
		points->index[at] = 0;
	for (uint32_t number = 0; number < points->nb_hops; number++) {
		const struct hop *hop = &points->hops[number];

		if (!hop->used)
			continue;
		if (!in_use[number]) {
			evict_point(points, number);
			continue;
		}
		points->index[find_point(points, hop->point, hop->input, hop->output)] = number + 1;
	}
	points->turned_away = false;
}
