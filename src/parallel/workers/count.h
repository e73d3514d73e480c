/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Second half of counting: updates the sketches of every measurement from a burst of 5-tuples. The
 * first half fills the burst from packets (parallel/workers/worker.c) or other input that has keys.
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

/* Counting of one thread. */
struct counting {
	/* Set before start. */
	uint64_t set; /* number of the set of measurements (parallel/run/measurements.h) */
	const struct hash_key *hash_key;
	bool details;  /* a measurement needs times or TCP flags */
	bool extra;    /* a key has a field outside the 5-tuple */
	bool overhead; /* a measurement needs the size of IP packets; details is then set too */
	bool tcp;      /* a measurement needs TCP fields; details is then set too */
	bool rests;    /* a measurement must also be called if no packets arrive */
	uint32_t nb_measurements;
	sketch_update_fn update[CONFIG_MEASUREMENTS_MAX];
	/* Measurement m counts bursts[key_rule_of[m]]. */
	uint32_t key_rule_of[CONFIG_MEASUREMENTS_MAX];
	uint32_t nb_key_rules;
	const struct key_rule *key_rules[COSTS_KEYS_MAX]; /* the first is the 5-tuple */

	/* [nb_key_rules]; bursts[0] is filled by the first half, but for its hashes. */
	struct key_burst *bursts;
	/*
	 * [nb_key_rules]. A burst with weights waits here until its counters are in cache, while
	 * the next burst is filled. NULL: bursts do not wait.
	 */
	struct key_burst *waiting;
	bool waits; /* waiting[] has a burst */

	/* weights of bursts[0], then of waiting[0] or picked; NULL: entries are packets */
	struct key_weights *weights;
	void (*fetch[CONFIG_MEASUREMENTS_MAX])(
		const struct sketch *sketch, const struct key_burst *burst);
	sketch_update_fn update_weighted[CONFIG_MEASUREMENTS_MAX];
	uint32_t low_ranked; /* measurements that load shedding skips first */

	/* Measurements with drill-down (parallel/workers/drill_down.h). */
	bool drill_down;                                 /* a measurement has drill-down */
	uint32_t networks_rule[CONFIG_MEASUREMENTS_MAX]; /* key rule of its networks */
	/* Key rules needed for all packets if there are networks, one bit each. */
	uint32_t needs[CONFIG_MEASUREMENTS_MAX];
	/* [PICKED_BURSTS]: entries that a measurement counts, with their keys */
	struct key_burst *picked;
};

#define PICKED_BURSTS 2

/* Masks, hashes, and updates sketch[nb_measurements] and distinct[nb_measurements]. */
void count_keys(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct);

struct stage_timer;
/* As count_keys(), with the time of each part. */
void count_keys_timed(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct stage_timer *timer);

/*
 * Returns the entries of the burst that measurement m counts, one bit each. The keys of its
 * networks must be hashed.
 */
uint64_t drill_down_entries(
	const struct counting *counting, const struct drill_down_sets *sets, uint32_t m);

/*
 * As count_keys(), under a shedding state. counting->bursts[0] has lengths, and room for weights if
 * packets are sampled. rarer[k]: entries of the 1-in-2^k sample, one bit each. Measurements with
 * drill-down count only entries inside their networks. Measurements that count a share of their
 * keys add the others to sifted[m], by rank. timer: NULL if the burst is not timed.
 */
struct burst_shedding;
void count_some_keys(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct, struct drill_down_sets *sets,
	const struct burst_shedding *state, const uint64_t *rarer,
	struct key_sample_counts (*left_out)[KEY_SHARE_MAX], struct stage_timer *timer);

/*
 * As count_keys(), for a burst with weights. Entries of 0 packets are skipped. If bursts wait, the
 * previous burst is counted, and counting->bursts then points to other bursts.
 */
void count_weighted_keys(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct);

/* Counts the waiting burst, if any. Call it before the sketches are read. */
void count_waiting_keys(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct);
