/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/source.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "rx/filter/filter_program.h"

void source_error(char *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, SOURCE_ERROR_MAX, format, args);
	va_end(args);
	make_printable(error);
}

const struct source_traits *source_of(const struct config *config)
{
	static const struct source_traits none = {0};
	const char *by;
	const struct option_selected *selected = config_selected(config, &by);

	/* `selected` is the first member of struct source_traits. */
	return selected != NULL ? (const struct source_traits *)(const void *)selected : &none;
}

const char *source_option(const struct config *config)
{
	const char *by;

	config_selected(config, &by);
	return by;
}

bool source_warning(const struct source *source, unsigned int i, char *text)
{
	return source->warning != NULL && source->warning(source, i, text);
}

bool source_filter(
	struct source *source, const char *expression, struct filter_set *set, char *error)
{
	char reason[FILTER_ERROR_MAX];

	if (source != NULL && source->filter != NULL) {
		if (source->filter(source, expression, set))
			return true;
		memcpy(error, source->error, SOURCE_ERROR_MAX);
		return false;
	}
	if (filter_set_add_ethernet(set, expression, reason) >= 0)
		return true;
	source_error(error, "--filter: %s", reason);
	return false;
}
