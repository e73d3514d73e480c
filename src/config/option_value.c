/* SPDX-License-Identifier: BSD-3-Clause */

#include "config/option_value.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/power_of_two.h"
#include "base/units.h"
#include "sketch/sketch.h"

#define ZIPF_E6_MAX 10000000 /* as --synthetic allows */
#define LCORE_MAX   1023     /* as many CPUs as a cpu_set_t holds */
#define DAY_NS      (UINT64_C(24) * 3600 * 1000000000)

/* What one call of option_set() works on. */
struct assignment {
	const struct option_row *row;
	const char *text;
	struct config *config;
	void *field;
	char *why; /* [OPTION_WHY_MAX] */
};

__attribute__((format(printf, 2, 3))) static bool refuse(
	const struct assignment *a, const char *format, ...)
{
	va_list arguments;
	/* A value as long as the phrase would push out the reason. */
	int used = snprintf(
		a->why, OPTION_WHY_MAX, strlen(a->text) > 200 ? "'%.200s...' " : "'%s' ", a->text);

	va_start(arguments, format);
	vsnprintf(a->why + used, (size_t)(OPTION_WHY_MAX - used), format, arguments);
	va_end(arguments);
	return false;
}

static bool set_flag(const struct assignment *a)
{
	static const char *const words[] = {"no", "yes", "off", "on", "false", "true", "0", "1"};

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(a->text, words[i]) == 0) {
			*(bool *)a->field = (i & 1) != 0;
			return true;
		}
	}
	return refuse(a, "is neither yes nor no");
}

static bool set_string(const struct assignment *a)
{
	if (*a->text == '\0')
		return refuse(a, "is empty; give %s", a->row->placeholder);
	*(const char **)a->field = a->text;
	return true;
}

static bool set_list(const struct assignment *a)
{
	uint32_t *count = (uint32_t *)((char *)a->config + a->row->count_offset);

	if (*a->text == '\0')
		return refuse(a, "is empty; give %s", a->row->placeholder);
	if (*count == CONFIG_LIST_MAX)
		return refuse(a, "is one too many; at most %u", CONFIG_LIST_MAX);
	((const char **)a->field)[(*count)++] = a->text;
	return true;
}

/* Checks a number against the row's limits; 0 is looked at before. */
static bool check_count(const struct assignment *a, uint64_t value)
{
	const struct option_row *row = a->row;

	if (value < row->min || value > row->max) {
		return refuse(a, "is out of range; give %llu to %llu%s",
			(unsigned long long)row->min, (unsigned long long)row->max,
			row->zero ? ", or 0" : "");
	}
	if (row->power_of_two && (value & (value - 1)) != 0) {
		return refuse(a, "is not a power of two; the next is %llu",
			(unsigned long long)power_of_two_at_least(value));
	}
	return true;
}

static bool store_count(const struct assignment *a, uint64_t value)
{
	if (a->row->size == sizeof(uint32_t))
		*(uint32_t *)a->field = (uint32_t)value;
	else
		*(uint64_t *)a->field = value;
	return true;
}

static bool set_count(const struct assignment *a)
{
	const struct option_row *row = a->row;
	uint64_t value;
	const char *why =
		row->power_of_two ? units_entries(a->text, &value) : units_count(a->text, &value);

	if (why != NULL)
		return refuse(a, "%s", why);
	if (value == 0 && row->zero)
		return store_count(a, 0);
	if (value == 0 && row->max == UINT64_MAX)
		return refuse(a, "is not allowed; leave the option out for no limit");
	return check_count(a, value) && store_count(a, value);
}

static bool set_size(const struct assignment *a)
{
	uint64_t bytes;
	const char *why = units_size(a->text, &bytes);

	if (why != NULL)
		return refuse(a, "%s", why);
	if (bytes < a->row->min)
		return refuse(a, "is not enough for anything; write 4KB, 4MB or 1GB");
	*(uint64_t *)a->field = bytes;
	return true;
}

static bool set_time(const struct assignment *a)
{
	const struct option_row *row = a->row;
	uint64_t ns;
	const char *why = units_time(a->text, &ns);
	char or_zero[64] = "";

	if (why != NULL)
		return refuse(a, "%s", why);
	if (ns == 0 && !row->zero)
		return refuse(a, "is not allowed; leave the option out for no limit");
	if (row->zero_means != NULL)
		snprintf(or_zero, sizeof(or_zero), " (or 0: %s)", row->zero_means);
	if (ns != 0 && ns < row->min)
		return refuse(
			a, "is too short; the minimum is %gms%s", (double)row->min / 1e6, or_zero);
	if (ns > row->max && row->max % DAY_NS == 0)
		return refuse(a, "is too long; the maximum is %llud%s",
			(unsigned long long)(row->max / DAY_NS), or_zero);
	if (ns > row->max)
		return refuse(a, "is too long; the maximum is %gs", (double)row->max / 1e9);
	*(uint64_t *)a->field = ns;
	return true;
}

