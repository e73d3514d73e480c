/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Base64 with padding (RFC 4648, section 4). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the characters for `len` bytes. */
static inline size_t base64_len(size_t len)
{
	return (len + 2) / 3 * 4;
}

/* Writes base64_len(len) characters, without a terminating NUL. */
void base64_encode(const uint8_t *bytes, size_t len, char *text);

/*
 * Decodes text[len] into *bytes, which has room for len / 4 * 3 bytes and may be `text` itself.
 * Returns the number of bytes in *decoded, or false if the text is not valid.
 */
bool base64_decode(const char *text, size_t len, uint8_t *bytes, size_t *decoded);
