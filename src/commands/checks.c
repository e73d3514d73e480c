/* SPDX-License-Identifier: BSD-3-Clause */

#include "commands/command.h"
#include "config/options.h"

bool checks_pace(const struct config *config, struct option_fault *fault)
{
	const char *option = source_option(config), *pacer = source_of(config)->pacer;

	return feeder_options(config)->pace == PACE_UNPACED || option == NULL || pacer == NULL ||
	       option_fault(fault, "pace", NULL, "contradicts --%s: %s", option, pacer);
}

/* Other sources read flow records or counters, not packets. */
static bool check_profiled(const struct config *config, struct option_fault *fault)
{
	return profile_options(config)->file == NULL || source_is(config, SOURCE_PACKETS) ||
	       option_fault(fault, "profile", NULL,
		       "contradicts --%s: a profile needs workers that receive packets",
		       source_option(config));
}

/* *measurement: the measurement that has the option, or NULL if the run has it. */
static bool is_asked(const struct config *config, const char *option,
	const struct measurement_config **measurement)
{
	*measurement = NULL;
	if (config_asks(config, NULL, option))
		return true;
	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		*measurement = &config->measurements[m];
		if (config_asks(config, *measurement, option))
			return true;
	}
	return false;
}

bool checks_collector(const struct config *config, struct option_fault *fault)
{
	static struct config run, collector;
	const struct measurement_config *measurement;

	if (!source_is(config, SOURCE_RECORDS))
		return true;
	config_init(&run, &command_run);
	config_init(&collector, &command_collect);
	for (uint32_t i = 0; i < run.nb_rows; i++) {
		const char *name = run.rows[i].row->name;

		if (options_find(&collector, name) == NULL && is_asked(config, name, &measurement))
			return option_fault(fault, name, measurement,
				"has no effect with --%s: not an option of collect",
				source_option(config));
	}
	return true;
}

bool checks_source(const struct config *config, struct option_fault *fault)
{
	return sources_check(config, "measure", fault) && checks_pace(config, fault) &&
	       check_profiled(config, fault) && checks_collector(config, fault);
}

static bool needs_intervals(const struct config *config)
{
	for (uint32_t m = 0; m < config->nb_measurements; m++)
		if (steps_options(&config->measurements[m])->deadline > 0 ||
			measurement_params(&config->measurements[m]).load > 0)
			return true;
	return drill_down_any(config);
}

void checks_at_terminal(struct config *config)
{
	if (source_of(config)->pacer != NULL || !writer_shows_table(config, true))
		return;
	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		struct measurement_config *measurement = &config->measurements[m];

		if (writer_to_stdout(config, ROWS_HEAVY_HITTERS) &&
			!config_asks(config, measurement, "top") &&
			!config_asks(config, measurement, "threshold"))
			edit_measurement_options(measurement)->top = 20;
	}
	if (!writer_names_files(config) && !config_asks(config, NULL, "interval") &&
		!needs_intervals(config))
		edit_epoch_options(config)->interval = 0;
}

const struct command_letter checks_letters[] = {
	{'n', NULL}, /* names are never resolved */
	{'w', "packets are not stored; tcpdump -w writes a capture, sketchtap generate "
	      "--output FILE a synthetic one"},
	{0, NULL},
};
