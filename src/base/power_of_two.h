/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

/* The least power of two that is not below n; n is at most 2^63. */
static inline uint64_t power_of_two_at_least(uint64_t n)
{
	uint64_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}
