/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "sketch/counter_rows.h"

/* Compares every counter, independent of the layout. */
static inline void assert_same_rows(const struct counter_rows *a, const struct counter_rows *b)
{
	assert_int_equal(a->depth, b->depth);
	assert_int_equal(a->bits, b->bits);
	assert_int_equal(a->metric, b->metric);
	for (uint64_t cell = 0; cell < (uint64_t)a->depth << a->bits; cell++)
		assert_true(counter_rows_value(a, cell) == counter_rows_value(b, cell));
}
