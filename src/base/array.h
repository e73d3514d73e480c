/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdlib.h>

#include "base/assertion.h"

/* Makes room for item n + 1. Returns NULL if out of memory; `array` then remains valid. */
static inline void *array_grow(void *array, size_t n, size_t size)
{
	ASSERT(size, >, 0u);
	if ((n & (n - 1)) != 0)
		return array;
	return reallocarray(array, n > 0 ? 2 * n : 1, size);
}
