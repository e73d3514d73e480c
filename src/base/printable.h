/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Replaces control characters (ASCII, Unicode, and single bytes 0x80 to 0x9f) by '?'. */
static inline void make_printable(char *text)
{
	unsigned int more = 0;

	for (unsigned char *c = (unsigned char *)text; *c != '\0'; c++) {
		if (more > 0 && (*c & 0xc0) == 0x80) {
			more--;
			continue;
		}
		more = *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : *c >= 0xc2 ? 1 : 0;
		if (*c < ' ' || (*c >= 0x7f && *c < 0xa0) ||
			(*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)) {
			*c = '?';
			more = 0;
		}
	}
}

static inline void make_ascii(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text > '~')
			*text = '?';
}
