/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Updates the sketches of all measurements with the keys of a burst. */

#include <stdbool.h>
#include <stdint.h>

#include "key/hash.h"
#include "key/key_burst.h"
#include "config/config.h"
#include "parallel/workers/drill_down.h"
#include "adapt/costs.h"
#include "parallel/shed/queue_shedding.h"
#include "sketch/hyperloglog.h"
#include "sketch/key_sampling.h"
#include "sketch/sketch.h"

struct counting {
	/* Set before start. */
	uint64_t set; /* number of the struct measurements */
	const struct hash_key *hash_key;
	bool details;  /* a measurement needs packet times or TCP flags */
	bool overhead; /* a measurement needs the size of IP packets; implies `details` */
	bool tcp;      /* a measurement needs TCP fields; implies `details` */
	/* idle flows must be removed even while no packets arrive */
	bool removes_idle;
	uint32_t extra; /* fields of keys outside the 5-tuple, one bit each */
	uint32_t nb_measurements;
	sketch_update_fn update[CONFIG_MEASUREMENTS_MAX];
	/* Measurement m counts bursts[key_rule_of[m]]. */
	uint32_t key_rule_of[CONFIG_MEASUREMENTS_MAX];
	uint32_t nb_key_rules;
	const struct key_rule *key_rules[COSTS_KEYS_MAX]; /* key_rules[0] is the 5-tuple */

	/* [nb_key_rules]; the parser fills bursts[0] */
	struct key_burst *bursts;
	/* [nb_key_rules]: the previous burst, for prefetching. NULL: without prefetching */
	struct key_burst *waiting;
	const sketch_update_fn *waits; /* updates of the waiting burst; NULL: none waits */

	/* [2]: for bursts[0], and for waiting[0] or picked[]; NULL: packets have no weights */
	struct key_weights *weights;
	void (*fetch[CONFIG_MEASUREMENTS_MAX])(
		const struct sketch *sketch, const struct key_burst *burst);
	sketch_update_fn update_weighted[CONFIG_MEASUREMENTS_MAX];
	bool samples_lookups; /* no other thread updates the sketches */
	uint32_t low_ranked;  /* bit m: another measurement has a higher priority than m */

	bool drill_down;
	/* Key rule of the networks of measurement m. */
	uint32_t networks_rule[CONFIG_MEASUREMENTS_MAX];
	/* Bit r: measurement m needs key rule r if it has networks. */
	uint32_t needs[CONFIG_MEASUREMENTS_MAX];
	/* [PICKED_BURSTS]: copies of the entries that a measurement counts */
	struct key_burst *picked;
};

#define PICKED_BURSTS 2

/* Times lookups before they are counted, to estimate the time per packet (adapt/formula.h). */
struct lookup_sampler {
	struct shed_mailbox *line;              /* gets the results; NULL: no sampling */
	uint32_t every;                         /* packets per timed lookup; 0: no lookups */
	uint32_t next[CONFIG_MEASUREMENTS_MAX]; /* packets before the next sampled one */
};

/*
 * Updates the sketches of all measurements with the 5-tuples in counting->bursts[0]. With
 * counting->waiting, counts the previous burst and swaps both.
 */
void count_keys(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct);

struct stage_timer;
void count_keys_timed(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct stage_timer *timer);

/* Counts the burst at once, with sampled lookups. */
void count_keys_sampled(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct lookup_sampler *sampler);

/* Bit i is set if entry i is inside the networks of measurement m. */
uint64_t drill_down_entries(
	const struct counting *counting, const struct drill_down_sets *sets, uint32_t m);

/*
 * Bit i of rarer[k]: entry i is in the sample of one in 2^k entries. left_out[m] gets the entries
 * whose keys measurement m does not sample, by rank of the key (sketch/key_sampling.h).
 */
struct burst_shedding;
void count_some_keys(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct drill_down_sets *sets,
	const struct burst_shedding *state, const uint64_t *rarer,
	struct key_sample_counts (*left_out)[KEY_SHARE_MAX], struct lookup_sampler *sampler,
	struct stage_timer *timer);

/*
 * The part of a burst of keys that is processed if one in 2^shift packets is sampled. An entry of w
 * packets is sampled with probability 1 / 2^s and then counts for w 2^s, where s is the largest
 * number with w 2^s <= 2^shift, or 0. So the bounds are those of sampled packets (docs/ESTIMATES.md).
 */
struct entry_sample {
	uint64_t entries[SHED_SHIFT_MAX + 1]; /* sampled entries, by s */
	uint64_t measured, bytes;             /* packets and bytes of sampled entries */
	uint64_t added, added_bytes;          /* the weights of these minus the two above */
};

/*
 * Counts the sampled entries of counting->bursts[0]. samples[k] is for the measurements with
 * rarer[m] = k. weighted: the entries have weights.
 */
void count_some_entries(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct drill_down_sets *sets,
	const struct burst_shedding *state, bool weighted, const struct entry_sample *samples,
	struct key_sample_counts (*left_out)[KEY_SHARE_MAX]);

/* Removes entries with 0 packets. */
void count_leave_empty_out(struct key_burst *burst);

/* Ignores entries with 0 packets. Otherwise like count_keys(). */
void count_weighted_keys(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct);

/* Must be called before a sketch is read. */
void count_waiting_keys(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct);
void count_waiting_keys_timed(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct stage_timer *timer);
