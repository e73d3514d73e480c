/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Chooses the share of packets that a worker processes, by the fill level of its queues. A queue is
 * checked after each poll; the resulting level applies to the polled burst. docs/ADAPTIVE.md has
 * the proof. One instance per lcore. No DPDK.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/assertion.h"

#define SHED_QUARTERS  4
/*
 * Shifts of SHED_LEVEL_SOME. At 1/2, every second full burst would exceed SHED_LOOKS_MAX; at 1/4,
 * one in 10^5.
 */
#define SHED_SHIFT_MIN 2
#define SHED_SHIFT_MAX 6
/* Maximum of processed packets of a burst at SHED_LEVEL_SOME. */
#define SHED_LOOKS_MAX 32

enum shed_level {
	SHED_LEVEL_FULL,
	SHED_LEVEL_WAIT,  /* measurements of lower priority skip the burst */
	SHED_LEVEL_SOME,  /* one packet in 2^shift is processed */
	SHED_LEVEL_COUNT, /* no packet is processed */
};

struct queue_shedding {
	bool on; /* set before start */
	uint32_t nb_queues;

	uint8_t level;                   /* enum shed_level */
	uint8_t shift;                   /* shift of SHED_LEVEL_SOME, now or next time */
	uint32_t nb_full[SHED_QUARTERS]; /* number of queues per fill level, in quarters */
	uint32_t nb_waiting;             /* queues that the last poll did not empty */
};

/* Part of a burst that is processed. */
struct burst_shed_level {
	uint8_t level; /* enum shed_level */
	uint8_t shift; /* shift of SHED_LEVEL_SOME; else 0 */
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

/* State of a queue at its last check. */
struct shedding_queue {
	uint8_t quarters; /* full quarters: 0 to 3 */
	bool waiting;     /* the poll did not empty the queue */
};

static inline void queue_shedding_init(struct queue_shedding *shedding, uint32_t nb_queues)
{
	*shedding = (struct queue_shedding){.on = true,
		.nb_queues = nb_queues,
		.shift = SHED_SHIFT_MIN,
		.nb_full = {nb_queues}};
}

/* Returns the full quarters of the fullest queue. */
static inline uint32_t queue_shedding_quarters(const struct queue_shedding *shedding)
{
	uint32_t quarters = SHED_QUARTERS - 1;

	while (quarters > 0 && shedding->nb_full[quarters] == 0)
		quarters--;
	return quarters;
}

/*
 * Raises the level at once to the number of full quarters. Lowers it by one when the queues are two
 * quarters below the level, and to SHED_LEVEL_FULL when they are empty. At SHED_LEVEL_SOME, the
 * sampled share halves after it was too large, and doubles after it was not.
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

/* Updates the fill level of a queue after a poll. */
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

/*
 * Returns the number of packets, at most n, that contain at most SHED_LOOKS_MAX of those set in
 * `looked_at`.
 */
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
