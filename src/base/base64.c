/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/base64.h"

#define PAD     '='
#define INVALID 64

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const uint8_t *bytes, size_t len, char *text)
{
	for (; len >= 3; len -= 3, bytes += 3, text += 4) {
		text[0] = letters[bytes[0] >> 2];
		text[1] = letters[(bytes[0] & 3) << 4 | bytes[1] >> 4];
		text[2] = letters[(bytes[1] & 15) << 2 | bytes[2] >> 6];
		text[3] = letters[bytes[2] & 63];
	}
	if (len == 0)
		return;
	text[0] = letters[bytes[0] >> 2];
	text[1] = letters[(bytes[0] & 3) << 4 | (len > 1 ? bytes[1] >> 4 : 0)];
	text[2] = len > 1 ? letters[(bytes[1] & 15) << 2] : PAD;
	text[3] = PAD;
}

static uint32_t value_of(char letter)
{
	if (letter >= 'A' && letter <= 'Z')
		return (uint32_t)(letter - 'A');
	if (letter >= 'a' && letter <= 'z')
		return (uint32_t)(letter - 'a') + 26;
	if (letter >= '0' && letter <= '9')
		return (uint32_t)(letter - '0') + 52;
	if (letter == '+')
		return 62;
	return letter == '/' ? 63 : INVALID;
}

bool base64_decode(const char *text, size_t len, uint8_t *bytes, size_t *decoded)
{
	size_t pads = 0, n = 0;

	if (len % 4 != 0)
		return false;
	while (pads < 2 && pads < len && text[len - 1 - pads] == PAD)
		pads++;
	for (size_t at = 0; at < len; at += 4) {
		size_t absent = at + 4 == len ? pads : 0;
		uint32_t group = 0, values[4] = {0};

		for (size_t i = 0; i + absent < 4; i++) {
			values[i] = value_of(text[at + i]);
			if (values[i] == INVALID)
				return false;
		}
		group = values[0] << 18 | values[1] << 12 | values[2] << 6 | values[3];
		/* Bits that no byte uses must be 0, so that a text has only one form. */
		if ((group & ((UINT32_C(1) << 8 * absent) - 1)) != 0)
			return false;
		for (size_t i = 0; i + absent < 3; i++)
			bytes[n++] = (uint8_t)(group >> (16 - 8 * i));
	}
	*decoded = n;
	return true;
}
