/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Control characters become '?': a message is one line, whatever names and files in it hold. */
static inline void make_printable(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}
