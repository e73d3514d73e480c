/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Load shedding of a worker: measurements wait, packets are sampled 1 in 2^k, or packets are only
 * counted. Each burst has one state. Shed packets are counted in the generation.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "parallel/shed/queue_shedding.h"
#include "parallel/shed/shed_schedule.h"
#include "parallel/shed/shed_setting.h"
#include "sketch/key_sampling.h"

struct counting;

/*
 * Packets of processed bursts that a measurement did not count. Sums: terms may be negative modulo
 * 2^64, as sampling measurements add more.
 */
struct shed_counts_measurement {
	uint64_t measured, bytes;      /* processed by other measurements */
	uint64_t added, added_bytes;   /* what the weights of others add beyond its own */
	uint64_t unseen, unseen_bytes; /* packets of bursts that it did not see at all */
	uint64_t weight;               /* the largest of the bursts that it saw; 0: 1 */
};

/* Packets not measured in an epoch. Owned by the worker until it leaves the epoch. */
struct shed_counts {
	uint64_t skipped, skipped_bytes; /* not processed */
	uint64_t unseen, unseen_bytes;   /* part of them in bursts without any processed packet */
	uint64_t added, added_bytes;     /* what weights add to the measured ones */
	/* Largest values after a poll: waiting packets, as far as known, and shedding level. */
	uint64_t backlog_max, level_max;
	struct shed_counts_measurement of[CONFIG_MEASUREMENTS_MAX];
	/* Keys not counted by a measurement in processed bursts, by rank of the key. */
	struct key_sample_counts left_out[CONFIG_MEASUREMENTS_MAX][KEY_SHARE_MAX];
};

/* Packets of a burst. */
struct shed_counts_burst {
	uint64_t measured, bytes;
	uint64_t skipped, skipped_bytes;
};

/*
 * Adds a burst; rarer[k] is of the measured ones that one of 2^k is, and has a place for each k that
 * the state has.
 */
void shed_counts_add(struct shed_counts *counts, const struct burst_shedding *state,
	const struct shed_counts_burst *burst, const struct shed_counts_burst *rarer,
	uint32_t nb_measurements);

/* Shedding state of a worker. */
struct shed_worker {
	/* Written before the start. */
	uint64_t seed;                               /* seed of the sampling */
	const struct shed_schedule_entry *decisions; /* in the order of packets, with an end */
	const struct steps *steps;                   /* steps of the measurements */
	struct shed_mailbox *line; /* shared with the governor; NULL: there is none */
	uint64_t interrupted;      /* TSC cycles: a burst that took longer was */

	/* Written by the worker. */
	struct queue_shedding shedding;
	uint64_t backlog; /* after the last poll of each queue, of all of them */
	uint64_t packet;  /* the next one */
	uint64_t entry;   /* index of the next processed packet with a key */
	struct burst_shed_level level;
	const struct shed_setting *states;
	struct shed_setting decided; /* these, where a file decides */
	/* Combined state for an epoch. */
	struct burst_shedding state;
	uint64_t state_of;               /* the epoch */
	bool stale;                      /* must be computed again */
	bool remade;                     /* was computed; flow tables are not updated yet */
	const struct flow_states *flows; /* [CONFIG_MEASUREMENTS_MAX], of the states */
	bool whole;                      /* nothing is given up by states */
};

/* Returns true if no packets wait and all are processed, and the state of the epoch is computed. */
static inline bool shed_worker_is_calm(const struct shed_worker *shed, uint64_t epoch)
{
	return shed->shedding.on && shed->shedding.level == SHED_LEVEL_FULL && shed->backlog == 0 &&
	       shed->whole && shed->state_of == epoch &&
	       (shed->line == NULL || atomic_load_explicit(&shed->line->next,
					      memory_order_relaxed) == shed->states);
}

/* The next burst has the level that the valve says, where it is on, and the latest states. */
void shed_worker_obey(struct shed_worker *shed, struct shed_counts *counts);

/*
 * Takes and returns how many of the next n > 0 packets have the same level and state as the first:
 * at least one.
 */
uint32_t shed_worker_take(struct shed_worker *shed, uint32_t n);

/* What level and states come to, of packets that are counted so in the epoch. */
const struct burst_shedding *shed_worker_state(
	struct shed_worker *shed, const struct counting *counting, uint64_t epoch);

/*
 * Of n <= BURST_MAX packets, the last of which is the one before shed->packet, those that are
 * looked at: a bit each.
 */
uint64_t shed_worker_choose(const struct shed_worker *shed, uint32_t n);

/*
 * Of n packets of which `looked_at` has a bit each, how many to the last that the valve lets be
 * looked at. Only its own level has such a limit: what a governor decides says how much is looked at.
 */
static inline uint32_t shed_worker_cut(
	const struct shed_worker *shed, uint64_t looked_at, uint32_t n)
{
	return shed->shedding.on && shed->shedding.level == SHED_LEVEL_SOME
		       ? queue_shedding_cut(looked_at, n)
		       : n;
}

/* Of n entries that were looked at, those that one of 2^k is, in rarer[k] of each k that the state
 * has; and takes them. */
void shed_worker_choose_rarer(
	struct shed_worker *shed, uint32_t n, uint64_t rarer[SHED_SHIFT_MAX + 1]);

static inline void shed_worker_add(_Atomic uint64_t *sum, uint64_t value)
{
	atomic_store_explicit(
		sum, atomic_load_explicit(sum, memory_order_relaxed) + value, memory_order_relaxed);
}

/* Tells the governor, if there is one, of n packets that took so many cycles. */
static inline void shed_worker_publish(struct shed_worker *shed, uint32_t n, uint64_t cycles)
{
	const struct queue_shedding *shedding = &shed->shedding;
	struct shed_mailbox *line = shed->line;

	if (line == NULL)
		return;
	shed_worker_add(&line->packets[shedding->level], n);
	if (shedding->level == SHED_LEVEL_FULL && cycles < shed->interrupted) {
		shed_worker_add(&line->smooth_packets, n);
		shed_worker_add(&line->smooth_busy, cycles);
	}
	atomic_store_explicit(&line->backlog, shed->backlog, memory_order_relaxed);
	atomic_store_explicit(&line->shift, shedding->shift, memory_order_relaxed);
}

/* `seed`: the run's. The valve is off, and nothing is decided beforehand. */
void shed_worker_init(struct shed_worker *shed, uint64_t seed, uint32_t worker);

/* Before the start: decides so of the worker. Both outlive it. */
void shed_worker_decide(struct shed_worker *shed, const struct shed_schedule *schedule,
	const struct steps *steps, uint32_t worker);

/*
 * Before the start: who reads the line decides, too. It begins with what the keeper has. A burst of
 * `interrupted` TSC cycles or more says nothing about what packets take: something else had the CPU.
 */
void shed_worker_govern(struct shed_worker *shed, struct shed_mailbox *line, uint64_t interrupted);
