/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Growable text. If memory runs out, the text is marked as failed; check it once at the end.
 * Numbers have a decimal point: the program stays in the C locale.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TEXT_DAY_LEN 11 /* 2026-11-20T */

struct text {
	char *data; /* `len` bytes, without a final 0 */
	size_t len, size;
	bool failed;
	/* Cache of the last printed day, which most rows share. */
	int64_t day; /* since 1970; unset while day_text is all 0 */
	char day_text[TEXT_DAY_LEN];
};

/* A zeroed text is empty. Clearing keeps the memory, freeing does not. */
void text_clear(struct text *text);
void text_free(struct text *text);

/* Grows the text by `more` bytes. Returns false if out of memory. */
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

/* Writes an error message into error[size]. Returns false. */
__attribute__((format(printf, 3, 4))) bool text_error(
	char *error, size_t size, const char *format, ...);

/* Returns the length of the UTF-8 character at `bytes`; 0: invalid. */
size_t text_character_len(const char *bytes, size_t left);

/* Appends an address; mapped IPv4 addresses in IPv4 form. */
struct in6_addr;
void text_address(struct text *text, const struct in6_addr *address);

void text_u64(struct text *text, uint64_t value);
void text_grouped(struct text *text, uint64_t value); /* 1,234,567 */

/*
 * RFC 3339, UTC, microseconds rounded down: 2026-11-20T13:52:44.000000Z. ns counts from 1970; an
 * int64_t of it spans the years 1677 to 2262, so the year always has the four digits of the format.
 */
void text_time(struct text *text, int64_t ns);

/* Reads such a time at the start of a text. Returns false if there is none. */
bool text_read_time(const char *string, int64_t *ns);
