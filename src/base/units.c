/* SPDX-License-Identifier: BSD-3-Clause */

#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/assertion.h"

#define DECIMALS_MAX 19 /* 10^19 is the last power of ten that fits into 64 bits */

/* mantissa / 10^decimals */
struct decimal {
	uint64_t mantissa;
	unsigned int decimals;
};

struct unit_factor {
	const char *suffix;
	uint64_t scale;
};

static const char too_large[] = "too large";

static const struct unit_factor count_units[] = {
	{"", 1},
	{"K", 1000},
	{"M", 1000 * 1000},
	{"G", 1000 * 1000 * 1000},
	{NULL, 0},
};

static const struct unit_factor entries_units[] = {
	{"", 1},
	{"K", UINT64_C(1) << 10},
	{"M", UINT64_C(1) << 20},
	{"G", UINT64_C(1) << 30},
	{NULL, 0},
};

static const struct unit_factor size_units[] = {
	{"", 1},
	{"B", 1},
	{"KB", UINT64_C(1) << 10},
	{"MB", UINT64_C(1) << 20},
	{"GB", UINT64_C(1) << 30},
	{"TB", UINT64_C(1) << 40},
	{NULL, 0},
};

#define SECOND UINT64_C(1000000000)

static const struct unit_factor time_units[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000 * 1000},
	{"s", SECOND},
	{"m", 60 * SECOND},
	{"h", 60 * 60 * SECOND},
	{"d", 24 * 60 * 60 * SECOND},
	{NULL, 0},
};

static const struct unit_factor rate_units[] = {
	{"pps", 1},
	{"kpps", 1000},
	{"Mpps", 1000 * 1000},
	{"Gpps", 1000 * 1000 * 1000},
	{NULL, 0},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool push_digit(struct decimal *number, char digit)
{
	return !__builtin_mul_overflow(number->mantissa, 10, &number->mantissa) &&
	       !__builtin_add_overflow(
		       number->mantissa, (uint64_t)(digit - '0'), &number->mantissa);
}

/* Reads DIGITS or DIGITS.DIGITS and moves *text after it. Returns NULL or an error. */
static const char *read_decimal(const char **text, struct decimal *number, const char *malformed)
{
	const char *at = *text;

	*number = (struct decimal){0};
	if (!is_digit(*at))
		return malformed;
	for (; is_digit(*at); at++) {
		if (!push_digit(number, *at))
			return too_large;
	}
	if (*at == '.') {
		if (!is_digit(*++at))
			return malformed;
		for (; is_digit(*at); at++) {
			if (number->decimals == DECIMALS_MAX || !push_digit(number, *at))
				return malformed;
			number->decimals++;
		}
	}
	*text = at;
	return NULL;
}

static uint64_t power_of_ten(unsigned int exponent)
{
	uint64_t power = 1;

	VERIFY(exponent, <=, (unsigned int)DECIMALS_MAX);
	while (exponent-- > 0)
		power *= 10;
	return power;
}

static const struct unit_factor *find_unit(const struct unit_factor *units, const char *suffix)
{
	for (const struct unit_factor *unit = units; unit->suffix != NULL; unit++) {
		if (strcmp(unit->suffix, suffix) == 0)
			return unit;
	}
	return NULL;
}

/* The product of the number and its unit must be a whole number. */
static const char *read_scaled(
	const char *text, const struct unit_factor *units, const char *malformed, uint64_t *value)
{
	const struct unit_factor *unit;
	struct decimal number;
	unsigned __int128 scaled;
	uint64_t divisor;
	const char *why = read_decimal(&text, &number, malformed);

	if (why != NULL)
		return why;
	unit = find_unit(units, text);
	if (unit == NULL)
		return malformed;
	scaled = (unsigned __int128)number.mantissa * unit->scale;
	divisor = power_of_ten(number.decimals);
	if (scaled % divisor != 0)
		return malformed;
	scaled /= divisor;
	if (scaled > UINT64_MAX)
		return too_large;
	*value = (uint64_t)scaled;
	return NULL;
}

const char *units_count(const char *text, uint64_t *value)
{
	return read_scaled(text, count_units, "not a count; examples: 5, 64K, 5M, 1G", value);
}

const char *units_millionths(const char *text, uint64_t *e6)
{
	static const struct unit_factor millionths[] = {{"", 1000 * 1000}, {NULL, 0}};

	return read_scaled(text, millionths, "not a number with at most six decimals", e6);
}

const char *units_entries(const char *text, uint64_t *value)
{
	return read_scaled(text, entries_units, "not a number; examples: 1024, 64K, 1M", value);
}

const char *units_size(const char *text, uint64_t *bytes)
{
	return read_scaled(text, size_units, "not a size; examples: 4096, 4KB, 4MB, 1GB", bytes);
}

const char *units_time(const char *text, uint64_t *ns)
{
	if (strcmp(text, "0") == 0) {
		*ns = 0;
		return NULL;
	}
	return read_scaled(text, time_units, "not a time; examples: 500ms, 1s, 5m", ns);
}

const char *units_rate(const char *text, uint64_t *pps)
{
	return read_scaled(text, rate_units, "not a rate; examples: 2Mpps, 500kpps, 100pps", pps);
}

const char *units_fraction(const char *text, double *fraction)
{
	static const char malformed[] = "not a fraction; examples: 0.25, 25%";
	struct decimal number;
	double value, divisor;
	const char *why = read_decimal(&text, &number, malformed);

	if (why != NULL)
		return why;
	if (strcmp(text, "%") == 0)
		number.decimals += 2;
	else if (*text != '\0')
		return malformed;
	/* With up to 15 digits, both are exact doubles, and the quotient is correctly rounded. */
	value = (double)number.mantissa;
	for (divisor = 1; number.decimals > 0; number.decimals--)
		divisor *= 10;
	value /= divisor;
	if (value > 1)
		return "above 1; examples: 0.25, 25%";
	*fraction = value;
	return NULL;
}
