/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/shed/shed_options.h"

#include <stddef.h>

#include "parallel/epoch.h"
#include "parallel/shed/steps.h"
#include "rx/source.h"
#include "sketch/measurement.h"

const char *shed_policy_option_inapplicable(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return shed_policy_options(config)->policy != SHED_POLICY_OFF ? NULL : "without --overload";
}

const char *shed_policy_given_inapplicable(
	const struct config *config, const struct measurement_config *measurement)
{
	return shed_policy_given(config) ? NULL
					 : shed_policy_option_inapplicable(config, measurement);
}

const char *shed_policy_word(uint32_t i)
{
	static const char *const words[] = {
		[SHED_POLICY_OFF] = "off",
		[SHED_POLICY_SAMPLE] = "valve",
		[SHED_POLICY_GREEDY] = "greedy",
		[SHED_POLICY_LSF] = "lsf",
		[SHED_POLICY_QUERIES] = "queries",
		[SHED_POLICY_ADAPT] = "best",
		NULL,
	};

	return words[i];
}

OPTION_WORDS_OF(policy_suits, [SHED_POLICY_OFF] = "drop packets",
	[SHED_POLICY_SAMPLE] = "skip low-priority measurements, then sample, then only count",
	[SHED_POLICY_GREEDY] = "shed load, and reduce all measurements by one step at a time",
	[SHED_POLICY_LSF] = "shed load, and reduce measurements one by one, flow states first",
	[SHED_POLICY_QUERIES] = "shed load, and turn whole measurements off for an interval",
	[SHED_POLICY_ADAPT] = "shed load, and reduce by priority, then by least loss of accuracy")

static const char *inapplicable_without_controller(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return shed_policy_needs_controller(config)
		       ? NULL
		       : "without --overload greedy, lsf, queries or best";
}

static const struct option_row policy_rows[] = {
	{
		.name = "overload",
		.placeholder = "MODE",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		.rare = true,
		.set = "keep-up",
		.word = shed_policy_word,
		OPTION_FIELD(shed_policy_options, policy),
		.default_text = "off",
		.former = "keep-up",
		.suits = policy_suits,
		.help = "Select what to do under overload:",
		.man = "--export overload writes every change. Under greedy, lsf, queries and "
		       "best, a controller decides every 10 ms which steps measurements take. "
		       "greedy and lsf are for experiments.",
	},
	{
		.name = "reserve",
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_FRACTION,
		.rare = true,
		.inapplicable = inapplicable_without_controller,
		OPTION_FIELD(shed_policy_options, reserve),
		.zero = true,
		.default_text = "10%",
		.config_only = true,
		.help = "Keep this share of each worker's time idle. For overload = greedy, lsf, "
			"queries or best.",
	},
	{
		.name = "states-from",
		.placeholder = "FILE",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_STRING,
		.rare = true,
		.set = "keep-up",
		.reads = option_names_file,
		OPTION_FIELD(shed_policy_options, schedule),
		.default_note = "no schedule",
		.config_only = true,
		.help = "Change the detail at the packets that FILE lists, a file of --export "
			"overload. A capture then gives the same output each time.",
		.man = "FILE is CSV. A row applies from a packet of a worker on: column worker has "
		       "the worker, column packet the packet number. If column measurement is "
		       "empty, column to is the level of the worker: full, wait (only measurements "
		       "of the highest priority), 1/2 to 1/64 (sample one of N packets) or count (only "
		       "count packets). Otherwise, column to is full, a step of that measurement, "
		       "or a limit of its flow states.",
	},
	{0},
};

const struct option_owner shed_policy_owner = {
	.rows = policy_rows,
	.size = sizeof(struct shed_policy_options),
};

bool steps_to_keys(const struct measurement_config *measurement)
{
	char why[STEPS_WHY_MAX];
	struct steps steps;

	steps_parse(&steps, steps_options(measurement)->steps, why);
	return steps_detail(&steps, steps.n).key != NULL;
}

