/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

#include "adapt/costs.h"
#include "adapt/formula.h"
#include "adapt/profile.h"
#include "parallel/run/run.h"

/* Fewest packets for which a measured time per packet is used. */
#define PACKET_COSTS_LEAST 256

struct packet_costs {
	/*
	 * ns per packet. fixed: receive and free. parse: headers and keys. of: each measurement, if
	 * flows are only counted (FLOW_COUNT).
	 */
	double fixed, parse, of[CONFIG_MEASUREMENTS_MAX];
	/* `of` with few distinct keys: a lower bound for coarser keys, such as networks. */
	double of_few[CONFIG_MEASUREMENTS_MAX];
	double distinct[CONFIG_MEASUREMENTS_MAX]; /* ns for distinct keys; included in `of` */
	/* Terms of formula (3); has_formula: bit m is set if those of measurement m are known. */
	struct formula_times formula[CONFIG_MEASUREMENTS_MAX];
	uint32_t has_formula;
	/* By flow detail. met: share of packets. state: ns per packet beyond FLOW_COUNT. */
	double met[CONFIG_MEASUREMENTS_MAX][FLOW_STATES],
		state[CONFIG_MEASUREMENTS_MAX][FLOW_STATES];
	/*
	 * With queries: share of the packets of flows for which a query of rank r, the lowest,
	 * requests at least rate, or tcp.
	 */
	double of_rank[CONFIG_MEASUREMENTS_MAX][2][FLOW_ALL_RANKS + 1];
};

/* Sets costs to use until bursts are timed. Missing values are estimated. */
void packet_costs_by_profile(
	struct packet_costs *costs, const struct plan *plan, const struct profile *profile);

/* timed: sum over the timed bursts of the epoch, which may be none. */
void packet_costs_by_epoch(struct packet_costs *costs, const struct run *run, uint64_t epoch,
	const struct costs *timed);
