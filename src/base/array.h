/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Arrays that grow item by item. */

#include <stdlib.h>

#include "base/assertion.h"

/*
 * Makes room for one more item in an array of n items. Doubles the size with realloc() if n is 0 or
 * a power of two, else returns `array`. Returns NULL if out of memory; `array` then remains valid.
 */
static inline void *array_grow(void *array, size_t n, size_t size)
{
	ASSERT(size, >, 0u);
	if ((n & (n - 1)) != 0)
		return array;
	return reallocarray(array, n > 0 ? 2 * n : 1, size);
}
