/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Sampled figures and their intervals. docs/ESTIMATES.md has the proof. */

#include <stdint.h>

/*
 * Bounds of the true count where `estimate` was counted under a sampling of one in `interval` or
 * finer, each of the two exceeded with a probability of at most exp(-log_inverse): so both hold
 * with probability 1 - 2 exp(-log_inverse). `unit`: the largest weight of one packet: 1 of
 * packets, the bytes of the largest packet of bytes. Rounded outwards.
 */
struct estimate_bounds {
	uint64_t low, high;
};

struct estimate_bounds estimate_bound(
	uint64_t estimate, double interval, uint64_t unit, double log_inverse);

/*
 * Returns the most packets that samplers of one in `interval` or finer can have passed over without
 * a single sample: more have none with a probability of at most exp(-log_inverse).
 */
uint64_t estimate_unsampled(double interval, double log_inverse);
