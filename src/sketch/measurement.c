/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/measurement.h"

#include <stdio.h>
#include <string.h>

#define THRESHOLD_MIN 1e-6 /* a million keys may reach it, and each must be remembered */

const struct sketch_ops *measurement_sketch(const struct measurement_config *measurement)
{
	return sketches[measurement_options(measurement)->sketch];
}

struct sketch_params measurement_params(const struct measurement_config *measurement)
{
	const struct measurement_options *options = measurement_options(measurement);
	const struct sketch_ops *ops = sketches[options->sketch];
	struct sketch_params params = {
		.key = &options->key,
		.depth = options->depth,
		.width = options->width,
		.metric = options->count,
	};

	if (ops->configure != NULL)
		ops->configure(&params, measurement_block(measurement, ops->options));
	return params;
}

bool measurements_any(const struct config *config, uint32_t caps)
{
	for (uint32_t m = 0; m < config->nb_measurements; m++)
		if ((measurement_sketch(&config->measurements[m])->caps & caps) != 0)
			return true;
	return false;
}

bool measurements_deep(const struct config *config)
{
	for (uint32_t m = 0; m < config->nb_measurements; m++)
		if (measurement_params(&config->measurements[m]).deep.deepest != FLOW_COUNT)
			return true;
	return false;
}

const char *sketch_word(uint32_t i)
{
	return sketches[i] != NULL ? sketches[i]->name : NULL;
}

const char *sketch_alias(uint32_t i)
{
	return sketches[i]->alias;
}

static const char *sketch_suits(uint32_t i)
{
	return sketches[i]->suits;
}

/* The options of sketches, one after the other. */
static const struct option_owner *sketch_part(uint32_t i)
{
	for (const struct sketch_ops *const *ops = sketches; *ops != NULL; ops++)
		if ((*ops)->options != NULL && i-- == 0)
			return (*ops)->options;
	return NULL;
}

/* "4 for count-min, 1 for simple-hash" */
static void note_of_each(char *note, size_t size, uint64_t (*value)(const struct sketch_ops *ops))
{
	size_t used = 0;

	for (uint32_t i = 0; sketches[i] != NULL && used < size; i++)
		used += (size_t)snprintf(note + used, size - used, "%s%llu for %s",
			i > 0 ? ", " : "", (unsigned long long)value(sketches[i]),
			sketches[i]->name);
}

static uint64_t depth_of(const struct sketch_ops *ops)
{
	return ops->default_depth;
}

static uint64_t width_of(const struct sketch_ops *ops)
{
	return ops->default_width;
}

static void note_depth(char *note, size_t size)
{
	note_of_each(note, size, depth_of);
}

static void note_width(char *note, size_t size)
{
	note_of_each(note, size, width_of);
}

static bool read_key(const struct option_text *text)
{
	char why[KEY_RULE_WHY_MAX];

	return key_rule_parse(text->field, text->text, why) || option_refuse(text, "%s", why);
}

OPTION_WORDS_OF(metric_word, [SKETCH_PACKETS] = "packets", [SKETCH_BYTES] = "bytes")

static bool check_memory(const struct measurement_config *measurement, struct option_fault *fault)
{
	const struct sketch_ops *ops = measurement_sketch(measurement);
	struct sketch_params params = measurement_params(measurement);
	uint64_t memory = measurement_options(measurement)->memory, enough = memory;

	if (sketch_width_for(ops, &params, memory) != 0)
		return true;
	while (sketch_width_for(ops, &params, enough) == 0)
		enough *= 2;
	return option_fault(fault, "memory", measurement,
		"%llu bytes are too few for one %s; give %lluKB", (unsigned long long)memory,
		ops->name, (unsigned long long)(enough + 1023) / 1024);
}

static bool check_shape(const struct measurement_config *measurement, struct option_fault *fault)
{
	const struct measurement_options *options = measurement_options(measurement);
	const struct sketch_ops *ops = measurement_sketch(measurement);
	struct sketch_params params = measurement_params(measurement);
	const char *option = options->width != 0 ? "width"
			     : params.width != 0 ? ops->width_option
						 : "depth";
	const char *why;

	/* With --memory the width follows; what is wrong then is a depth that no width suits. */
	if (options->memory != 0)
		params.width = sketch_width_for(ops, &params, SIZE_MAX);
	why = ops->check(&params);
	if (why == NULL)
		return options->memory == 0 || check_memory(measurement, fault);
	return option_fault(fault, option, measurement, "%u x %llu counters: %s", params.depth,
		(unsigned long long)params.width, why);
}