static bool set_fraction(const struct assignment *a)
{
	double value;
	const char *why = units_fraction(a->text, &value);

	if (why != NULL)
		return refuse(a, "%s", why);
	if ((value >= 1 && !a->row->one) || (value <= 0 && !a->row->zero))
		return refuse(a, "is out of range; give %s below 1",
			a->row->zero ? "0 or more and" : "more than 0 and");
	*(double *)a->field = value;
	return true;
}

/* Refuses a word that is none of a row's choices, and lists them. */
static bool refuse_choice(const struct assignment *a)
{
	char list[128] = "";
	size_t used = 0;

	for (const char *const *choice = a->row->choices; *choice != NULL; choice++) {
		used += (size_t)snprintf(
			list + used, sizeof(list) - used, "%s%s", used > 0 ? ", " : "", *choice);
		if (used >= sizeof(list))
			break;
	}
	return refuse(a, "is not allowed; allowed: %s", list);
}

static bool set_choice(const struct assignment *a)
{
	for (unsigned int i = 0; a->row->choices[i] != NULL; i++) {
		if (strcmp(a->text, a->row->choices[i]) != 0)
			continue;
		if (a->row->type == OPTION_WORD)
			*(const char **)a->field = a->row->choices[i];
		else
			*(unsigned int *)a->field = i;
		return true;
	}
	return refuse_choice(a);
}

static bool set_pace(const struct assignment *a)
{
	uint64_t rate;

	if (strcmp(a->text, "recorded") == 0) {
		a->config->pace = PACE_RECORDED;
		a->config->pace_rate = 0;
		return true;
	}
	if (units_rate(a->text, &rate) != NULL || rate == 0)
		return refuse(a, "is not a pace; write recorded, 2Mpps or 500kpps");
	a->config->pace = PACE_RATE;
	a->config->pace_rate = rate;
	return true;
}

#define ROTATE_SIZE_MIN 1024
#define ROTATE_TIME_MIN UINT64_C(1000000000) /* files are named by the second */

/* One of the two limits, which a value may name once each. */
static bool set_limit(const struct assignment *a, const char *text, struct rotate_limits *limits)
{
	bool is_time = units_time(text, &limits->period) == NULL, fits;

	if (!is_time && units_size(text, &limits->size) != NULL)
		return refuse(a, "is neither a time nor a size; write 1h, 1GB or 1h,1GB");
	fits = is_time ? limits->period >= ROTATE_TIME_MIN && limits->period <= a->row->max
		       : limits->size >= ROTATE_SIZE_MIN;
	return fits || refuse(a, is_time ? "is out of range; give 1s to 36525d"
					 : "is too small; give 1KB or more");
}

static bool set_rotate(const struct assignment *a)
{
	struct rotate_limits first = {0}, second = {0};
	char text[64];
	char *comma;

	if (strlen(a->text) >= sizeof(text))
		return refuse(a, "is neither a time nor a size; write 1h, 1GB or 1h,1GB");
	strcpy(text, a->text);
	comma = strchr(text, ',');
	if (comma != NULL)
		*comma = '\0';
	if (!set_limit(a, text, &first) || (comma != NULL && !set_limit(a, comma + 1, &second)))
		return false;
	if ((first.period != 0 && second.period != 0) || (first.size != 0 && second.size != 0))
		return refuse(a, "names two of a kind; write 1h, 1GB or 1h,1GB");
	first.period += second.period;
	first.size += second.size;
	*(struct rotate_limits *)a->field = first;
	return true;
}

static bool is_hexadecimal(const char *text)
{
	return text[0] == '0' && text[1] == 'x' && text[2] != '\0' &&
	       strlen(text + 2) <= 2 * sizeof(uint64_t) &&
	       strspn(text + 2, "0123456789abcdefABCDEF") == strlen(text + 2);
}

static bool is_decimal(const char *text)
{
	return *text != '\0' && strspn(text, "0123456789") == strlen(text);
}

