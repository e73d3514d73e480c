/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Bounds of the true count of a key from a sampled count (proof: docs/ESTIMATES.md). */

#include <stdint.h>

/* All counts are in packets or in bytes. */
struct sampling_bound {
	uint64_t weight; /* largest weight of a packet */
	uint64_t unit;   /* bytes of the largest packet; 1 if packets are counted */
	double whole;    /* sum of the counts of all keys, or an upper bound of it */
	/*
	 * Minus the logarithm of the probability that any true count is below its low bound, and
	 * of the same for high bounds. INFINITY: no risk.
	 */
	double log_inverse;
};

/* `sum` is a key's estimate. Rounded outwards: low <= sum <= high. */
uint64_t sampling_low(const struct sampling_bound *sampling, uint64_t sum);
uint64_t sampling_high(const struct sampling_bound *sampling, uint64_t sum);
