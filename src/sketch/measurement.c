/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/measurement.h"

#include <stdio.h>
#include <string.h>

#include "base/power_of_two.h"
#include "base/units.h"

/* The report stores all keys that reach the threshold: up to a million. */
#define THRESHOLD_MIN 1e-6

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

/* `i` counts only sketches that have options. Returns NULL after the last. */
static const struct option_owner *sketch_part(uint32_t i)
{
	for (const struct sketch_ops *const *ops = sketches; *ops != NULL; ops++)
		if ((*ops)->options != NULL && i-- == 0)
			return (*ops)->options;
	return NULL;
}

/* Writes the defaults of all sketches: `4 for count-min, 1 for simple-hash`. */
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

	return key_rule_parse(text->field, text->text, why) || option_set_error(text, "%s", why);
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
		"%llu bytes: too small for one %s; give %lluKB", (unsigned long long)memory,
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

	if (!ops->any_width && (options->width & (options->width - 1)) != 0)
		return option_fault(fault, "width", measurement,
			"%llu: not a power of two; the next is %llu",
			(unsigned long long)options->width,
			(unsigned long long)power_of_two_at_least(options->width));
	/* With --memory, an error means that no width fits the depth. */
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
		return option_fault(
			fault, "threshold", measurement, "too small; give 0.000001 or more");
	if (options->top == 0 && options->threshold <= 0)
		return option_fault(fault, "top", measurement,
			"0 reports every key that reaches --threshold; give --threshold too");
	return check_shape(measurement, fault);
}

/* Accepts all numbers. check_shape() requires a power of two for most sketches. */
static bool read_width(const struct option_text *text)
{
	const struct option_row *row = text->row;
	uint64_t width;
	const char *why = units_entries(text->text, &width);

	if (why != NULL)
		return option_set_error(text, "%s", why);
	if (width < row->min || width > row->max)
		return option_set_error(text, "out of range; give %llu to %llu",
			(unsigned long long)row->min, (unsigned long long)row->max);
	*(uint64_t *)text->field = width;
	return true;
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
		.help = "Select the data structure that counts:",
	},
	{
		.name = "key",
		.placeholder = "KEY",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_OWN,
		.read = read_key,
		OPTION_FIELD(measurement_options, key),
		.default_text = "5tuple",
		.help = "Count packets per KEY: 5tuple, src, dst, src-dst, 6tuple (5-tuple and TCP "
			"flags), routers (ingress and egress), or fields: src_port, dst_port, "
			"proto" KEY_EXTRA_FIELDS(
				KEY_EXTRA_HELP) ". Combine them with commas: "
						"src,dst_port. Prefixes: src/24 for IPv4, src/24/48 for IPv4 and IPv6.",
	},
	{
		.name = "rank-by",
		.placeholder = "METRIC",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		.word = metric_word,
		OPTION_FIELD(measurement_options, count),
		.default_text = "packets",
		.former = "count",
		.rare = true,
		.help = "Rank keys by METRIC: packets or bytes.",
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
		.help = "Set the rows of the sketch. iblt: cells per flow, 3 or 4.",
	},
	{
		.name = "width",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_OWN,
		.note = note_width,
		OPTION_FIELD(measurement_options, width),
		.set = "shape",
		.min = 2,
		.max = UINT64_C(1) << 32,
		.rare = true,
		.read = read_width,
		.help = "Set the counters of each row, a power of two. depth x log2(width) is at "
			"most 128. flow-table: buckets, any number; this many keys always fit. "
			"compact-table: records, any number; an IPv6 key takes two. "
			"iblt: cells of each row; depth x width x 0.7 flows can be decoded.",
		.man = "In an iblt, half as many IPv6 flows can be decoded in addition.",
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
		.help = "Set the size of one sketch copy instead of --width: the widest rows that "
			"fit. A run has workers x 2 copies.",
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
		.help = "Report the N largest keys of each interval. 0: all keys that reach "
			"--threshold. A terminal shows 20 keys of a capture if neither option is "
			"given.",
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
		.help = "Report only keys with at least this share of the packets of an interval, "
			"or of its bytes with --rank-by bytes.",
	},
	{
		.name = "confidence",
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FRACTION,
		.rare = true,
		OPTION_FIELD(measurement_options, confidence),
		.default_text = "0.999",
		.config_only = true,
		.help = "Set the probability that all bounds of an interval hold together.",
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