static bool set_seed(const struct assignment *a)
{
	uint64_t value;

	if (is_hexadecimal(a->text))
		value = strtoull(a->text + 2, NULL, 16);
	else if (!is_decimal(a->text) || units_count(a->text, &value) != NULL)
		return refuse(a, "is not a seed; write a number of 64 bits, decimal or 0x...");
	a->config->seed = value;
	a->config->seed_given = true;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool set_rss_key(const struct assignment *a)
{
	struct config *config = a->config;
	uint8_t *bytes = config->rss_key_bytes;
	uint32_t digits = 0;

	if (strcmp(a->text, "symmetric") == 0 || strcmp(a->text, "default") == 0) {
		config->rss_key = a->text[0] == 's' ? RSS_KEY_SYMMETRIC : RSS_KEY_DEFAULT;
		return true;
	}
	for (const char *at = a->text; *at != '\0'; at++) {
		int digit = hex_digit(*at);

		if (*at == ':' && digits % 2 == 0 && digits > 0 && at[1] != '\0')
			continue;
		if (digit < 0)
			return refuse(a, "is not a key; write symmetric, default, or its bytes in "
					 "hexadecimal: 6d5a6d5a...");
		if (digits == 2 * CONFIG_RSS_KEY_MAX)
			return refuse(a, "is longer than %u bytes, which no device takes",
				CONFIG_RSS_KEY_MAX);
		bytes[digits / 2] =
			(uint8_t)(digits % 2 == 0 ? digit << 4 : bytes[digits / 2] | digit);
		digits++;
	}
	if (digits == 0 || digits % 2 != 0)
		return refuse(a, "has %u hexadecimal digits; a byte has two", digits);
	config->rss_key = RSS_KEY_GIVEN;
	config->rss_key_len = (uint8_t)(digits / 2);
	return true;
}

static bool set_mtu(const struct assignment *a)
{
	if (strcmp(a->text, "max") != 0)
		return set_count(a);
	*(uint32_t *)a->field = CONFIG_MTU_MAX;
	return true;
}

/* Reads a CPU number and steps over it; false where there is none. */
static bool read_lcore(const char **text, unsigned long *lcore)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	*lcore = strtoul(*text, &end, 10);
	*text = end;
	return *lcore <= LCORE_MAX;
}

static bool is_lcore_list(const char *text)
{
	for (;;) {
		unsigned long first, last;

		if (!read_lcore(&text, &first))
			return false;
		if (*text == '-') {
			text++;
			if (!read_lcore(&text, &last) || last < first)
				return false;
		}
		if (*text == '\0')
			return true;
		if (*text++ != ',')
			return false;
	}
}

static bool set_lcores(const struct assignment *a)
{
	if (!is_lcore_list(a->text))
		return refuse(a, "is not a list of CPUs 0 to %d; write 0-3,6", LCORE_MAX);
	*(const char **)a->field = a->text;
	return true;
}

static bool set_key(const struct assignment *a)
{
	char why[KEY_RULE_WHY_MAX];

	return key_rule_parse(a->field, a->text, why) || refuse(a, "%s", why);
}

/* Refuses a word that no sketch has, and lists those that they have. */
static bool refuse_sketch(const struct assignment *a)
{
	char list[128] = "";
	size_t used = 0;

	for (unsigned int i = 0; sketches[i] != NULL && used < sizeof(list); i++) {
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s (%s)",
			used > 0 ? ", " : "", sketches[i]->name, sketches[i]->alias);
	}
	return refuse(a, "is not allowed; allowed: %s", list);
}

static bool set_sketch(const struct assignment *a)
{
	const struct sketch_ops *ops = sketch_find(a->text);

	if (ops == NULL)
		return refuse_sketch(a);
	*(const char **)a->field = ops->name;
	return true;
}

/*
 * Gives each part of a list A,B,... to add(), as an assignment of its own, with `list` to fill. The
 * parts are copies: add() keeps none of the text.
 */
static bool read_list(
	const struct assignment *a, bool (*add)(const struct assignment *, void *list), void *list)
{
	char copy[256], *rest = copy, *part;

	if (strlen(a->text) >= sizeof(copy))
		return refuse(a, "is longer than %zu characters", sizeof(copy) - 1);
	strcpy(copy, a->text);
	while ((part = strsep(&rest, ",")) != NULL) {
		struct assignment one = *a;

		one.text = part;
		if (*part == '\0')
			return refuse(a, "has an empty part; write %s", a->row->placeholder);
		if (!add(&one, list))
			return false;
	}
	return true;
}

static bool add_value(const struct assignment *a, struct config_values *values, uint64_t value)
{
	if (values->n == CONFIG_VALUES_MAX)
		return refuse(a, "is one too many; at most %u", CONFIG_VALUES_MAX);
	values->values[values->n++] = value;
	return true;
}

static bool add_count(const struct assignment *a, void *list)
{
	uint64_t value;
	const char *why = a->row->power_of_two ? units_entries(a->text, &value)
					       : units_count(a->text, &value);

	if (why != NULL)
		return refuse(a, "%s", why);
	return check_count(a, value) && add_value(a, list, value);
}

