/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/generate/synthetic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define TEXT_MAX  256
#define FLOWS_MAX (UINT64_C(1) << 28)
#define ZIPF_MAX  UINT64_C(10000000) /* exponent 10 */
#define SIZE_MIN  60                 /* minimum Ethernet frame without FCS */
#define SIZE_MAX_ 9000
#define RATE_MAX  UINT64_C(1000000000)
#define TIME_MAX  UINT64_C(86400000000000) /* 1 day, in ns */

/* Bytes on the link for each frame: FCS 4, preamble 8, gap 12 */
#define WIRE_OVERHEAD    24
#define LINK_BYTES_PER_S UINT64_C(12500000000) /* 100 Gb/s */

struct synthetic_field {
	const char *name;
	const char *allowed;
	bool (*read)(const char *value, struct synthetic_spec *spec);
};

static bool read_range(const char *value, uint64_t min, uint64_t max, uint64_t *number)
{
	return units_count(value, number) == NULL && *number >= min && *number <= max;
}

static bool read_flows(const char *value, struct synthetic_spec *spec)
{
	return read_range(value, 1, FLOWS_MAX, &spec->flows);
}

/* The words "random" and "uniform" are also valid without zipf=. */
static bool read_word(const char *word, struct synthetic_spec *spec)
{
	spec->random = strcmp(word, "random") == 0;
	spec->zipf_e6 = 0;
	return spec->random || strcmp(word, "uniform") == 0;
}

/* If `mark` is missing, returns false, and both parts are the whole value. */
static bool split(const char *value, char mark, char first[TEXT_MAX], const char **second)
{
	const char *at = strchr(value, mark);

	snprintf(first, TEXT_MAX, "%.*s", at != NULL ? (int)(at - value) : (int)strlen(value),
		value);
	*second = at != NULL ? at + 1 : value;
	return at != NULL;
}

/* Reads digits with up to six decimals, exactly and in any locale. */
static bool read_exponent(const char *value, uint32_t *exponent_e6)
{
	size_t whole = strspn(value, "0123456789");
	size_t decimals = value[whole] == '.' ? strspn(value + whole + 1, "0123456789") : 0;
	uint64_t e6 = 0;

	if (whole == 0 || whole > 4 || decimals > 6 ||
		value[whole + (value[whole] == '.') + decimals] != '\0')
		return false;
	for (size_t i = 0; i < whole; i++)
		e6 = e6 * 10 + (uint64_t)(value[i] - '0');
	for (size_t i = 0; i < 6; i++)
		e6 = e6 * 10 + (i < decimals ? (uint64_t)(value[whole + 1 + i] - '0') : 0);
	*exponent_e6 = (uint32_t)e6;
	return e6 <= ZIPF_MAX;
}

static bool read_zipf(const char *value, struct synthetic_spec *spec)
{
	char from[TEXT_MAX];
	const char *to;

	if (read_word(value, spec))
		return true;
	spec->drifts = split(value, '-', from, &to);
	return read_exponent(from, &spec->zipf_e6) && read_exponent(to, &spec->zipf_to_e6);
}

static bool read_size(const char *value, struct synthetic_spec *spec)
{
	char first[TEXT_MAX];
	const char *second;
	uint64_t min, max;

	if (strcmp(value, "imix") == 0) {
		spec->size = SYNTHETIC_SIZE_IMIX;
		return true;
	}
	split(value, '-', first, &second);
	if (!read_range(first, SIZE_MIN, SIZE_MAX_, &min) ||
		!read_range(second, SIZE_MIN, SIZE_MAX_, &max))
		return false;
	spec->size_min = (uint32_t)min;
	spec->size_max = (uint32_t)max;
	return min <= max;
}

static bool read_packets(const char *value, struct synthetic_spec *spec)
{
	return read_range(value, 0, UINT64_MAX, &spec->packets);
}

static bool read_pps(const char *value, uint64_t min, uint64_t *rate)
{
	return (units_count(value, rate) == NULL || units_rate(value, rate) == NULL) &&
	       *rate >= min && *rate <= RATE_MAX;
}

static bool read_time(const char *value, uint64_t *ns)
{
	return units_time(value, ns) == NULL && *ns >= 1 && *ns <= TIME_MAX;
}

/* The value is PEAK:PERIOD. Each period must have at least one packet. */
static bool read_sine(const char *value, struct synthetic_spec *spec)
{
	char peak[TEXT_MAX];
	const char *period;

	spec->load = SYNTHETIC_SINE;
	return split(value, ':', peak, &period) && read_pps(peak, 1, &spec->rate) &&
	       read_time(period, &spec->load_time) &&
	       (unsigned __int128)spec->rate * spec->load_time >= 2 * (uint64_t)SECOND_NS;
}

static bool read_rate(const char *value, struct synthetic_spec *spec)
{
	char from[TEXT_MAX];
	const char *to;

	if (strncmp(value, "sine:", 5) == 0)
		return read_sine(value + 5, spec);
	if (!split(value, '-', from, &to))
		return read_pps(value, 1, &spec->rate);
	spec->load = SYNTHETIC_RAMP;
	return read_pps(from, 0, &spec->rate_from) && read_pps(to, 1, &spec->rate);
}

static bool read_over(const char *value, struct synthetic_spec *spec)
{
	return read_time(value, &spec->drift_time);
}

static bool read_share(const char *value, uint32_t *e6)
{
	double fraction;

	if (units_fraction(value, &fraction) != NULL)
		return false;
	*e6 = (uint32_t)(fraction * 1e6 + 0.5);
	return true;
}

static bool read_ipv6(const char *value, struct synthetic_spec *spec)
{
	return read_share(value, &spec->ipv6_e6);
}

static bool read_vlan(const char *value, struct synthetic_spec *spec)
{
	return read_share(value, &spec->vlan_e6);
}

