/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Text that grows. If memory runs out, `failed` is set, so that callers check only once. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TEXT_DAY_LEN 11 /* 2026-11-20T */

struct text {
	char *data; /* without a terminating NUL */
	size_t len, size;
	bool failed;
	int64_t day; /* days since 1970-01-01; undefined while day_text is empty */
	char day_text[TEXT_DAY_LEN];
};

/* A zeroed text is empty. text_clear() keeps the memory. */
void text_clear(struct text *text);
void text_free(struct text *text);

/* Returns false if out of memory. */
bool text_grow(struct text *text, size_t more);

static inline bool text_reserve(struct text *text, size_t more)
{
	return text->size - text->len >= more ? !text->failed : text_grow(text, more);
}

static inline void text_add(struct text *text, const char *bytes, size_t len)
{
	if (len == 0 || !text_reserve(text, len))
		return;
	memcpy(text->data + text->len, bytes, len);
	text->len += len;
}

static inline void text_str(struct text *text, const char *string)
{
	text_add(text, string, strlen(string));
}

static inline void text_char(struct text *text, char c)
{
	if (text_reserve(text, 1))
		text->data[text->len++] = c;
}

__attribute__((format(printf, 2, 3))) void text_printf(struct text *text, const char *format, ...);

__attribute__((format(printf, 3, 4))) bool text_error(
	char *error, size_t size, const char *format, ...);

/* Returns 0 if bytes[0..left) do not start with a valid UTF-8 character. */
size_t text_character_len(const char *bytes, size_t left);

/* Writes IPv4-mapped IPv6 addresses as IPv4. */
struct in6_addr;
void text_address(struct text *text, const struct in6_addr *address);

void text_u64(struct text *text, uint64_t value);
void text_grouped(struct text *text, uint64_t value); /* 1,234,567 */

/* Appends 2026-11-20T13:52:44.000000Z (RFC 3339), rounded down. `ns` counts from 1970-01-01. */
void text_time(struct text *text, int64_t ns);

/* Reads the format of text_time(). Returns false if the string does not begin with it. */
bool text_read_time(const char *string, int64_t *ns);