static bool add_zipf(const struct assignment *a, void *list)
{
	uint64_t e6;

	if (strcmp(a->text, "uniform") == 0)
		return add_value(a, list, 0);
	if (strcmp(a->text, "random") == 0)
		return add_value(a, list, CONFIG_ZIPF_RANDOM);
	if (units_millionths(a->text, &e6) != NULL || e6 > ZIPF_E6_MAX)
		return refuse(a, "is not allowed; write exponents from 0 to 10 with at most six "
				 "decimals, uniform or random");
	return add_value(a, list, e6);
}

static bool set_values(
	const struct assignment *a, bool (*add)(const struct assignment *, void *list))
{
	struct config_values values = {0};

	if (!read_list(a, add, &values))
		return false;
	*(struct config_values *)a->field = values;
	return true;
}

static bool set_counts(const struct assignment *a)
{
	return set_values(a, add_count);
}

static bool set_zipfs(const struct assignment *a)
{
	return set_values(a, add_zipf);
}

static bool add_word(const struct assignment *a, void *list)
{
	for (unsigned int i = 0; a->row->choices[i] != NULL; i++) {
		if (strcmp(a->text, a->row->choices[i]) == 0) {
			*(uint32_t *)list |= UINT32_C(1) << i;
			return true;
		}
	}
	return refuse_choice(a);
}

static bool add_sketch(const struct assignment *a, void *list)
{
	const struct sketch_ops *ops = sketch_find(a->text);

	for (unsigned int i = 0; ops != NULL; i++) {
		if (sketches[i] == ops) {
			*(uint32_t *)list |= UINT32_C(1) << i;
			return true;
		}
	}
	return refuse_sketch(a);
}

static bool set_bits(const struct assignment *a, bool (*add)(const struct assignment *, void *list))
{
	uint32_t bits = 0;

	if (!read_list(a, add, &bits))
		return false;
	*(uint32_t *)a->field = bits;
	return true;
}

static bool set_words(const struct assignment *a)
{
	return set_bits(a, add_word);
}

static bool set_sketches(const struct assignment *a)
{
	return set_bits(a, add_sketch);
}

static bool set_nothing(const struct assignment *a)
{
	(void)a;
	return true;
}

static void *field_of(
	const struct option_row *row, struct config *config, struct measurement_config *measurement)
{
	char *base = row->scope == OPTION_OF_MEASUREMENT ? (char *)measurement : (char *)config;

	return base + row->offset;
}

bool option_set(const struct option_row *row, const char *text, struct config *config,
	struct measurement_config *measurement, char *why)
{
	static bool (*const setters[])(const struct assignment *) = {
		[OPTION_FLAG] = set_flag,
		[OPTION_STRING] = set_string,
		[OPTION_LIST] = set_list,
		[OPTION_COUNT] = set_count,
		[OPTION_SIZE] = set_size,
		[OPTION_TIME] = set_time,
		[OPTION_FRACTION] = set_fraction,
		[OPTION_CHOICE] = set_choice,
		[OPTION_WORD] = set_choice,
		[OPTION_PACE] = set_pace,
		[OPTION_SEED] = set_seed,
		[OPTION_ROTATE] = set_rotate,
		[OPTION_RSS_KEY] = set_rss_key,
		[OPTION_MTU] = set_mtu,
		[OPTION_LCORES] = set_lcores,
		[OPTION_KEY] = set_key,
		[OPTION_SKETCH] = set_sketch,
		[OPTION_WORDS] = set_words,
		[OPTION_SKETCHES] = set_sketches,
		[OPTION_COUNTS] = set_counts,
		[OPTION_ZIPFS] = set_zipfs,
		[OPTION_ACTION] = set_nothing,
	};
	const struct assignment a = {
		.row = row,
		.text = text,
		.config = config,
		.field = field_of(row, config, measurement),
		.why = why,
	};

	return setters[row->type](&a);
}

void option_clear(
	const struct option_row *row, struct config *config, struct measurement_config *measurement)
{
	memset(field_of(row, config, measurement), 0, row->size);
	if (row->type == OPTION_LIST)
		*(uint32_t *)((char *)config + row->count_offset) = 0;
}

bool option_is_set(const struct option_row *row, const struct config *config,
	const struct measurement_config *measurement)
{
	const unsigned char *field = row->scope == OPTION_OF_MEASUREMENT
					     ? (const unsigned char *)measurement
					     : (const unsigned char *)config;

	for (size_t i = 0; i < row->size; i++) {
		if (field[row->offset + i] != 0)
			return true;
	}
	return false;
}
