/* SPDX-License-Identifier: BSD-3-Clause */

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/output/text.h"

#include "base/decimal.h"
#include "base/units.h"

#define TEXT_SIZE_MIN 4096
#define TIME_TEXT_LEN 27 /* 2026-11-20T13:52:44.000000Z */

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

/* Makes room for `more` bytes. */
static bool text_reserve(struct text *text, size_t more)
{
	size_t size = text->size > 0 ? text->size : TEXT_SIZE_MIN;
	char *data;

	if (text->failed)
		return false;
	if (text->size - text->len >= more)
		return true;
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

void text_add(struct text *text, const char *bytes, size_t len)
{
	if (len == 0 || !text_reserve(text, len))
		return;
	memcpy(text->data + text->len, bytes, len);
	text->len += len;
}

void text_str(struct text *text, const char *string)
{
	text_add(text, string, strlen(string));
}

void text_char(struct text *text, char c)
{
	text_add(text, &c, 1);
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

size_t text_character_len(const char *bytes, size_t left)
{
	const unsigned char *c = (const unsigned char *)bytes;
	size_t len = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;

	if (c[0] > 0xf4 || len > left)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	/* Longer than need be, half of a pair, beyond the last. */
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
		(c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	return len;
}

void text_address(struct text *text, const struct in6_addr *address)
{
	char string[INET6_ADDRSTRLEN];

	if (IN6_IS_ADDR_V4MAPPED(address))
		inet_ntop(AF_INET, &address->s6_addr[12], string, sizeof(string));
	else
		inet_ntop(AF_INET6, address, string, sizeof(string));
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

void text_time(struct text *text, int64_t ns)
{
	int64_t fraction = ns % SECOND_NS;
	time_t seconds = ns / SECOND_NS;
	struct tm tm;

	if (fraction < 0) {
		fraction += SECOND_NS;
		seconds--;
	}
	gmtime_r(&seconds, &tm);

	const struct {
		int value;
		size_t digits;
		char end;
	} parts[] = {{tm.tm_year + 1900, 4, '-'}, {tm.tm_mon + 1, 2, '-'}, {tm.tm_mday, 2, 'T'},
		{tm.tm_hour, 2, ':'}, {tm.tm_min, 2, ':'}, {tm.tm_sec, 2, '.'},
		{(int)(fraction / 1000), 6, 'Z'}};

	if (!text_reserve(text, TIME_TEXT_LEN))
		return;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		text->len += decimal_digits(
			text->data + text->len, (uint64_t)parts[i].value, parts[i].digits);
		text->data[text->len++] = parts[i].end;
	}
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
