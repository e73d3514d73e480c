/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"

#include "base/address.h"
#include "base/decimal.h"
#include "base/units.h"

#define TEXT_SIZE_MIN    4096
#define TIME_TEXT_LEN    (TEXT_DAY_LEN + 16) /* the 16 bytes are 13:52:44.000000Z */
#define DAY_NS           (86400 * SECOND_NS)
#define DAYS_BEFORE_1970 719468 /* counted from 0000-03-01 */

void text_clear(struct text *text)
{
	text->len = 0;
	text->failed = false;
}

void text_free(struct text *text)
{
	free(text->data);
	*text = (struct text){0};
}

bool text_grow(struct text *text, size_t more)
{
	size_t size = text->size > 0 ? text->size : TEXT_SIZE_MIN;
	char *data;

	if (text->failed)
		return false;
	while (size - text->len < more)
		size *= 2;
	data = realloc(text->data, size);
	if (data == NULL) {
		text->failed = true;
		return false;
	}
	text->data = data;
	text->size = size;
	return true;
}

void text_printf(struct text *text, const char *format, ...)
{
	size_t room = text->size - text->len;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(room > 0 ? text->data + text->len : NULL, room, format, args);
	va_end(args);
	if (len <= 0 || text->failed)
		return;
	if ((size_t)len >= room) {
		if (!text_reserve(text, (size_t)len + 1))
			return;
		va_start(args, format);
		vsnprintf(text->data + text->len, (size_t)len + 1, format, args);
		va_end(args);
	}
	text->len += (size_t)len;
}

bool text_error(char *error, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, size, format, args);
	va_end(args);
	return false;
}

size_t text_character_len(const char *bytes, size_t left)
{
	const unsigned char *c = (const unsigned char *)bytes;
	size_t len = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;

	if (c[0] > 0xf4 || len > left)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates, and characters above U+10FFFF are invalid. */
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
		(c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	return len;
}

void text_address(struct text *text, const struct in6_addr *address)
{
	char string[INET6_ADDRSTRLEN];

	address_print(address, string);
	text_str(text, string);
}

void text_u64(struct text *text, uint64_t value)
{
	if (text_reserve(text, DECIMAL_MAX))
		text->len += decimal_print(text->data + text->len, value);
}

void text_grouped(struct text *text, uint64_t value)
{
	char digits[DECIMAL_MAX];
	size_t n = decimal_print(digits, value);

	for (size_t i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			text_char(text, ',');
		text_char(text, digits[i]);
	}
}

struct date {
	uint64_t year, month, day;
};

/*
 * Gregorian date. Years count from 1 March: a leap day is the last day of its year. 400 years have
 * 146097 days. Each group of five months has 153 days (31 30 31 30 31).
 */
static struct date date_of(int64_t days)
{
	uint64_t since = (uint64_t)(days + DAYS_BEFORE_1970); /* positive for each int64_t of ns */
	uint64_t of_era = since % 146097;
	uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	uint64_t day = of_era - (365 * year + year / 4 - year / 100), month = (5 * day + 2) / 153;

	return (struct date){
		.year = since / 146097 * 400 + year + (month >= 10),
		.month = month < 10 ? month + 3 : month - 9,
		.day = day - (153 * month + 2) / 5 + 1,
	};
}

static inline char *put_digits(char *at, uint64_t value, size_t n, char end)
{
	at += decimal_digits(at, value, n);
	*at = end;
	return at + 1;
}

static void print_day(char text[TEXT_DAY_LEN], int64_t day)
{
	struct date date = date_of(day);
	char *at = put_digits(text, date.year, 4, '-');

	at = put_digits(at, date.month, 2, '-');
	put_digits(at, date.day, 2, 'T');
}

void text_time(struct text *text, int64_t ns)
{
	int64_t day = ns / DAY_NS - (ns % DAY_NS < 0);
	/* Unsigned, because day * DAY_NS may underflow int64_t. */
	uint64_t us = ((uint64_t)ns - (uint64_t)day * (uint64_t)DAY_NS) / 1000,
		 seconds = us / 1000000;
	char *at;

	if (!text_reserve(text, TIME_TEXT_LEN))
		return;
	if (day != text->day || text->day_text[0] == '\0') {
		print_day(text->day_text, day);
		text->day = day;
	}
	at = text->data + text->len;
	memcpy(at, text->day_text, TEXT_DAY_LEN);
	at = put_digits(at + TEXT_DAY_LEN, seconds / 3600, 2, ':');
	at = put_digits(at, seconds / 60 % 60, 2, ':');
	at = put_digits(at, seconds % 60, 2, '.');
	put_digits(at, us % 1000000, 6, 'Z');
	text->len += TIME_TEXT_LEN;
}

bool text_read_time(const char *string, int64_t *ns)
{
	struct tm tm = {0};
	int microseconds, end = 0;

	if (sscanf(string, "%4d-%2d-%2dT%2d:%2d:%2d.%6dZ%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		    &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &microseconds, &end) != 7 ||
		end != TIME_TEXT_LEN)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	return !__builtin_mul_overflow(timegm(&tm), SECOND_NS, ns) &&
	       !__builtin_add_overflow(*ns, INT64_C(1000) * microseconds, ns);
}
