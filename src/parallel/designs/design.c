/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/plan/design.h"
#include "parallel/shed/shed_options.h"

#include <stddef.h>
#include <string.h>
/* generated from meson.build: #define DESIGNS DESIGN(name) ... */
#include "parallel/designs/design_names.h"
#include "rx/port/forwarding.h"
#include "rx/source.h"

#define DESIGN(name) extern const struct design_ops design_##name;
DESIGNS
#undef DESIGN

#define DESIGN(name) &design_##name,
const struct design_ops *const designs[] = {DESIGNS NULL};

const struct design_ops *design_find(const char *name)
{
	for (const struct design_ops *const *design = designs; *design != NULL; design++)
		if (strcmp((*design)->name, name) == 0)
			return *design;
	return NULL;
}

const struct design_ops *design_chosen(const struct config *config)
{
	if (source_is(config, SOURCE_KEYS) && source_of(config)->check_design != NULL &&
		shed_policy_given(config) && !config_asks(config, NULL, "design"))
		return &design_async;
	return designs[design_options(config)->design];
}

uint32_t design_index(const char *name)
{
	uint32_t i = 0;

	while (strcmp(designs[i]->name, name) != 0)
		i++;
	return i;
}

const char *design_word(uint32_t i)
{
	return designs[i] != NULL ? designs[i]->name : NULL;
}

static const char *design_suits(uint32_t i)
{
	return designs[i]->suits;
}

/* Returns the options of the i-th of the designs that have options. */
static const struct option_owner *design_part(uint32_t i)
{
	for (const struct design_ops *const *design = designs; *design != NULL; design++)
		if ((*design)->options != NULL && i-- == 0)
			return (*design)->options;
	return NULL;
}

static bool uses_hash(const struct config *config)
{
	const struct design_ops *design = design_chosen(config);

	return source_is(config, SOURCE_OF_PORTS) &&
	       (!design->rx_core ||
		       (design->hashes && async_options(config)->dispatch == DISPATCH_FLOW));
}

static bool check_design(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	static const char *const of_hash[] = {"rss-fields", "rss-key"};
	const struct design_ops *design = design_chosen(config);

	if (forward_asked(config) && !design->forwards)
		return option_fault(fault, "design", measurement,
			"%s contradicts --forward: each packet would wait for all workers; give "
			"rss or async",
			design->name);
	if (shed_policy_options(config)->policy != SHED_POLICY_OFF && !design->queues)
		return option_fault(fault, "design", measurement,
			"%s contradicts --overload: its workers have no queues of their own; "
			"give rss or async",
			design->name);
	if (shed_policy_given(config) && source_is(config, SOURCE_KEYS) && design != &design_async)
		return option_fault(fault, "design", measurement,
			"%s contradicts --overload with --%s: its packets wait in no queue of a "
			"worker; give async",
			design->name, source_option(config));
	if (source_of(config)->check_design != NULL &&
		!source_of(config)->check_design(config, measurement, fault))
		return false;
	for (uint32_t i = 0; i < 2 && !uses_hash(config); i++)
		if (config_asks(config, measurement, of_hash[i]))
			return option_fault(fault, of_hash[i], measurement,
				"has no effect without --port and --design rss or async:flow; omit it");
	return true;
}

static const struct option_row design_rows[] = {
	{
		.name = "design",
		.placeholder = "DESIGN",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		.suits = design_suits,
		.word = design_word,
		OPTION_FIELD(design_options, design),
		.default_text = "rss",
		.rare = true,
		.help = "Select how packets reach workers:",
		.man = "With --kernel and --overload, the default is async.",
	},
	{0},
};

const struct option_owner design_owner = {
	.rows = design_rows,
	.size = sizeof(struct design_options),
	.part = design_part,
	.check = check_design,
};
