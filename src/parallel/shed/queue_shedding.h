/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Selects the share of packets that a worker processes, by the fill level of its receive queues
 * (docs/ADAPTIVE.md).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/assertion.h"

#define SHED_QUARTERS  4
/* With 1 in 2^2, a full burst exceeds SHED_LOOKS_MAX samples only once in 10^5 bursts. */
#define SHED_SHIFT_MIN 2
#define SHED_SHIFT_MAX 6
/* Most packets of a burst that SHED_LEVEL_SOME processes. */
#define SHED_LOOKS_MAX 32

enum shed_level {
	SHED_LEVEL_FULL,
	SHED_LEVEL_WAIT,  /* only measurements of the highest priority process packets */
	SHED_LEVEL_SOME,  /* like SHED_LEVEL_WAIT, and only for one in 2^shift packets */
	SHED_LEVEL_COUNT, /* packets are only counted */
};

struct queue_shedding {
	bool on;
	uint32_t nb_queues;

	uint8_t level;                   /* enum shed_level */
	uint8_t shift;                   /* SHED_LEVEL_SOME samples one in 2^shift packets */
	uint32_t nb_full[SHED_QUARTERS]; /* [q]: queues with q full quarters */
	uint32_t nb_waiting;             /* queues that still had packets after their last poll */
};

struct burst_shed_level {
	uint8_t level;
	uint8_t shift;
};

static inline struct burst_shed_level queue_shedding_burst_level(
	const struct queue_shedding *shedding)
{
	return (struct burst_shed_level){
		shedding->level, shedding->level == SHED_LEVEL_SOME ? shedding->shift : (uint8_t)0};
}

static inline bool burst_shed_level_equal(struct burst_shed_level a, struct burst_shed_level b)
{
	return a.level == b.level && a.shift == b.shift;
}

struct shedding_queue {
	uint8_t quarters; /* full quarters of the descriptors at the last poll, 0 to 3 */
	bool waiting;
};

static inline void queue_shedding_init(struct queue_shedding *shedding, uint32_t nb_queues)
{
	*shedding = (struct queue_shedding){.on = true,
		.nb_queues = nb_queues,
		.shift = SHED_SHIFT_MIN,
		.nb_full = {nb_queues}};
}

static inline uint32_t queue_shedding_quarters(const struct queue_shedding *shedding)
{
	uint32_t quarters = SHED_QUARTERS - 1;

	while (quarters > 0 && shedding->nb_full[quarters] == 0)
		quarters--;
	return quarters;
}

/*
 * The level rises at once to the full quarters of the fullest queue, and falls slowly. If it
 * reaches SHED_LEVEL_COUNT, the sampling rate was too high, so it is halved.
 */
static inline void queue_shedding_decide(struct queue_shedding *shedding)
{
	uint32_t quarters = queue_shedding_quarters(shedding);

	if (quarters > shedding->level) {
		shedding->level = (uint8_t)quarters;
		if (quarters == SHED_LEVEL_COUNT && shedding->shift < SHED_SHIFT_MAX)
			shedding->shift++;
	} else if (quarters + 2 <= shedding->level) {
		shedding->level--;
		if (shedding->level == SHED_LEVEL_WAIT && shedding->shift > SHED_SHIFT_MIN)
			shedding->shift--;
	} else if (shedding->level == SHED_LEVEL_WAIT && quarters == 0 &&
		   shedding->nb_waiting == 0) {
		shedding->level = SHED_LEVEL_FULL;
	}
}

static inline void queue_shedding_look(struct queue_shedding *shedding,
	struct shedding_queue *queue, uint32_t quarters, bool waiting)
{
	ASSERT(quarters, <, SHED_QUARTERS);
	ASSERT(shedding->nb_full[queue->quarters], >, 0);
	shedding->nb_full[queue->quarters]--;
	shedding->nb_full[quarters]++;
	shedding->nb_waiting += waiting - queue->waiting;
	*queue = (struct shedding_queue){(uint8_t)quarters, waiting};
	queue_shedding_decide(shedding);
}

/* Shortens a burst of n packets to at most SHED_LOOKS_MAX sampled ones (bits of looked_at). */
static inline uint32_t queue_shedding_cut(uint64_t looked_at, uint32_t n)
{
	uint32_t looks = (uint32_t)__builtin_popcountll(looked_at);

	ASSERT(n, <=, 64);
	if (looks <= SHED_LOOKS_MAX)
		return n;
	for (; looks > SHED_LOOKS_MAX; looks--)
		looked_at &= ~(UINT64_C(1) << (63 - __builtin_clzll(looked_at)));
	return 64 - (uint32_t)__builtin_clzll(looked_at);
}
