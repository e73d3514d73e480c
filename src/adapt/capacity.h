/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Predicts the time per packet of a worker: the sum of the profile rows that a packet needs. With
 * load shedding, a measurement processes only a share of the packets.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/costs.h"
#include "adapt/profile.h"
#include "config/config.h"

#define CAPACITY_NAME_MAX 160
/* ns to test whether a packet's key is counted (load shedding step "keys:1/N") */
#define CAPACITY_SHARE_NS 2

struct capacity_state {
	char name[CAPACITY_NAME_MAX];
	struct capacity_detail {
		double looked_at; /* share of the packets, 0 to 1 */
		double counted;   /* share of the keys, 0 to 1 */
		bool coarser;     /* a step "key:KEY" reduced the keys; they fit in the cache */
	} of[CONFIG_MEASUREMENTS_MAX];
};

/* Full detail: each measurement processes all packets. Count only: none does. */
struct capacity_state capacity_full(void);
struct capacity_state capacity_count_only(void);

struct capacity_worker {
	bool receives; /* false: another core polls the ports */
	uint32_t nb_keys;
	struct profile_what keys[COSTS_KEYS_MAX]; /* keys[0]: the 5-tuple */
	uint32_t nb_measurements;
	struct profile_what sketches[CONFIG_MEASUREMENTS_MAX];
	uint32_t key_of[CONFIG_MEASUREMENTS_MAX];
	/* rules of keys[], parameters of sketches[]; only for the calibration */
	const struct key_rule *rules[COSTS_KEYS_MAX];
	const struct sketch_params *params[CONFIG_MEASUREMENTS_MAX];
};

void capacity_add(struct capacity_worker *worker, const struct sketch_ops *ops,
	const struct sketch_params *params, enum sketch_sharing sharing);

/*
 * *ns: time per packet. If the profile has no row for a part, stores the part in *missing and
 * returns false.
 */
bool capacity_ns(const struct profile *profile, const struct capacity_worker *worker,
	const struct capacity_state *state, enum profile_traffic traffic, double *ns,
	struct profile_what *missing);
