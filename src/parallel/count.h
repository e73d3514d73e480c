/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The second half of counting: from a burst of 5-tuples to the sketches of every measurement. The
 * first half fills the burst: of packets (parallel/worker.c), or of whatever else has keys.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/key_burst.h"
#include "config/config.h"
#include "sketch/hyperloglog.h"
#include "sketch/sketch.h"

/* One thread's. */
struct counting {
	/* Written before the start. */
	const struct hash_key *hash_key;
	bool details; /* a measurement asks for times or TCP flags */
	bool extra;   /* a measurement's key has a field that is none of the 5-tuple */
	bool rests;   /* a measurement has work for it when nothing comes */
	uint32_t nb_measurements;
	sketch_update_fn update[CONFIG_MEASUREMENTS_MAX]; /* of its sharing */
	/* Measurement m counts bursts[key_rule_of[m]]. */
	uint32_t key_rule_of[CONFIG_MEASUREMENTS_MAX];
	uint32_t nb_key_rules;
	const struct key_rule *key_rules[CONFIG_MEASUREMENTS_MAX]; /* the first is the 5-tuple */

	/* [nb_key_rules]; bursts[0] is filled by the first half, but for its hashes. */
	struct key_burst *bursts;

	struct key_weights *weights; /* of bursts[0]; NULL: entries are packets */
	sketch_update_fn update_weighted[CONFIG_MEASUREMENTS_MAX]; /* of its sharing */
};

/* Masks, hashes, and updates sketch[nb_measurements] and distinct[nb_measurements]. */
void count_keys(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct);

/*
 * The same of a burst with weights. An entry of 0 packets is left out: it counts in no sketch, and
 * is no distinct key.
 */
void count_weighted_keys(const struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct);
