/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Second half of counting: updates the sketches of all measurements with the keys of a burst. The
 * first half fills the burst with 5-tuples, from packets (parallel/workers/reader.h) or from a
 * source that delivers keys.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/hash.h"
#include "key/key_burst.h"
#include "config/config.h"
#include "parallel/workers/drill_down.h"
#include "adapt/costs.h"
#include "sketch/hyperloglog.h"
#include "sketch/key_sampling.h"
#include "sketch/sketch.h"

/* The measurements of a thread, and its bursts. */
struct counting {
	/* Set before start. */
	uint64_t set; /* number of the set of measurements (parallel/run/measurements.h) */
	const struct hash_key *hash_key;
	bool details;  /* true: a measurement needs packet times or TCP flags */
	bool extra;    /* true: a key has a field outside the 5-tuple */
	bool overhead; /* true: a measurement needs the size of IP packets; implies `details` */
	bool tcp;      /* true: a measurement needs TCP fields; implies `details` */
	/* true: idle flows must also be removed while no packets arrive (sketch_ops.remove_idle) */
	bool removes_idle;
	uint32_t nb_measurements;
	sketch_update_fn update[CONFIG_MEASUREMENTS_MAX];
	/* Measurement m counts bursts[key_rule_of[m]]. */
	uint32_t key_rule_of[CONFIG_MEASUREMENTS_MAX];
	uint32_t nb_key_rules;
	const struct key_rule *key_rules[COSTS_KEYS_MAX]; /* key_rules[0] is the 5-tuple */

	/* [nb_key_rules]. The first half fills bursts[0], without hashes. */
	struct key_burst *bursts;
	/*
	 * [nb_key_rules]. The previous burst with weights. Its counters are prefetched while the
	 * first half fills the next burst. NULL: bursts are counted at once.
	 */
	struct key_burst *waiting;
	bool waits; /* true: waiting[] has a burst */

	/* [2]: weights of bursts[0], and of waiting[0] or picked[]. NULL: without weights. */
	struct key_weights *weights;
	void (*fetch[CONFIG_MEASUREMENTS_MAX])(
		const struct sketch *sketch, const struct key_burst *burst);
	sketch_update_fn update_weighted[CONFIG_MEASUREMENTS_MAX];
	uint32_t low_ranked; /* bit m: measurement m does not have the highest priority */

	/* Drill-down (parallel/workers/drill_down.h). */
	bool drill_down; /* true: at least one measurement has drill-down */
	/* Key rule of the networks into which measurement m drills down. */
	uint32_t networks_rule[CONFIG_MEASUREMENTS_MAX];
	/* Key rules that measurement m needs if it has networks, one bit per rule. */
	uint32_t needs[CONFIG_MEASUREMENTS_MAX];
	/* [PICKED_BURSTS]: room for copies of the entries that a measurement counts */
	struct key_burst *picked;
};

#define PICKED_BURSTS 2

/*
 * Masks and hashes the keys of counting->bursts[0]. Updates the sketch and the HyperLogLog of each
 * measurement with them.
 */
void count_keys(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct);

struct stage_timer;
/* As count_keys(), with the time of each part. */
void count_keys_timed(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct stage_timer *timer);

/*
 * Returns the entries of the burst that are inside the networks of measurement m, one bit per
 * entry. bursts[networks_rule[m]] must have hashes.
 */
uint64_t drill_down_entries(
	const struct counting *counting, const struct drill_down_sets *sets, uint32_t m);

/*
 * As count_keys(), with load shedding and drill-down. `state` selects the entries that each
 * measurement counts. Bit i of rarer[k] is set if entry i is in the sample of one in 2^k entries.
 * If a measurement samples keys, the entries of other keys are added to left_out[m], by the rank of
 * the key (sketch/key_sampling.h). A measurement with drill-down counts only entries inside its
 * networks. `timer` is NULL if the burst is not timed.
 */
struct burst_shedding;
void count_some_keys(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct drill_down_sets *sets,
	const struct burst_shedding *state, const uint64_t *rarer,
	struct key_sample_counts (*left_out)[KEY_SHARE_MAX], struct stage_timer *timer);

/*
 * As count_keys(), for a burst with weights. Ignores entries with 0 packets. If counting->waiting
 * is set, counts the previous burst, and exchanges counting->bursts and counting->waiting.
 */
void count_weighted_keys(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct);

/* Counts the burst in counting->waiting, if there is one. Call it before a sketch is read. */
void count_waiting_keys(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct);
