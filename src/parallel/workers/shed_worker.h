/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Load shedding of a worker: some measurements skip packets, packets are sampled 1 in 2^k, or
 * packets are only counted. All packets of a part of a burst have the same state. The generation
 * counts shed packets.
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
 * Packets of processed bursts that a measurement did not count. Terms of the sums may be negative
 * modulo 2^64, because a sampling measurement adds larger weights.
 */
struct shed_counts_measurement {
	uint64_t measured, bytes;      /* processed by other measurements */
	uint64_t added, added_bytes;   /* added by the weights of others beyond its own */
	uint64_t unseen, unseen_bytes; /* packets of bursts that it skipped completely */
	uint64_t weight;               /* largest weight of its bursts; 0: 1 */
};

/* Packets not measured in an epoch. Owned by the worker until it leaves the epoch. */
struct shed_counts {
	uint64_t skipped, skipped_bytes; /* not processed */
	uint64_t unseen, unseen_bytes;   /* part of them in bursts without any processed packet */
	uint64_t added, added_bytes;     /* unmeasured packets that sampled ones stand for */
	/* Largest values after a poll: known waiting packets, and shedding level. */
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
 * Adds a burst. rarer[k]: the measured packets in the 1-in-2^k sample, for each k that the state
 * has.
 */
void shed_counts_add(struct shed_counts *counts, const struct burst_shedding *state,
	const struct shed_counts_burst *burst, const struct shed_counts_burst *rarer,
	uint32_t nb_measurements);

/* Shedding state of a worker. */
struct shed_worker {
	/* Set before start. */
	uint64_t seed;                               /* seed of the sampling */
	const struct shed_schedule_entry *decisions; /* ordered by packet, with a final entry */
	const struct steps *steps;                   /* steps of the measurements */
	struct shed_mailbox *line;                   /* shared with the reporter; NULL: none */
	uint64_t interrupted;                        /* TSC cycles; a longer burst was preempted */

	/* Owned by the worker. */
	struct queue_shedding shedding;
	uint64_t backlog; /* waiting packets, sum of the last polls of all queues */
	uint64_t packet;  /* index of the next packet */
	uint64_t entry;   /* index of the next processed packet with a key */
	struct burst_shed_level level;
	const struct shed_setting *states;
	struct shed_setting decided; /* settings of the schedule */
	/* Combined effect of level and settings in an epoch. */
	struct burst_shedding state;
	uint64_t state_of;               /* epoch of `state` */
	bool stale;                      /* `state` must be computed again */
	bool remade;                     /* `state` was computed; flow tables are not updated yet */
	const struct flow_states *flows; /* [CONFIG_MEASUREMENTS_MAX], current flow detail */
	bool whole;                      /* the settings keep full detail */
};

/* Returns true if no packets wait, all are processed, and the state of the epoch is current. */
static inline bool shed_worker_is_calm(const struct shed_worker *shed, uint64_t epoch)
{
	return shed->shedding.on && shed->shedding.level == SHED_LEVEL_FULL && shed->backlog == 0 &&
	       shed->whole && shed->state_of == epoch &&
	       (shed->line == NULL || atomic_load_explicit(&shed->line->next,
					      memory_order_relaxed) == shed->states);
}

/* Applies the level of queue shedding, if enabled, and the newest settings to the next burst. */
void shed_worker_obey(struct shed_worker *shed, struct shed_counts *counts);

/*
 * Takes some of the next n > 0 packets: those with the same state as the first. Returns their
 * number, at least 1.
 */
uint32_t shed_worker_take(struct shed_worker *shed, uint32_t n);

/* Returns the combined effect of level and settings in the epoch. */
const struct burst_shedding *shed_worker_state(
	struct shed_worker *shed, const struct counting *counting, uint64_t epoch);

/*
 * Returns the packets to process of the n <= BURST_MAX packets before shed->packet, one bit each.
 */
uint64_t shed_worker_choose(const struct shed_worker *shed, uint32_t n);

/*
 * Returns the number of packets, at most n, that queue shedding allows to process. Only its own
 * level has this limit; settings of the reporter fix the share instead.
 */
static inline uint32_t shed_worker_cut(
	const struct shed_worker *shed, uint64_t looked_at, uint32_t n)
{
	return shed->shedding.on && shed->shedding.level == SHED_LEVEL_SOME
		       ? queue_shedding_cut(looked_at, n)
		       : n;
}

/*
 * Sets rarer[k] to the entries in the 1-in-2^k sample, one bit each, for each k that the state has.
 * Takes the n processed entries.
 */
void shed_worker_choose_rarer(
	struct shed_worker *shed, uint32_t n, uint64_t rarer[SHED_SHIFT_MAX + 1]);

static inline void shed_worker_add(_Atomic uint64_t *sum, uint64_t value)
{
	atomic_store_explicit(
		sum, atomic_load_explicit(sum, memory_order_relaxed) + value, memory_order_relaxed);
}

/* Reports n packets and their TSC cycles to the reporter, if it decides. */
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

/* Initializes without queue shedding and without a schedule. seed: seed of the run. */
void shed_worker_init(struct shed_worker *shed, uint64_t seed, uint32_t worker);

/* Sets the schedule. Call before start. Both arguments must outlive `shed`. */
void shed_worker_decide(struct shed_worker *shed, const struct shed_schedule *schedule,
	const struct steps *steps, uint32_t worker);

/*
 * Lets the reporter decide through the mailbox, which starts with the current settings. Call before
 * start. Bursts of `interrupted` TSC cycles or more were preempted and do not count as load.
 */
void shed_worker_govern(struct shed_worker *shed, struct shed_mailbox *line, uint64_t interrupted);