static bool read_seed(const char *value, struct synthetic_spec *spec)
{
	return read_range(value, 0, UINT64_MAX, &spec->seed);
}

static const struct synthetic_field fields[] = {
	{"flows", "1 to 268435456", read_flows},
	{"zipf", "an exponent from 0 to 10 with at most six decimals, FROM-TO, random or uniform",
		read_zipf},
	{"size", "imix; a number of bytes, 60 to 9000; or MIN-MAX", read_size},
	{"packets", "a count, such as 5M; 0 is endless", read_packets},
	{"rate",
		"a rate of 1pps to 1Gpps, such as 2Mpps; FROM-TO, where FROM may be 0; or "
		"sine:PEAK:PERIOD, with one or more packets per PERIOD of up to 1d",
		read_rate},
	{"over", "a time up to 1d, such as 500ms", read_over},
	{"ipv6", "a share from 0 to 1", read_ipv6},
	{"vlan", "a share from 0 to 1", read_vlan},
	{"seed", "a whole number", read_seed},
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))
#define FIELD_ZIPF  1

static bool fail(char *error, const char *item, const char *why)
{
	source_error(error, "%.80s: %s", *item != '\0' ? item : "empty field", why);
	return false;
}

/* Sets bit f of *seen if the item is field f. */
static bool read_item(char *item, struct synthetic_spec *spec, uint32_t *seen, char *error)
{
	char *equals = strchr(item, '=');
	size_t length = equals != NULL ? (size_t)(equals - item) : strlen(item);
	uint32_t f = 0;

	if (equals == NULL && read_word(item, spec)) {
		f = FIELD_ZIPF;
	} else {
		while (f < FIELD_COUNT && (strlen(fields[f].name) != length ||
						  strncmp(fields[f].name, item, length) != 0))
			f++;
		if (f == FIELD_COUNT || equals == NULL)
			return fail(error, item,
				"unknown field; fields: flows, zipf, size, packets, rate, over, "
				"ipv6, vlan, seed, random, uniform");
	}
	if (*seen >> f & 1)
		return fail(error, item,
			f == FIELD_ZIPF ? "contradicts an earlier zipf=, random or uniform"
					: "given twice");
	*seen |= 1u << f;
	if (equals != NULL && !fields[f].read(equals + 1, spec)) {
		char why[192];

		snprintf(why, sizeof(why), "allowed: %s", fields[f].allowed);
		return fail(error, item, why);
	}
	return true;
}

/* Returns packets per second. */
static uint64_t link_rate(const struct synthetic_spec *spec)
{
	if (spec->size == SYNTHETIC_SIZE_IMIX)
		return LINK_BYTES_PER_S * SYNTHETIC_IMIX_TOTAL /
		       (SYNTHETIC_IMIX_BYTES + SYNTHETIC_IMIX_TOTAL * WIRE_OVERHEAD);
	return LINK_BYTES_PER_S * 2 / (spec->size_min + spec->size_max + 2 * WIRE_OVERHEAD);
}

static bool settle_changes(struct synthetic_spec *spec, char *error)
{
	if (spec->drift_time > 0 && !spec->drifts && spec->load != SYNTHETIC_RAMP)
		return fail(error, "over", "needs rate=FROM-TO or zipf=FROM-TO");
	if (spec->drift_time == 0 && spec->drifts && spec->packets == 0)
		return fail(
			error, "zipf=FROM-TO", "needs over=TIME if packets=0; example: over=10s");
	if (spec->load == SYNTHETIC_RAMP)
		spec->load_time = spec->drift_time > 0 ? spec->drift_time : (uint64_t)SECOND_NS;
	return true;
}

bool synthetic_parse(const char *text, struct synthetic_spec *spec, char *error)
{
	char copy[TEXT_MAX];
	char *rest = copy, *item;
	uint32_t seen = 0;

	*spec = (struct synthetic_spec){
		.flows = 1000000,
		.zipf_e6 = 1050000,
		.size = SYNTHETIC_SIZE_RANGE,
		.size_min = 64,
		.size_max = 64,
		.packets = 5000000,
		.seed = 1,
	};
	if (strlen(text) >= sizeof(copy)) {
		source_error(error, "longer than %zu characters", sizeof(copy) - 1);
		return false;
	}
	strcpy(copy, text);
	while (*text != '\0' && (item = strsep(&rest, ",")) != NULL) {
		if (!read_item(item, spec, &seen, error))
			return false;
	}
	if (spec->rate == 0)
		spec->rate = link_rate(spec);
	return settle_changes(spec, error);
}

static bool check_spec(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const char *text = synthetic_options(config)->spec;
	struct synthetic_spec spec;
	char why[SOURCE_ERROR_MAX];

	(void)measurement;
	return text == NULL || synthetic_parse(text, &spec, why) ||
	       option_fault(fault, "synthetic", NULL, "%s", why);
}

extern const struct source_traits source_generate;

static const struct option_row synthetic_rows[] = {
	{
		.name = "synthetic",
		.placeholder = "SPEC",
		.type = OPTION_STRING,
		OPTION_FIELD(synthetic_options, spec),
		SOURCE_OPTION(source_generate),
		.help = "Generate packets by SPEC: name=value,... with flows=1M, "
			"zipf=1.05|FROM-TO|random, size=64|imix|MIN-MAX, packets=5M, "
			"rate=...|FROM-TO|sine:PEAK:PERIOD, over=1s, ipv6=0.0, vlan=0.0, seed=1. "
			"The same SPEC gives the same packets on every host.",
	},
	{0},
};

const struct option_owner synthetic_owner = {
	.rows = synthetic_rows,
	.size = sizeof(struct synthetic_options),
	.check = check_spec,
};
