/* SPDX-License-Identifier: BSD-3-Clause */

#include "report/rows/destination.h"

#include <string.h>

struct destination destination_of(const char *text)
{
#define FORMAT_WORD(name, word) [FORMAT_##name] = #word,
	static const char *const words[FORMAT_COUNT] = {ROW_FORMATS(FORMAT_WORD)};

	for (int f = 0; f < FORMAT_COUNT; f++) {
		size_t len = words[f] != NULL ? strlen(words[f]) : 0;

		if (len > 0 && strncmp(text, words[f], len) == 0 && text[len] == ':')
			return (struct destination){(enum output_format)f, text + len + 1};
	}
	return (struct destination){FORMAT_AUTO, text};
}