static bool read_steps(const struct option_text *text)
{
	struct steps steps;
	char why[STEPS_WHY_MAX];

	if (!steps_parse(&steps, text->text, why))
		return option_set_error(text, "%s", why);
	*(const char **)text->field = text->text;
	return true;
}

static const struct option_row steps_rows[] = {
	{
		.name = "priority",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		.rare = true,
		.inapplicable = shed_policy_given_inapplicable,
		OPTION_FIELD(steps_options, priority),
		.min = 1,
		.max = 1000,
		.default_text = "1",
		.config_only = true,
		.help = "Set the priority under overload. 1 is highest.",
	},
	{
		.name = "steps",
		.placeholder = "STEP,...",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_OWN,
		.rare = true,
		.inapplicable = shed_policy_given_inapplicable,
		.read = read_steps,
		OPTION_FIELD(steps_options, steps),
		.default_text = "rate:1/2,rate:1/4,rate:1/8,rate:1/16,rate:1/32,rate:1/64,off",
		.config_only = true,
		.help = "Reduce the detail of a measurement under overload in these steps. "
			"rate:1/2 to rate:1/64: sample packets. keys:1/2 to keys:1/64: count a "
			"share of the keys of a flow table. key:KEY: use a coarser key from the "
			"next interval. off: count nothing.",
	},
	{
		.name = "deadline",
		.placeholder = "TIME",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_TIME,
		.rare = true,
		.inapplicable = shed_policy_option_inapplicable,
		OPTION_FIELD(steps_options, deadline),
		.zero = true,
		.zero_means = "no deadline",
		.min = 1000 * 1000,
		.max = OPTION_CENTURY,
		.default_text = "0",
		.config_only = true,
		.help = "Measure one whole interval at full detail at least once per TIME, if no "
			"packets are lost by it. Takes precedence over priority. 0: no deadline.",
	},
	{0},
};

static bool check_steps(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct sketch_ops *ops = measurement_sketch(measurement);
	const struct key_rule *key = &measurement_options(measurement)->key;
	uint32_t shift = 0, keys = 0;
	struct steps steps;
	char text[STEPS_WHY_MAX];

	if (steps_options(measurement)->deadline > 0 && epoch_options(config)->interval == 0)
		return option_fault(
			fault, "deadline", measurement, "needs intervals; give --interval above 0");
	if (steps_options(measurement)->deadline > 0 &&
		steps_options(measurement)->deadline < epoch_options(config)->interval)
		return option_fault(fault, "deadline", measurement,
			"shorter than --interval; give a longer time");
	steps_parse(&steps, steps_options(measurement)->steps, text);
	for (uint32_t s = 0; s < steps.n; s++) {
		const struct step *step = &steps.steps[s];
		const char *why = step->kind == STEP_KEY && ops->check_key != NULL
					  ? ops->check_key(&step->key)
					  : NULL;

		if (step->kind == STEP_KEY && !key_rule_is_coarser(&step->key, key))
			why = "not coarser than the previous key";
		if (step->kind == STEP_KEY)
			key = &step->key;
		if (step->kind == STEP_RATE && step->shift <= shift)
			why = "must sample fewer packets than the previous rate";
		if (step->kind == STEP_RATE)
			shift = step->shift;
		if (step->kind == STEP_KEYS && step->shift <= keys)
			why = "must count fewer keys than the previous share";
		if (step->kind == STEP_KEYS)
			keys = step->shift;
		if (step->kind == STEP_KEYS && (ops->caps & SKETCH_RECORDS) == 0)
			why = "needs --sketch flow-table";
		if (step->kind == STEP_KEYS && source_is(config, SOURCE_RECORDS))
			why = "needs packets; give a rate, such as rate:1/4";
		if (step->kind == STEP_OFF && s + 1 < steps.n)
			why = "must be the last step";
		if (why != NULL)
			return option_fault(
				fault, "steps", measurement, "'%s': %s", step->word, why);
	}
	return true;
}

const struct option_owner steps_owner = {
	.rows = steps_rows,
	.size = sizeof(struct steps_options),
	.of_measurement = true,
	.check = check_steps,
};
