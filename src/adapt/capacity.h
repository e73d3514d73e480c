/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What a worker keeps up with, by a profile: the time of a packet is the sum of its parts in a state
 * of measuring. A state says how many of the packets each measurement looks at.
 */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/costs.h"
#include "adapt/profile.h"
#include "config/config.h"

#define CAPACITY_NAME_MAX 160
#define CAPACITY_SHARE_NS 2 /* to tell which keys a share has, of a packet: docs/ADAPTIVE.md */

struct capacity_state {
	char name[CAPACITY_NAME_MAX];
	/* Of each measurement: */
	struct capacity_detail {
		double looked_at; /* share of the packets that it sees; 0: it does not run */
		double counted;   /* share of their keys */
		bool coarser;     /* keys are other ones, of which there are few */
	} of[CONFIG_MEASUREMENTS_MAX];
};

/* All that may be asked for, or nothing but packets and bytes. */
struct capacity_state capacity_full(void);
struct capacity_state capacity_count_only(void);

/* What a worker does. */
struct capacity_worker {
	bool receives; /* else a receiver does it for it */
	uint32_t nb_keys;
	struct profile_what keys[COSTS_KEYS_MAX]; /* the first is hashed always */
	uint32_t nb_measurements;
	struct profile_what sketches[CONFIG_MEASUREMENTS_MAX];
	uint32_t key_of[CONFIG_MEASUREMENTS_MAX]; /* of keys[] */
	/* Of both, for who calibrates them. */
	const struct key_rule *rules[COSTS_KEYS_MAX];
	const struct sketch_params *params[CONFIG_MEASUREMENTS_MAX];
};

/* Adds what a measurement needs; its rule and params must outlive the worker. */
void capacity_add(struct capacity_worker *worker, const struct sketch_ops *ops,
	const struct sketch_params *params, enum sketch_sharing sharing);

/*
 * ns of a packet in a state, with sketches that see such traffic. False where the profile lacks a
 * part, which is left in *missing.
 */
bool capacity_ns(const struct profile *profile, const struct capacity_worker *worker,
	const struct capacity_state *state, enum profile_traffic traffic, double *ns,
	struct profile_what *missing);
