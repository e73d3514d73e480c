/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Arrays that grow item by item. */

#include <stdlib.h>

#include "base/assertion.h"

/*
 * Returns an array of n items with room for one more: `array`, or, if n is 0 or a power of two, a
 * larger copy. Returns NULL if out of memory; `array` is then unchanged.
 */
static inline void *array_grow(void *array, size_t n, size_t size)
{
	ASSERT(size, >, 0u);
	if ((n & (n - 1)) != 0)
		return array;
	return reallocarray(array, n > 0 ? 2 * n : 1, size);
}