static bool check_measurement(const struct config *config,
	const struct measurement_config *measurement, struct option_fault *fault)
{
	const struct measurement_options *options = measurement_options(measurement);
	const struct sketch_ops *ops = measurement_sketch(measurement);
	const char *why = ops->check_key != NULL ? ops->check_key(&options->key) : NULL;

	(void)config;
	if (why != NULL)
		return option_fault(fault, "key", measurement, "%s %s", options->key.name, why);
	if (options->threshold > 0 && options->threshold < THRESHOLD_MIN)
		return option_fault(fault, "threshold", measurement,
			"is too small to be of use; give 0.000001 or more");
	if (options->top == 0 && options->threshold <= 0)
		return option_fault(fault, "top", measurement,
			"0 reports every key that reaches --threshold; give --threshold too");
	return check_shape(measurement, fault);
}

static const struct option_row measurement_rows[] = {
	{
		.name = "sketch",
		.placeholder = "SKETCH",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		.suits = sketch_suits,
		.alias = sketch_alias,
		.word = sketch_word,
		OPTION_FIELD(measurement_options, sketch),
		.default_text = "count-min",
		.help = "What counts:",
	},
	{
		.name = "key",
		.placeholder = "KEY",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_OWN,
		.read = read_key,
		OPTION_FIELD(measurement_options, key),
		.default_text = "5tuple",
		.help = "What is counted: 5tuple, src, dst, src-dst, 6tuple (the 5-tuple and the "
			"TCP flags), routers (ingress and egress), or src_port, dst_port, proto" KEY_EXTRA_FIELDS(
				KEY_EXTRA_HELP) ". Several with commas: src,dst_port. Addresses as "
						"prefixes: src/24 of IPv4, src/24/48 of IPv4 and IPv6.",
	},
	{
		.name = "count",
		.placeholder = "METRIC",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		.word = metric_word,
		OPTION_FIELD(measurement_options, count),
		.default_text = "packets",
		.help = "What makes a key heavy: packets or bytes.",
	},
	{
		.name = "depth",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		.note = note_depth,
		.rare = true,
		OPTION_FIELD(measurement_options, depth),
		.min = 1,
		.max = 16,
		.help = "Rows of the sketch. Of an iblt: cells of a flow, 3 or 4.",
	},
	{
		.name = "width",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		.note = note_width,
		OPTION_FIELD(measurement_options, width),
		.set = "shape",
		.min = 2,
		.max = UINT64_C(1) << 32,
		.power_of_two = true,
		.help = "Counters of each row, a power of two. Depth times log2(width) is at "
			"most 128. Of a flow-table: its buckets, and the keys that fit in any "
			"case. Of an iblt: its cells of each row; depth times width times 0.7 IPv4 "
			"flows can be decoded, and half as many IPv6 flows beside them.",
	},
	{
		.name = "memory",
		.rare = true,
		.placeholder = "SIZE",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_SIZE,
		OPTION_FIELD(measurement_options, memory),
		.set = "shape",
		.min = 1,
		.max = UINT64_MAX,
		.help = "Instead of --width: the widest rows with which one instance of the "
			"sketch fits. A run has workers x 2 instances.",
	},
	{
		.name = "top",
		.placeholder = "N",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_COUNT,
		OPTION_FIELD(measurement_options, top),
		.zero = true,
		.min = 1,
		.max = 1000 * 1000,
		.default_text = "100",
		.help = "Report the N heaviest keys of each interval. 0: as many as reach "
			"--threshold. Without this or --threshold a terminal shows 20 of a "
			"capture.",
	},
	{
		.name = "threshold",
		.rare = true,
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FRACTION,
		OPTION_FIELD(measurement_options, threshold),
		.zero = true,
		.default_text = "0",
		.help = "Report only keys that have at least this share of the interval's "
			"packets, or of its bytes with --count bytes.",
	},
	{
		.name = "confidence",
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FRACTION,
		.rare = true,
		OPTION_FIELD(measurement_options, confidence),
		.default_text = "0.999",
		.help = "Probability with which the bounds of all rows of an interval together "
			"hold.",
	},
	{0},
};

const struct option_owner measurement_owner = {
	.rows = measurement_rows,
	.size = sizeof(struct measurement_options),
	.of_measurement = true,
	.part = sketch_part,
	.check = check_measurement,
};
