/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Bounds of a sampled count. docs/ESTIMATES.md has the proof. */

#include <stdint.h>

/* Facts about all keys of an epoch together, in packets or in bytes. */
struct sampling_bound {
	uint64_t weight; /* largest weight of a packet */
	uint64_t unit;   /* largest packet: 1 for packets, else bytes */
	double whole;    /* sum of all keys, or an upper bound of it */
	/*
	 * Minus the logarithm of the risk of one end: the probability that some key's true count is
	 * below its low, or above its high. INFINITY: no risk.
	 */
	double log_inverse;
};

/*
 * Return the lowest and highest true count of a key that was counted as `sum`, rounded outwards:
 * low <= sum <= high.
 */
uint64_t sampling_low(const struct sampling_bound *sampling, uint64_t sum);
uint64_t sampling_high(const struct sampling_bound *sampling, uint64_t sum);
