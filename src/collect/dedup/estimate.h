/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Confidence bounds of sampled counts. docs/ESTIMATES.md has the proof. */

#include <stdint.h>

/*
 * Returns bounds of the true count for `estimate`, which was sampled at 1 in `interval` or more
 * densely. Rounds them outwards. Each bound is wrong with a probability of at most
 * exp(-log_inverse). `unit` is the largest count of one packet: 1 if packets are counted, the size
 * of the largest packet if bytes are counted.
 */
struct estimate_bounds {
	uint64_t low, high;
};

struct estimate_bounds estimate_bound(
	uint64_t estimate, double interval, uint64_t unit, double log_inverse);

/*
 * Returns an upper bound of the packets of a flow without a sample, at 1 in `interval` or more
 * densely. It is wrong with a probability of at most exp(-log_inverse).
 */
uint64_t estimate_unsampled(double interval, double log_inverse);
