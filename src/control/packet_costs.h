/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Processing time of a packet by part, for a set of measurements, as known to the shedding
 * controller.
 */

#include <stdint.h>

#include "adapt/costs.h"
#include "adapt/profile.h"
#include "parallel/run/run.h"

/* Fewest packets for a valid time per packet. */
#define PACKET_COSTS_LEAST 256

struct packet_costs {
	/*
	 * ns per packet that all measurements count: fixed part; headers and keys; each
	 * measurement, for flows in their first state.
	 */
	double fixed, parse, of[CONFIG_MEASUREMENTS_MAX];
	/* The same for few keys: the lower limit of a step to coarser keys. */
	double of_few[CONFIG_MEASUREMENTS_MAX];
	/* ns of `of` for its HyperLogLog */
	double distinct[CONFIG_MEASUREMENTS_MAX];
	/*
	 * Share of packets per state of their flow, and their additional ns over the first state.
	 */
	double met[CONFIG_MEASUREMENTS_MAX][FLOW_STATES],
		state[CONFIG_MEASUREMENTS_MAX][FLOW_STATES];
};

/* Fills in costs from the profile. Used until bursts are timed. Missing values are estimated. */
void packet_costs_by_profile(
	struct packet_costs *costs, const struct plan *plan, const struct profile *profile);

/* Updates costs from a closed epoch of these measurements, and from its timed bursts, if any. */
void packet_costs_by_epoch(struct packet_costs *costs, const struct run *run, uint64_t epoch,
	const struct costs *timed);
