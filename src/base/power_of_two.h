/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

/* Returns the smallest power of two of at least n. n must be at most 2^63. */
static inline uint64_t power_of_two_at_least(uint64_t n)
{
	uint64_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}
