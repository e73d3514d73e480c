/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Writes decimal numbers, several times faster than snprintf(), without a terminating NUL, and reads
 * them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DECIMAL_MAX 20

static inline size_t decimal_digits(char *text, uint64_t value, size_t n)
{
	static const char pairs[] =
		"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
		"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
		"8081828384858687888990919293949596979899";
	size_t left = n;

	for (; left >= 2; left -= 2, value /= 100)
		memcpy(text + left - 2, pairs + 2 * (value % 100), 2);
	if (left > 0)
		text[0] = (char)('0' + value % 10);
	return n;
}

static inline size_t decimal_count(uint64_t value)
{
	static const uint64_t least[DECIMAL_MAX] = {0, 10, 100, 1000, 10000, 100000, 1000000,
		10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
		10000000000000, 100000000000000, 1000000000000000, 10000000000000000,
		100000000000000000, 1000000000000000000, 10000000000000000000U};
	/* 1233 / 4096 approximates log10(2) closely enough for 64 bits. */
	size_t most = (64 - (size_t)__builtin_clzll(value | 1)) * 1233 >> 12;

	return most + (value >= least[most]);
}

/* Returns the number of digits. */
static inline size_t decimal_print(char *text, uint64_t value)
{
	return decimal_digits(text, value, decimal_count(value));
}

/* Returns false unless the whole text is digits, and their number is at most `max`. */
static inline bool decimal_read(const char *text, uint64_t max, uint64_t *number)
{
	uint64_t value = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		uint64_t digit = (uint64_t)(*text - '0');

		if (*text < '0' || *text > '9' || digit > max || value > (max - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*number = value;
	return true;
}

static inline bool decimal_read_u32(const char *text, uint32_t max, uint32_t *number)
{
	uint64_t value;

	if (!decimal_read(text, max, &value))
		return false;
	*number = (uint32_t)value;
	return true;
}
