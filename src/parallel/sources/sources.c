/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/sources/sources.h"

#include <stddef.h>

#include "rx/capture/source_names.h" /* made by meson.build: SOURCES, a SOURCE(name) for each */

#define SOURCE(name) extern const struct source_kind source_##name;
SOURCES
#undef SOURCE

#define SOURCE(name) &source_##name,
static const struct source_kind *const sources[] = {SOURCES NULL};

int sources_open(const struct config *config, struct source **source, char *error)
{
	*source = NULL;
	for (uint32_t i = 0; sources[i] != NULL; i++)
		if (sources[i]->open != NULL &&
			config_asks(config, NULL, sources[i]->options->rows[0].name))
			return sources[i]->open(config, source, error);
	return 0;
}

bool sources_check(const struct config *config, const char *verb, struct option_fault *fault)
{
	char choices[200];

	if (config_asks_of_set(config, SOURCE_SET) != NULL)
		return true;
	config_name_set(config, SOURCE_SET, choices, sizeof(choices));
	return option_fault(fault, NULL, NULL, "nothing to %s: give %s", verb, choices);
}

static const struct option_owner *source_part(uint32_t i)
{
	return sources[i] != NULL ? sources[i]->options : NULL;
}

const struct option_owner sources_owner = {.part = source_part};
