/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * How much a worker looks at, by how full its queues are. A queue is looked at after each poll, and
 * the burst that was polled has the level that follows. docs/ADAPTIVE.md proves what that is good
 * for. Of one lcore; it does not know DPDK.
 */

#include <stdbool.h>
#include <stdint.h>

#define VALVE_QUARTERS  4
/* Of VALVE_SOME. At 1/2 every second full burst would have more than VALVE_LOOKS_MAX, at 1/4 one in
 * 10^5. */
#define VALVE_SHIFT_MIN 2
#define VALVE_SHIFT_MAX 6
/* Of a burst of VALVE_SOME, packets that are looked at, at most. */
#define VALVE_LOOKS_MAX 32

enum shed_level {
	VALVE_FULL,
	VALVE_WAIT,  /* measurements that may */
	VALVE_SOME,  /* one of 2^shift packets is looked at */
	VALVE_COUNT, /* none is */
};

struct queue_shedding {
	bool on; /* written before the start */
	uint32_t nb_queues;

	uint8_t level; /* enum shed_level, */
	uint8_t shift; /* and what VALVE_SOME is, then or next time */
	uint32_t
		nb_full[VALVE_QUARTERS]; /* queues with so many quarters full, at their last look */
	uint32_t nb_waiting;             /* queues of which the last poll did not take all */
};

/* What is looked at of a burst. */
struct burst_shed_level {
	uint8_t level; /* enum shed_level */
	uint8_t shift; /* of VALVE_SOME; else 0 */
};

static inline struct burst_shed_level queue_shedding_burst_level(const struct queue_shedding *valve)
{
	return (struct burst_shed_level){
		valve->level, valve->level == VALVE_SOME ? valve->shift : (uint8_t)0};
}

static inline bool burst_level_equal(struct burst_shed_level a, struct burst_shed_level b)
{
	return a.level == b.level && a.shift == b.shift;
}

/* Of a queue, as it was at the last look. */
struct shedding_queue {
	uint8_t quarters; /* that are full: 0 to 3 */
	bool waiting;     /* the poll did not take all */
};

static inline void queue_shedding_init(struct queue_shedding *valve, uint32_t nb_queues)
{
	*valve = (struct queue_shedding){.on = true,
		.nb_queues = nb_queues,
		.shift = VALVE_SHIFT_MIN,
		.nb_full = {nb_queues}};
}

/* Of the fullest queue. */
static inline uint32_t queue_shedding_quarters(const struct queue_shedding *valve)
{
	uint32_t quarters = VALVE_QUARTERS - 1;

	while (quarters > 0 && valve->nb_full[quarters] == 0)
		quarters--;
	return quarters;
}

/*
 * Up at once, to the level of as many quarters; down by one where the queues have emptied by a
 * quarter more than it took, and to VALVE_FULL where they are empty. What is looked at at
 * VALVE_SOME halves each time that this was not enough, and doubles each time that it was.
 */
static inline void queue_shedding_decide(struct queue_shedding *valve)
{
	uint32_t quarters = queue_shedding_quarters(valve);

	if (quarters > valve->level) {
		valve->level = (uint8_t)quarters;
		if (quarters == VALVE_COUNT && valve->shift < VALVE_SHIFT_MAX)
			valve->shift++;
	} else if (quarters + 2 <= valve->level) {
		valve->level--;
		if (valve->level == VALVE_WAIT && valve->shift > VALVE_SHIFT_MIN)
			valve->shift--;
	} else if (valve->level == VALVE_WAIT && quarters == 0 && valve->nb_waiting == 0) {
		valve->level = VALVE_FULL;
	}
}

/* A poll of the queue has left so much in it. */
static inline void queue_shedding_look(
	struct queue_shedding *valve, struct shedding_queue *queue, uint32_t quarters, bool waiting)
{
	valve->nb_full[queue->quarters]--;
	valve->nb_full[quarters]++;
	valve->nb_waiting += waiting - queue->waiting;
	*queue = (struct shedding_queue){(uint8_t)quarters, waiting};
	queue_shedding_decide(valve);
}

/* Of n packets of which `looked_at` has a bit each, how many it takes to the last that may be. */
static inline uint32_t queue_shedding_cut(uint64_t looked_at, uint32_t n)
{
	uint32_t looks = (uint32_t)__builtin_popcountll(looked_at);

	if (looks <= VALVE_LOOKS_MAX)
		return n;
	for (; looks > VALVE_LOOKS_MAX; looks--)
		looked_at &= ~(UINT64_C(1) << (63 - __builtin_clzll(looked_at)));
	return 64 - (uint32_t)__builtin_clzll(looked_at);
}
