/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Confidence bounds of sampled counts. docs/ESTIMATES.md has the proof. */

#include <stdint.h>

/*
 * Returns bounds of the true count, rounded outwards, for an `estimate` with a sampling interval of
 * at most `interval`. Each bound fails with a probability of at most exp(-log_inverse); both hold
 * with 1 - 2 exp(-log_inverse). unit: largest weight of one packet: 1 for packets, the bytes of the
 * largest packet for bytes.
 */
struct estimate_bounds {
	uint64_t low, high;
};

struct estimate_bounds estimate_bound(
	uint64_t estimate, double interval, uint64_t unit, double log_inverse);

/*
 * Returns an upper bound of packets without any sample, for sampling intervals of at most
 * `interval`. It fails with a probability of at most exp(-log_inverse).
 */
uint64_t estimate_unsampled(double interval, double log_inverse);
