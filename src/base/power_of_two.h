/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

#include "base/assertion.h"

static inline uint64_t power_of_two_at_least(uint64_t n)
{
	uint64_t power = 1;

	ASSERT(n, <=, UINT64_C(1) << 63);
	while (power < n)
		power *= 2;
	return power;
}
