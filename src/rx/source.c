/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/source.h"

#include <stdarg.h>
#include <stdio.h>

void source_error(char *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, SOURCE_ERROR_MAX, format, args);
	va_end(args);
	for (char *c = error; *c != '\0'; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	}
}
