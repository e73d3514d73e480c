/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Bounds of a count of which not every packet was looked at. docs/ESTIMATES.md has the proof.
 */

#include <stdint.h>

/* What is known of all keys of an epoch together, in packets or in bytes. */
struct sampling_bound {
	uint64_t weight; /* the largest that a packet counted with */
	uint64_t unit;   /* the largest packet: 1 of packets */
	double whole;    /* the sum of all keys, or more */
	/* Minus the logarithm of the risk that some key's true count is beyond its low, and of the
	 * same that one is beyond its high. INFINITY: none is taken. */
	double log_inverse;
};

/*
 * The least true count of a key that was counted as `sum`, and the largest: rounded outwards, low <=
 * sum <= high.
 */
uint64_t sampling_low(const struct sampling_bound *sampling, uint64_t sum);
uint64_t sampling_high(const struct sampling_bound *sampling, uint64_t sum);
