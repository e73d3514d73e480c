/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Control characters become '?': a message is one line, whatever names and files in it hold. */
static inline void make_printable(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

/* And so do the bytes of characters beyond ASCII, for who cannot take them. */
static inline void make_ascii(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text > '~')
			*text = '?';
}
