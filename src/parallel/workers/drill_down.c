/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/workers/drill_down.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "parallel/epoch.h"
#include "parallel/shed/shed_options.h"
#include "rx/source.h"
#include "sketch/measurement.h"

bool drill_down_any(const struct config *config)
{
	for (uint32_t m = 0; m < config->nb_measurements; m++)
		if (drill_down_given(&config->measurements[m]))
			return true;
	return false;
}

void drill_down_renew(
	struct drill_down *drill_down, const struct hash_key *hash_key, uint64_t epoch)
{
	struct key_set *set = &drill_down->sets[epoch & 1];

	key_set_clear(set);
	for (uint32_t i = 0; i < drill_down->heavy.n; i++) {
		const struct key *key = &drill_down->heavy.of[i].key;

		/* Fails and drops the key in about one of a million sets. */
		key_set_add(set, key, hash_one(hash_key, key));
	}
}

_Static_assert(
	sizeof(struct drill_down) < HEAVY_KEYS_BYTES + 1024, "a plan has HEAVY_KEYS_BYTES for it");

static bool read_source(const struct option_text *text)
{
	struct drill_down_source choice = {0};
	const char *colon = strrchr(text->text, ':'), *why;
	size_t len = colon != NULL ? (size_t)(colon - text->text) : 0;

	if (len == 0 || len >= sizeof(choice.networks))
		return option_set_error(
			text, "not %s; example: networks:5%%", text->row->placeholder);
	memcpy(choice.networks, text->text, len);
	why = units_fraction(colon + 1, &choice.share);
	if (why != NULL)
		return option_set_error(text, "share %s", why);
	if (choice.share <= 0 || choice.share >= 1)
		return option_set_error(text, "share out of range; give more than 0 and below 1");
	*(struct drill_down_source *)text->field = choice;
	return true;
}

static const struct measurement_config *find_measurement(
	const struct config *config, const char *name)
{
	for (uint32_t m = 0; m < config->nb_measurements; m++)
		if (strcmp(config->measurements[m].name, name) == 0)
			return &config->measurements[m];
	return NULL;
}

/* Returns true if this measurement drills down into itself, directly or through others. */
static bool is_circle(const struct config *config, const struct measurement_config *measurement)
{
	const struct measurement_config *next = measurement;

	for (uint32_t i = 0; i < config->nb_measurements && drill_down_given(next); i++) {
		next = find_measurement(config, drill_down_options(next)->within.networks);
		if (next == measurement || next == NULL)
			break;
	}
	return next == measurement && drill_down_given(measurement);
}

static bool check_source(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const char *name = drill_down_options(measurement)->within.networks;
	const struct measurement_config *networks = find_measurement(config, name);

	if (!drill_down_given(measurement))
		return true;
	if (networks == NULL)
		return option_fault(fault, "within", measurement,
			"'%s': no such measurement; name one that counts networks", name);
	if (networks == measurement)
		return option_fault(fault, "within", measurement,
			"'%s': is this measurement; name another one", name);
	if (is_circle(config, measurement))
		return option_fault(fault, "within", measurement,
			"'%s' also drills down into '%s'; omit within in one of them", name,
			measurement->name);
	if (steps_to_keys(measurement) || steps_to_keys(networks))
		return option_fault(fault, "within", measurement,
			"the keys of this measurement and of '%s' must not change; omit key:KEY in "
			"steps",
			name);
	if (measurement_options(networks)->key.extra)
		return option_fault(fault, "within", measurement,
			"'%s' has key = %s; name a measurement of addresses, ports and proto "
			"only, such as dst/24",
			name, measurement_options(networks)->key.name);
	return true;
}

static const char *inapplicable_without_intervals(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return epoch_options(config)->interval == 0 ? "with --interval 0" : NULL;
}

static const char *inapplicable_without_within(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return drill_down_any(config) ? NULL : "if within is not set";
}

static const struct option_row option_rows_of_source[] = {
	{
		.name = "within",
		.placeholder = "MEASUREMENT:FRACTION",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_OWN,
		.rare = true,
		.read = read_source,
		.not_for = SOURCE_KEYS | SOURCE_RECORDS,
		.inapplicable = inapplicable_without_intervals,
		OPTION_FIELD(drill_down_options, within),
		.default_note = "everything",
		.config_only = true,
		.help = "Drill down: count only packets that match a heavy key of another "
			"measurement. A key is heavy if its share was at least FRACTION two "
			"intervals earlier. The limit is 1024 keys. Keys may have addresses, ports "
			"and proto.",
	},
	{
		.name = "stay",
		.placeholder = "TIME",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_TIME,
		.rare = true,
		.inapplicable = inapplicable_without_within,
		OPTION_FIELD(drill_down_options, stay),
		.zero = true,
		.zero_means = "not at all",
		.min = 1,
		.max = OPTION_CENTURY,
		.default_text = "0",
		.config_only = true,
		.help = "Continue drilling into a key for TIME after it was last heavy.",
	},
	{0},
};

const struct option_owner drill_down_owner = {
	.rows = option_rows_of_source,
	.size = sizeof(struct drill_down_options),
	.of_measurement = true,
	.check = check_source,
};
