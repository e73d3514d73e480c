/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Sampled figures and their intervals. docs/ESTIMATES.md has the proof. */

#include <stdint.h>

/*
 * The weights w_k of observers with these sampling intervals (2 or more each) that give the sum of
 * w_k N_k n_k the least variance, X / sum of 1 / (N_k - 1); they add up to 1. Returns the sampling
 * interval of one observer as good as all of them: 1 + 1 / sum of 1 / (N_k - 1).
 */
double estimate_weights(const uint32_t *intervals, uint32_t n, double *weights);

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
