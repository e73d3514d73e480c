/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Load shedding of a worker. Splits bursts at the packets where the detail changes. */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "parallel/workers/count.h"
#include "parallel/shed/queue_shedding.h"
#include "parallel/shed/shed_schedule.h"
#include "parallel/shed/shed_setting.h"
#include "sketch/key_sampling.h"

/* Packets that one measurement did not count, modulo 2^64. `added` can decrease. */
struct shed_counts_measurement {
	uint64_t measured, bytes; /* packets that other measurements processed */
	/* shed_counts.added, minus the part that is in this measurement's weights */
	uint64_t added, added_bytes;
	uint64_t unseen, unseen_bytes; /* packets of completely skipped bursts */
	uint64_t weight;               /* largest weight of a counted packet; 0 means 1 */
};

/* Packets that were not compared with the rules of --prefixes. */
struct prefix_shed {
	uint64_t weight;                 /* largest weight of a compared packet; 0 means 1 */
	uint64_t skipped, skipped_bytes; /* sampled ones count for them */
	uint64_t unseen, unseen_bytes;   /* the others */
	uint64_t added, added_bytes;     /* weights minus the matching packets */
};

/* Packets not measured in an epoch. Owned by the worker until it leaves the epoch. */
struct shed_counts {
	uint64_t skipped, skipped_bytes; /* packets that no measurement processed */
	uint64_t unseen, unseen_bytes; /* part of `skipped`: in bursts without a processed packet */
	uint64_t added, added_bytes; /* packets that sampled packets represent besides themselves */
	uint64_t backlog_max;        /* most packets waiting after a poll */
	uint64_t level_max;          /* highest shedding level after a poll */
	struct shed_counts_measurement of[CONFIG_MEASUREMENTS_MAX];
	struct prefix_shed rules;
	/* indexed by rank of the key (sketch/key_sampling.h) */
	struct key_sample_counts left_out[CONFIG_MEASUREMENTS_MAX][KEY_SHARE_MAX];
};

struct shed_counts_burst {
	uint64_t measured, bytes;
	uint64_t skipped, skipped_bytes;
};

/*
 * rarer[k] is the part of the burst in the sample of one in 2^k, for each bit k of state->shifts.
 */
void shed_counts_add(struct shed_counts *counts, const struct burst_shedding *state,
	const struct shed_counts_burst *burst, const struct shed_counts_burst *rarer,
	uint32_t nb_measurements);

struct shed_worker {
	/* Set before start. */
	uint64_t seed;
	const struct steps *steps;
	struct shed_mailbox *line; /* NULL: without a controller in the reporter */
	uint64_t interrupted;      /* TSC cycles; a burst that takes longer was preempted */

	const struct shed_schedule_entry *decisions; /* next entry */
	struct queue_shedding shedding;
	uint64_t backlog; /* packets that waited after the last poll, over all queues */
	uint64_t packet;  /* number of the next packet */
	uint64_t entry;   /* number of the next processed packet with a key */
	struct burst_shed_level level;
	const struct shed_setting *states;
	struct shed_setting decided;
	struct burst_shedding state;     /* combined effect of level and settings */
	uint64_t state_of;               /* epoch for which `state` was computed */
	bool stale;                      /* `state` must be computed again */
	bool remade;                     /* flow tables must be updated to `state` */
	const struct flow_states *flows; /* [CONFIG_MEASUREMENTS_MAX] */
	bool whole;
	struct lookup_sampler sampler;
};

/* Returns true if a burst needs no load shedding: full detail, and no backlog. */
static inline bool shed_worker_is_calm(const struct shed_worker *shed, uint64_t epoch)
{
	return shed->shedding.on && shed->shedding.level == SHED_LEVEL_FULL && shed->backlog == 0 &&
	       shed->whole && shed->state_of == epoch &&
	       (shed->line == NULL || atomic_load_explicit(&shed->line->next,
					      memory_order_relaxed) == shed->states);
}

