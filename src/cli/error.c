/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/printable.h"

int cli_error(int status, const char *format, ...)
{
	char line[CLI_ERROR_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	make_printable(line);
	fprintf(stderr, "sketchtap: %s\n", line);
	return status;
}
