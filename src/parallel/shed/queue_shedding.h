/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Queue shedding: selects the share of packets that a worker processes, by the fill level of its
 * receive queues. After each poll of a queue, its fill level determines the shedding level of the
 * polled burst. docs/ADAPTIVE.md has the proof that no packet is lost, and its conditions. One
 * instance per lcore.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/assertion.h"

/* Fill levels of a queue are in quarters of its descriptors. */
#define SHED_QUARTERS  4
/*
 * SHED_LEVEL_SOME samples one in 2^shift packets. The largest rate is 1/4, because a sample of a
 * full burst then has more than SHED_LOOKS_MAX packets only in one of 10^5 bursts.
 */
#define SHED_SHIFT_MIN 2
#define SHED_SHIFT_MAX 6
/* SHED_LEVEL_SOME processes at most this number of packets of a burst. */
#define SHED_LOOKS_MAX 32

enum shed_level {
	SHED_LEVEL_FULL,
	SHED_LEVEL_WAIT,  /* only measurements of the highest priority process packets */
	SHED_LEVEL_SOME,  /* these measurements process only one in 2^shift packets */
	SHED_LEVEL_COUNT, /* packets are only counted, not processed */
};

struct queue_shedding {
	bool on; /* set before start */
	uint32_t nb_queues;

	uint8_t level;                   /* enum shed_level */
	uint8_t shift;                   /* sampling rate of SHED_LEVEL_SOME: 1/2^shift */
	uint32_t nb_full[SHED_QUARTERS]; /* number of queues with 0 to 3 full quarters */
	uint32_t nb_waiting;             /* number of queues that were not empty after their poll */
};

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

/* State of a queue after its last poll. */
struct shedding_queue {
	uint8_t quarters; /* number of full quarters, 0 to 3 */
	bool waiting;     /* true: the queue was not empty */
};

static inline void queue_shedding_init(struct queue_shedding *shedding, uint32_t nb_queues)
{
	*shedding = (struct queue_shedding){.on = true,
		.nb_queues = nb_queues,
		.shift = SHED_SHIFT_MIN,
		.nb_full = {nb_queues}};
}

/* Returns the number of full quarters of the fullest queue. */
static inline uint32_t queue_shedding_quarters(const struct queue_shedding *shedding)
{
	uint32_t quarters = SHED_QUARTERS - 1;

	while (quarters > 0 && shedding->nb_full[quarters] == 0)
		quarters--;
	return quarters;
}

/*
 * Updates the level. The level increases at once to the number of full quarters of the fullest
 * queue. It decreases by one if this number is 2 or more below the level, and from SHED_LEVEL_WAIT
 * to SHED_LEVEL_FULL if all queues are empty.
 *
 * Halves the sampling rate each time the level reaches SHED_LEVEL_COUNT, because the rate was too
 * high. Doubles it each time the level returns to SHED_LEVEL_WAIT.
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

/* Updates the fill level of a queue after its poll, and then the shedding level. */
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
 * Shortens a burst of n packets so that at most SHED_LOOKS_MAX of its packets are in the sample.
 * Bit i of looked_at is set if packet i is in the sample. Returns the new number of packets.
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
