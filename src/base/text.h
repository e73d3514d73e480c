/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A growable text. Appending never fails on the spot: where memory is missing the text is marked
 * failed, and whoever wants to use it looks once at the end.
 *
 * Numbers are written with a decimal point: the program stays in the C locale.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TEXT_DAY_LEN 11 /* 2026-11-20T */

struct text {
	char *data; /* len bytes, no final 0 */
	size_t len, size;
	bool failed;
	/* The day that was printed last: rows have the same one over and over. */
	int64_t day; /* since 1970; none yet where its text is all 0 */
	char day_text[TEXT_DAY_LEN];
};

/* A text is ready when it is all zero. Clearing keeps the memory, freeing does not. */
void text_clear(struct text *text);
void text_free(struct text *text);

/* Makes room for `more` bytes, of which there is too little. False: there is no memory. */
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

/* Bytes of the UTF-8 character that stands there; 0: none does. */
size_t text_character_len(const char *bytes, size_t left);

/* Of IPv4 where it is mapped. */
struct in6_addr;
void text_address(struct text *text, const struct in6_addr *address);

void text_u64(struct text *text, uint64_t value);
void text_grouped(struct text *text, uint64_t value); /* 1,234,567 */

/*
 * RFC 3339, UTC, microseconds rounded down: 2026-11-20T13:52:44.000000Z. ns counts from 1970; an
 * int64_t of it spans the years 1677 to 2262, so the year always has the four digits of the format.
 */
void text_time(struct text *text, int64_t ns);

/* The other way round. Returns false where the text does not begin with such a time. */
bool text_read_time(const char *string, int64_t *ns);
