/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Costs of the parts of a packet for a set of measurements, as known to the shedding controller. */

#include <stdint.h>

#include "adapt/costs.h"
#include "adapt/profile.h"
#include "parallel/run/run.h"

/* Fewer packets say nothing about how long one takes. */
#define PACKET_COSTS_LEAST 256

struct packet_costs {
	/* ns of a packet that all of them look at: whatever is measured; headers and keys; and of each
	 * measurement, where its flows have states in the first one. */
	double fixed, parse, of[CONFIG_MEASUREMENTS_MAX];
	/* The same where its keys are few: what a step to coarser keys may come to. */
	double of_few[CONFIG_MEASUREMENTS_MAX];
	/* part of its HyperLogLog */
	double distinct[CONFIG_MEASUREMENTS_MAX];
	/* Share of packets that met a flow in each state, and what such a packet takes beyond the
	 * first. */
	double met[CONFIG_MEASUREMENTS_MAX][FLOW_STATES],
		state[CONFIG_MEASUREMENTS_MAX][FLOW_STATES];
};

/* Fills in costs from the profile until bursts are timed. Missing values are guessed. */
void packet_costs_by_profile(
	struct packet_costs *costs, const struct plan *plan, const struct profile *profile);

/* By a closed epoch of these measurements, and the bursts that were timed in it, if there are some. */
void packet_costs_by_epoch(struct packet_costs *costs, const struct run *run, uint64_t epoch,
	const struct costs *timed);
