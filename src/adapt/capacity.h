/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Predicts the capacity of a worker from a profile: the time of a packet is the sum of its parts. A
 * capacity_state gives the share of the packets that each measurement processes.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/costs.h"
#include "adapt/profile.h"
#include "config/config.h"

#define CAPACITY_NAME_MAX 160
#define CAPACITY_SHARE_NS 2 /* ns per packet to test key sampling (docs/ADAPTIVE.md) */

struct capacity_state {
	char name[CAPACITY_NAME_MAX];
	/* per measurement */
	struct capacity_detail {
		double looked_at; /* share of the packets that it processes, 0 to 1; 0: it does not run */
		double counted; /* share of the keys that it counts, 0 to 1 */
		bool coarser;   /* keys are coarser, so that few keys exist */
	} of[CONFIG_MEASUREMENTS_MAX];
};

/* Return the states for full detail, and for counting only packets and bytes. */
struct capacity_state capacity_full(void);
struct capacity_state capacity_count_only(void);

/* Tasks of a worker. */
struct capacity_worker {
	bool receives; /* false: another core receives for it */
	uint32_t nb_keys;
	struct profile_what keys[COSTS_KEYS_MAX]; /* the first one is always hashed */
	uint32_t nb_measurements;
	struct profile_what sketches[CONFIG_MEASUREMENTS_MAX];
	uint32_t key_of[CONFIG_MEASUREMENTS_MAX]; /* index in keys[] */
	/* for calibration, parallel to keys[] and sketches[] */
	const struct key_rule *rules[COSTS_KEYS_MAX];
	const struct sketch_params *params[CONFIG_MEASUREMENTS_MAX];
};

/* Adds the parts of a measurement. Its key rule and params must outlive the worker. */
void capacity_add(struct capacity_worker *worker, const struct sketch_ops *ops,
	const struct sketch_params *params, enum sketch_sharing sharing);

/*
 * Stores the ns per packet in a state, for this traffic pattern. Returns false if the profile lacks
 * a part, and stores it in *missing.
 */
bool capacity_ns(const struct profile *profile, const struct capacity_worker *worker,
	const struct capacity_state *state, enum profile_traffic traffic, double *ns,
	struct profile_what *missing);