/* Returns NULL if no lookups are to be timed. */
static inline struct lookup_sampler *shed_worker_sampler(struct shed_worker *shed)
{
	if (shed->line == NULL)
		return NULL;
	shed->sampler.every = atomic_load_explicit(&shed->line->lookup_every, memory_order_relaxed);
	return shed->sampler.every > 0 ? &shed->sampler : NULL;
}

void shed_worker_obey(struct shed_worker *shed, struct shed_counts *counts);

/* Returns for how many of the next n packets the schedule does not change, at least 1. */
uint32_t shed_worker_take(struct shed_worker *shed, uint32_t n);

const struct burst_shedding *shed_worker_state(
	struct shed_worker *shed, const struct counting *counting, uint64_t epoch);

/* Bit i is set if packet i, of the last n that shed_worker_take() returned, is in the sample. */
uint64_t shed_worker_choose(const struct shed_worker *shed, uint32_t n);

/* Returns how many packets of a burst to process, of which `looked_at` are sampled. */
static inline uint32_t shed_worker_cut(
	const struct shed_worker *shed, uint64_t looked_at, uint32_t n)
{
	return shed->shedding.on && shed->shedding.level == SHED_LEVEL_SOME
		       ? queue_shedding_cut(looked_at, n)
		       : n;
}

/*
 * For each bit k of state.shifts, bit i of rarer[k] is set if entry i is in the sample of 1 in 2^k.
 */
void shed_worker_choose_rarer(
	struct shed_worker *shed, uint32_t n, uint64_t rarer[SHED_SHIFT_MAX + 1]);

/*
 * For k <= rarest, bit i of chosen[k] is set if entry i of the last n is in the sample of one in 2^k
 * entries.
 */
void shed_worker_choose_entries(const struct shed_worker *shed, uint32_t n, uint32_t rarest,
	uint64_t chosen[SHED_SHIFT_MAX + 1]);

/* range: entries, one bit each. weighted: false: each is one packet of wire_len bytes. */
void entry_sample_make(struct entry_sample *sample, const struct key_burst *burst, uint64_t range,
	bool weighted, const uint64_t chosen[SHED_SHIFT_MAX + 1], uint32_t shift);

/*
 * samples[k]: for shift state->shift + k; unused if k > 0 is not in state->shifts. skipped: packets
 * of entries outside samples[0].
 */
void shed_counts_add_entries(struct shed_counts *counts, const struct burst_shedding *state,
	const struct entry_sample *samples, const struct shed_counts_burst *skipped,
	uint32_t nb_measurements);

static inline void shed_worker_publish(struct shed_worker *shed, uint32_t n, uint64_t cycles)
{
	const struct queue_shedding *shedding = &shed->shedding;
	struct shed_mailbox *line = shed->line;

	if (line == NULL)
		return;
	shed_mailbox_add(&line->packets[shedding->level], n);
	if (shedding->level == SHED_LEVEL_FULL && cycles < shed->interrupted) {
		shed_mailbox_add(&line->smooth_packets, n);
		shed_mailbox_add(&line->smooth_busy, cycles);
	}
	atomic_store_explicit(&line->backlog, shed->backlog, memory_order_relaxed);
	atomic_store_explicit(&line->shift, shedding->shift, memory_order_relaxed);
}

/* `seed` is the seed of the run. */
void shed_worker_init(struct shed_worker *shed, uint64_t seed, uint32_t worker);

/* Call before start. `schedule` and `steps` must outlive `shed`. */
void shed_worker_decide(struct shed_worker *shed, const struct shed_schedule *schedule,
	const struct steps *steps, uint32_t worker);

/* Call before start. Bursts that take `interrupted` TSC cycles or longer do not count as load. */
void shed_worker_govern(struct shed_worker *shed, struct shed_mailbox *line, uint64_t interrupted);
