/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Whole numbers as decimal digits, for rows that are printed by the million: snprintf() takes
 * several times as long. No final 0 is written.
 */

#include <stddef.h>
#include <stdint.h>

#define DECIMAL_MAX 20 /* digits of a uint64_t */

/* The last n digits of a value, with zeros in front. Returns n. */
static inline size_t decimal_digits(char *text, uint64_t value, size_t n)
{
	for (size_t i = n; i-- > 0; value /= 10)
		text[i] = (char)('0' + value % 10);
	return n;
}

/* Returns the number of digits, at most DECIMAL_MAX. */
static inline size_t decimal_print(char *text, uint64_t value)
{
	size_t n = 1;

	for (uint64_t rest = value; rest >= 10; rest /= 10)
		n++;
	return decimal_digits(text, value, n);
}
