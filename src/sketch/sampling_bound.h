/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Bounds of the true count of a key from a sampled count (proof: docs/ESTIMATES.md). */

#include <stdint.h>

/* Properties of all keys of an epoch together, in packets or in bytes. */
struct sampling_bound {
	uint64_t weight; /* largest weight of a packet */
	uint64_t unit;   /* size of the largest packet in bytes; 1 if packets are counted */
	double whole;    /* sum of the counts of all keys, or an upper bound of it */
	/*
	 * Minus the logarithm of the risk at each end of the bounds: the probability that the true
	 * count of any key is below its low, or above its high. INFINITY: no risk.
	 */
	double log_inverse;
};

/*
 * Return the lowest and the highest possible true count of a key with the estimate `sum`. Rounded
 * outwards, so that low <= sum <= high.
 */
uint64_t sampling_low(const struct sampling_bound *sampling, uint64_t sum);
uint64_t sampling_high(const struct sampling_bound *sampling, uint64_t sum);
