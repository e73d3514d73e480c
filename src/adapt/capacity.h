/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Predicts the time per packet of a worker from a profile: the sum of the parts that a packet
 * needs. With load shedding, a measurement processes only a share of the packets: struct
 * capacity_state has these shares.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/costs.h"
#include "adapt/profile.h"
#include "config/config.h"

#define CAPACITY_NAME_MAX 160
/* ns. With the load shedding step "keys:1/N", each packet is tested if its key is counted. */
#define CAPACITY_SHARE_NS 2

struct capacity_state {
	char name[CAPACITY_NAME_MAX];
	/* One entry per measurement. */
	struct capacity_detail {
		double looked_at; /* share of the packets that the measurement processes, 0 to 1 */
		double counted;   /* share of the keys that the measurement counts, 0 to 1 */
		bool coarser; /* a step "key:KEY" made the keys coarser: they fit in the cache */
	} of[CONFIG_MEASUREMENTS_MAX];
};

/* Full detail: each measurement processes all packets. Count only: none processes a packet. */
struct capacity_state capacity_full(void);
struct capacity_state capacity_count_only(void);

/* Tasks of a worker. */
struct capacity_worker {
	bool receives; /* false: another core polls the ports */
	uint32_t nb_keys;
	struct profile_what keys[COSTS_KEYS_MAX]; /* keys[0]: the 5-tuple */
	uint32_t nb_measurements;
	struct profile_what sketches[CONFIG_MEASUREMENTS_MAX];
	uint32_t key_of[CONFIG_MEASUREMENTS_MAX]; /* index in keys[] */
	/* Rules of keys[] and parameters of sketches[]. Only the calibration uses them. */
	const struct key_rule *rules[COSTS_KEYS_MAX];
	const struct sketch_params *params[CONFIG_MEASUREMENTS_MAX];
};

/* Adds a measurement to the tasks. `params` and its key rule must outlive the worker. */
void capacity_add(struct capacity_worker *worker, const struct sketch_ops *ops,
	const struct sketch_params *params, enum sketch_sharing sharing);

/*
 * Stores the predicted time per packet in *ns. Returns false if the profile has no row for a part,
 * and stores that part in *missing.
 */
bool capacity_ns(const struct profile *profile, const struct capacity_worker *worker,
	const struct capacity_state *state, enum profile_traffic traffic, double *ns,
	struct profile_what *missing);
