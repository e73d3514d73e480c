/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What a worker gives up so as to lose no packet: measurements wait, one of 2^k packets is looked
 * at, or none is. Each burst has one state. What was given up is counted in the generation.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "parallel/valve.h"

enum keep_up {
	KEEP_UP_OFF,
	KEEP_UP_VALVE, /* a worker's queues decide */
};

struct keep_up_options {
	enum keep_up keep_up;
	const char *states_from; /* NULL: nothing is decided beforehand */
};

OPTION_OWNER(keep_up)

/* Of a measurement. */
struct priority_options {
	uint32_t priority; /* 1 is the best */
};

OPTION_OWNER_OF_MEASUREMENT(priority)

/* Whether a run may give anything up. */
static inline bool keep_up_given(const struct config *config)
{
	return keep_up_options(config)->keep_up != KEEP_UP_OFF ||
	       keep_up_options(config)->states_from != NULL;
}

#define KEEP_UP_SHIFT_MAX VALVE_SHIFT_MAX /* weights are 2 to 64: docs/ESTIMATES.md counts on it */

/* Of a burst. */
struct burst_state {
	bool wait;       /* those measurements do that others come before (counting->low_ranked) */
	bool count_only; /* no packet is looked at */
	uint8_t shift;   /* one of 2^shift is; it counts 2^shift */
};

/* Packets of bursts that a measurement did not see, while others did. */
struct kept_of_measurement {
	uint64_t measured, bytes;        /* looked at for others */
	uint64_t added, added_bytes;     /* what their weights add to them */
	uint64_t skipped, skipped_bytes; /* beside them, not looked at */
	uint64_t weight;                 /* the largest of the bursts that it saw; 0: 1 */
};

/* What was given up in an epoch. Of a generation: the worker's while the epoch is its own. */
struct kept {
	uint64_t skipped, skipped_bytes; /* not looked at */
	uint64_t unseen, unseen_bytes;   /* of them, in bursts of which none was */
	uint64_t added, added_bytes;     /* what weights add to the measured ones */
	/* After a poll: packets that waited, as far as that is known, and level of the valve. */
	uint64_t backlog_max, level_max;
	struct kept_of_measurement of[CONFIG_MEASUREMENTS_MAX];
};

/* Adds a burst of which measurements that wait, a bit each, saw nothing. */
void kept_add(struct kept *kept, const struct kept_of_measurement *burst, uint32_t waits,
	uint32_t nb_measurements);

/* From a packet of a worker on. */
struct keep_up_decision {
	uint64_t packet; /* its number among those that came to the worker, from 0 */
	struct burst_state state;
};

/* A worker's. */
struct keeper {
	/* Written before the start. */
	uint64_t seed; /* of what is looked at */
	/* In the order of packets; they end with one at UINT64_MAX. */
	const struct keep_up_decision *decisions;

	/* Written by the worker. */
	struct valve valve;
	uint64_t backlog; /* after the last poll */
	uint64_t packet;  /* the next one */
	struct burst_state state;
};

/* Nothing waits, and all is looked at. */
static inline bool keeper_is_calm(const struct keeper *keeper)
{
	return keeper->valve.on && keeper->valve.level == VALVE_FULL && keeper->backlog == 0;
}

/* The next burst has the state that the valve says, where it is on. */
void keeper_obey(struct keeper *keeper, struct kept *kept);

/*
 * How many of the next n > 0 packets have the state that is now keeper->state, and takes them. At
 * least one.
 */
uint32_t keeper_take(struct keeper *keeper, uint32_t n);

/*
 * Of n <= BURST_MAX packets, the last of which is the one before keeper->packet, those that are
 * looked at: a bit each.
 */
uint64_t keeper_choose(const struct keeper *keeper, uint32_t n);

/* Decisions of all workers, read from a file. */
struct keep_up_states {
	uint32_t nb_workers;
	struct keep_up_decision_list {
		struct keep_up_decision *decisions; /* from malloc() */
		uint32_t n;
	} * of; /* [nb_workers] */
};

/* `states` outlives it; NULL: none are given. `seed`: the run's. The valve is off. */
void keeper_init(
	struct keeper *keeper, const struct keep_up_states *states, uint64_t seed, uint32_t worker);

#define KEEP_UP_ERROR_MAX 512

/*
 * Reads a file of states: CSV, of whose columns worker, packet and to count. NULL with one line in
 * error[KEEP_UP_ERROR_MAX].
 */
struct keep_up_states *keep_up_states_read(const char *path, uint32_t nb_workers, char *error);
void keep_up_states_free(struct keep_up_states *states); /* NULL is allowed */
