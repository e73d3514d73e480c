/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Processing time of a packet by processing step and measurement. The shed controller uses it to
 * choose what to shed.
 */

#include <stdint.h>

#include "adapt/costs.h"
#include "adapt/profile.h"
#include "parallel/run/run.h"

/* Fewest packets for which a measured time per packet is used. */
#define PACKET_COSTS_LEAST 256

struct packet_costs {
	/*
	 * ns per packet at full detail. fixed: receive and free. parse: headers and keys. of: each
	 * measurement, for flows in their first state (enum flow_depth).
	 */
	double fixed, parse, of[CONFIG_MEASUREMENTS_MAX];
	/* The same with few distinct keys. Coarser keys cannot make a packet cheaper than this. */
	double of_few[CONFIG_MEASUREMENTS_MAX];
	/* part of `of`: HyperLogLog */
	double distinct[CONFIG_MEASUREMENTS_MAX];
	/*
	 * met: share of packets whose flow is in a state. state: additional ns of such a packet
	 * compared to the first state.
	 */
	double met[CONFIG_MEASUREMENTS_MAX][FLOW_STATES],
		state[CONFIG_MEASUREMENTS_MAX][FLOW_STATES];
};

/* Sets costs from the profile, to use until bursts are timed. Missing values are estimated. */
void packet_costs_by_profile(
	struct packet_costs *costs, const struct plan *plan, const struct profile *profile);

/*
 * Updates costs from a closed epoch with the same measurements. timed: costs of its timed bursts,
 * possibly of none.
 */
void packet_costs_by_epoch(struct packet_costs *costs, const struct run *run, uint64_t epoch,
	const struct costs *timed);
