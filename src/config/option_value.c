/* SPDX-License-Identifier: BSD-3-Clause */

#include "config/option_value.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <stdio.h>

#include "base/power_of_two.h"
#include "base/standard_files.h"
#include "base/units.h"

#define DAY_NS (UINT64_C(24) * 3600 * 1000000000)

bool option_set_error(const struct option_text *a, const char *format, ...)
{
	va_list arguments;
	int used = snprintf(a->why, OPTION_WHY_MAX,
		strlen(a->text) > 200 ? "'%.200s...': " : "'%s': ", a->text);

	va_start(arguments, format);
	vsnprintf(a->why + used, (size_t)(OPTION_WHY_MAX - used), format, arguments);
	va_end(arguments);
	return false;
}

const char *option_inapplicable_without_file(const char *output)
{
	return output != NULL && !standard_files_is_output(output)
		       ? NULL
		       : "on standard output, only on a file such as --output FILE";
}

static bool set_flag(const struct option_text *a)
{
	static const char *const words[] = {"no", "yes", "off", "on", "false", "true", "0", "1"};

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(a->text, words[i]) == 0) {
			*(bool *)a->field = (i & 1) != 0;
			return true;
		}
	}
	return option_set_error(a, "neither yes nor no");
}

static bool set_string(const struct option_text *a)
{
	if (*a->text == '\0')
		return option_set_error(a, "empty; give %s", a->row->placeholder);
	*(const char **)a->field = a->text;
	return true;
}

static bool set_list(const struct option_text *a)
{
	struct option_list *list = a->field;

	if (*a->text == '\0')
		return option_set_error(a, "empty; give %s", a->row->placeholder);
	if (list->n == OPTION_LIST_MAX)
		return option_set_error(a, "one too many; the limit is %u", OPTION_LIST_MAX);
	list->texts[list->n++] = a->text;
	return true;
}

static bool add_property(const struct option_text *a)
{
	struct option_properties *properties = a->field;

	if (properties->n == OPTION_PROPERTIES_MAX)
		return option_set_error(a, "one too many; the limit is %u", OPTION_PROPERTIES_MAX);
	properties->texts[properties->n++] = a->text;
	return true;
}

/* The caller handles row.zero. */
static bool check_count(const struct option_text *a, uint64_t value)
{
	const struct option_row *row = a->row;

	if (value < row->min || value > row->max) {
		return option_set_error(a, "out of range; give %llu to %llu%s",
			(unsigned long long)row->min, (unsigned long long)row->max,
			row->zero ? ", or 0" : "");
	}
	if (row->power_of_two && (value & (value - 1)) != 0) {
		return option_set_error(a, "not a power of two; the next is %llu",
			(unsigned long long)power_of_two_at_least(value));
	}
	return true;
}

static bool store_count(const struct option_text *a, uint64_t value)
{
	if (a->row->size == sizeof(uint32_t))
		*(uint32_t *)a->field = (uint32_t)value;
	else
		*(uint64_t *)a->field = value;
	return true;
}

bool option_read_count(const struct option_text *a)
{
	const struct option_row *row = a->row;
	uint64_t value;
	const char *why =
		row->power_of_two ? units_entries(a->text, &value) : units_count(a->text, &value);

	if (why != NULL)
		return option_set_error(a, "%s", why);
	if (value == 0 && row->zero)
		return store_count(a, 0);
	if (value == 0 && row->max == UINT64_MAX)
		return option_set_error(a, "not allowed; omit the option for no limit");
	return check_count(a, value) && store_count(a, value);
}

static bool set_size(const struct option_text *a)
{
	uint64_t bytes;
	const char *why = units_size(a->text, &bytes);

	if (why != NULL)
		return option_set_error(a, "%s", why);
	if (bytes < a->row->min)
		return option_set_error(a, "too small; examples: 4KB, 4MB, 1GB");
	*(uint64_t *)a->field = bytes;
	return true;
}

static bool set_time(const struct option_text *a)
{
	const struct option_row *row = a->row;
	uint64_t ns;
	const char *why = units_time(a->text, &ns);
	char or_zero[64] = "";

	if (why != NULL)
		return option_set_error(a, "%s", why);
	if (ns == 0 && !row->zero)
		return option_set_error(a, "not allowed; omit the option for no limit");
	if (row->zero_means != NULL)
		snprintf(or_zero, sizeof(or_zero), " (or 0: %s)", row->zero_means);
	if (ns != 0 && ns < row->min)
		return option_set_error(
			a, "too short; the minimum is %gms%s", (double)row->min / 1e6, or_zero);
	if (ns > row->max && row->max % DAY_NS == 0)
		return option_set_error(a, "too long; the maximum is %llud%s",
			(unsigned long long)(row->max / DAY_NS), or_zero);
	if (ns > row->max)
		return option_set_error(a, "too long; the maximum is %gs", (double)row->max / 1e9);
	*(uint64_t *)a->field = ns;
	return true;
}

static bool set_fraction(const struct option_text *a)
{
	double value;
	const char *why = units_fraction(a->text, &value);

	if (why != NULL)
		return option_set_error(a, "%s", why);
	if ((value >= 1 && !a->row->one) || (value <= 0 && !a->row->zero))
		return option_set_error(a, "out of range; give %s below 1",
			a->row->zero ? "0 or more and" : "more than 0 and");
	*(double *)a->field = value;
	return true;
}

static bool set_choice_error(const struct option_text *a)
{
	const struct option_row *row = a->row;
	char list[160] = "";
	size_t used = 0;

	for (uint32_t i = 0; row->word(i) != NULL && used < sizeof(list); i++) {
		const char *alias = row->alias != NULL ? row->alias(i) : NULL;

		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s%s%s%s",
			used > 0 ? ", " : "", row->word(i), alias != NULL ? " (" : "",
			alias != NULL ? alias : "", alias != NULL ? ")" : "");
	}
	return option_set_error(a, "not allowed; allowed: %s", list);
}

static bool is_word(const char *text, const char *(*word)(uint32_t i), uint32_t i)
{
	const char *one = word != NULL ? word(i) : NULL;

	return one != NULL && strcmp(text, one) == 0;
}

static bool find_word(const struct option_text *a, uint32_t *i)
{
	const struct option_row *row = a->row;

	for (*i = 0; row->word(*i) != NULL; ++*i)
		if (strcmp(a->text, row->word(*i)) == 0 || is_word(a->text, row->alias, *i) ||
			is_word(a->text, row->former_word, *i))
			return true;
	return set_choice_error(a);
}

static bool set_choice(const struct option_text *a)
{
	uint32_t i;

	if (!find_word(a, &i))
		return false;
	*(uint32_t *)a->field = i;
	return true;
}

bool option_add_value(const struct option_text *a, uint64_t value)
{
	struct option_values *values = a->field;

	if (values->n == OPTION_VALUES_MAX)
		return option_set_error(a, "one too many; the limit is %u", OPTION_VALUES_MAX);
	values->values[values->n++] = value;
	return true;
}

static bool add_count(const struct option_text *a)
{
	uint64_t value;
	const char *why = a->row->power_of_two ? units_entries(a->text, &value)
					       : units_count(a->text, &value);

	if (why != NULL)
		return option_set_error(a, "%s", why);
	return check_count(a, value) && option_add_value(a, value);
}

static bool add_word(const struct option_text *a)
{
	uint32_t i;

	if (!find_word(a, &i))
		return false;
	*(uint32_t *)a->field |= UINT32_C(1) << i;
	return true;
}

/* Calls add() for each element of A,B,... and replaces the old list only if all succeed. */
static bool set_parts(const struct option_text *a, bool (*add)(const struct option_text *))
{
	char copy[256], *rest = copy, *part;
	struct option_values list = {0};

	if (strlen(a->text) >= sizeof(copy))
		return option_set_error(a, "longer than %zu characters", sizeof(copy) - 1);
	strcpy(copy, a->text);
	while ((part = strsep(&rest, ",")) != NULL) {
		struct option_text one = *a;

		one.text = part;
		one.field = &list;
		if (*part == '\0')
			return option_set_error(a, "empty element; write %s", a->row->placeholder);
		if (!add(&one))
			return false;
	}
	memcpy(a->field, &list, a->row->size);
	return true;
}

static bool set_counts(const struct option_text *a)
{
	return set_parts(a, add_count);
}

static bool set_words(const struct option_text *a)
{
	return set_parts(a, add_word);
}

static bool set_own(const struct option_text *a)
{
	return a->row->read(a);
}

static bool set_own_list(const struct option_text *a)
{
	return set_parts(a, a->row->read);
}

static bool set_nothing(const struct option_text *a)
{
	(void)a;
	return true;
}

bool option_set(const struct option_row *row, const char *text, void *block, char *why)
{
	static bool (*const setters[])(const struct option_text *) = {
		[OPTION_FLAG] = set_flag,
		[OPTION_STRING] = set_string,
		[OPTION_LIST] = set_list,
		[OPTION_COUNT] = option_read_count,
		[OPTION_SIZE] = set_size,
		[OPTION_TIME] = set_time,
		[OPTION_FRACTION] = set_fraction,
		[OPTION_CHOICE] = set_choice,
		[OPTION_WORDS] = set_words,
		[OPTION_COUNTS] = set_counts,
		[OPTION_OWN] = set_own,
		[OPTION_OWN_LIST] = set_own_list,
		[OPTION_ACTION] = set_nothing,
		[OPTION_PROPERTIES] = add_property,
		[OPTION_PARTS] = set_nothing,
	};
	const struct option_text a = {
		.row = row,
		.text = text,
		.field = (char *)block + row->offset,
		.why = why,
	};

	return setters[row->type](&a);
}

void option_clear(const struct option_row *row, void *block)
{
	memset((char *)block + row->offset, 0, row->size);
}

bool option_is_set(const struct option_row *row, const void *block)
{
	const unsigned char *field = (const unsigned char *)block + row->offset;

	for (size_t i = 0; i < row->size; i++)
		if (field[i] != 0)
			return true;
	return false;
}

const struct config_row *option_next_part(const struct config *config,
	const struct option_row *option, const struct config_row *after)
{
	uint32_t i = after != NULL ? (uint32_t)(after - config->rows) + 1 : 0;

	for (; i < config->nb_rows; i++) {
		const char *whole = config->rows[i].row->part_of;

		if (whole != NULL && strcmp(whole, option->name) == 0)
			return &config->rows[i];
	}
	return NULL;
}

static bool follows_own(const struct option_row *part)
{
	return part->part[strlen(part->part) - 1] == ':';
}

void option_part_name(const struct option_row *part, char *name, size_t size)
{
	const char *start = part->part + (*part->part == ',');

	snprintf(name, size, "%.*s", follows_own(part) ? 0 : (int)strcspn(start, "="), start);
}

static char *keep_text(struct config *config, const char *text)
{
	size_t size = strlen(text) + 1;
	struct config_text *kept = malloc(sizeof(*kept) + size);

	if (kept == NULL)
		return NULL;
	memcpy(kept->text, text, size);
	kept->next = config->texts;
	config->texts = kept;
	return kept->text;
}

/* Finds the option_row.part with which the text starts. comma: only parts such as ",after=". */
static const struct config_row *find_part(
	const struct config *config, const struct option_row *option, const char *text, bool comma)
{
	const struct config_row *part = NULL;

	while ((part = option_next_part(config, option, part)) != NULL) {
		const char *begin = part->row->part;

		if ((*begin == ',') == comma && strncmp(text, begin, strlen(begin)) == 0)
			return part;
	}
	return NULL;
}

static void list_parts(
	const struct config *config, const struct option_row *option, char *list, size_t size)
{
	const struct config_row *part = NULL;
	size_t used = 0;

	*list = '\0';
	while ((part = option_next_part(config, option, part)) != NULL && used < size) {
		char name[64];

		option_part_name(part->row, name, sizeof(name));
		if (*name != '\0')
			used += (size_t)snprintf(
				list + used, size - used, "%s%s", used > 0 ? ", " : "", name);
	}
}

static int set_kind_error(
	const struct config *config, const struct option_row *option, const char *value, char *why)
{
	size_t len = strcspn(value, "=");
	char list[240];

	list_parts(config, option, list, sizeof(list));
	if (value[len] == '\0')
		snprintf(why, OPTION_WHY_MAX, "'%.60s': not %s; kinds: %s", value,
			option->placeholder, list);
	else
		snprintf(why, OPTION_WHY_MAX, "'%.*s': unknown kind; kinds: %s",
			(int)(len < 60 ? len : 60), value, list);
	return -1;
}

/* Strings may end in ",WORD=..."; in other values, this is an error. */
static bool has_unknown_part(
	const struct config *config, const struct option_row *option, const char *text, char *why)
{
	const char *comma = strrchr(text, ',');
	char list[240];

	if (comma == NULL || strchr(comma, '=') == NULL || option->type == OPTION_STRING)
		return false;
	list_parts(config, option, list, sizeof(list));
	snprintf(why, OPTION_WHY_MAX, "'%.*s': unknown key; keys: %s",
		(int)(strcspn(comma, "=") < 60 ? strcspn(comma, "=") - 1 : 60), comma + 1, list);
	return true;
}

/* Moves options such as ",after=N" from the end of the text to pieces[n] and following. */
static int cut_end(const struct config *config, const struct option_row *option, char *text,
	struct option_piece *pieces, int n)
{
	const struct config_row *part;
	char *comma;

	while ((comma = strrchr(text, ',')) != NULL && n < OPTION_PIECES_MAX - 1 &&
		(part = find_part(config, option, comma, true)) != NULL) {
		pieces[n++] = (struct option_piece){part, comma + strlen(part->row->part)};
		*comma = '\0';
	}
	return n;
}

static bool has_element(const char *list, const char *element, size_t len)
{
	for (; *list != '\0'; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == len && strncmp(list, element, len) == 0)
			return true;
	return false;
}

/*
 * Splits A,B:x,B:y into A,B for the option itself, and x,y for the option with part "B:". After a
 * plain B, which means all values of B, sets only the first option.
 */
static int cut_list(struct config *config, const struct config_row *row, const char *value,
	struct option_piece *pieces)
{
	char *own = keep_text(config, value), *values = keep_text(config, value);
	char *end_own = own, *end_values = values;
	const struct config_row *part = NULL, *found;
	bool all = false;

	if (own == NULL || values == NULL)
		return -1;
	*own = *values = '\0';
	while (true) {
		size_t len = strcspn(value, ","), begin;

		found = find_part(config, row->row, value, false);
		begin = found != NULL ? strlen(found->row->part) : 0;
		if (found != NULL) {
			part = found;
			all |= has_element(own, value, begin - 1) && end_values == values;
			end_values += sprintf(end_values, "%s%.*s", end_values > values ? "," : "",
				(int)(len - begin), value + begin);
			if (!has_element(own, value, begin - 1))
				end_own += sprintf(end_own, "%s%.*s", end_own > own ? "," : "",
					(int)begin - 1, value);
		} else {
			all |= part != NULL && strlen(part->row->part) == len + 1 &&
			       strncmp(part->row->part, value, len) == 0;
			end_own += sprintf(
				end_own, "%s%.*s", end_own > own ? "," : "", (int)len, value);
		}
		if (value[len] == '\0')
			break;
		value += len + 1;
	}
	pieces[0] = (struct option_piece){row, own};
	if (part == NULL || all)
		return 1;
	pieces[1] = (struct option_piece){part, values};
	return 2;
}

int option_split(struct config *config, const struct config_row *row, const char *value,
	struct option_piece pieces[OPTION_PIECES_MAX], char *why)
{
	const struct config_row *part = option_next_part(config, row->row, NULL);
	char *text;
	int n;

	pieces[0] = (struct option_piece){row, value};
	if (part == NULL)
		return 1;
	snprintf(why, OPTION_WHY_MAX, "out of memory");
	if (row->row->type == OPTION_WORDS)
		return cut_list(config, row, value, pieces);
	text = keep_text(config, value);
	if (text == NULL)
		return -1;
	pieces[0].text = text;
	n = row->row->type == OPTION_PARTS ? 1 : cut_end(config, row->row, text, pieces, 1);
	if (row->row->type != OPTION_PARTS && has_unknown_part(config, row->row, text, why))
		return -1;
	part = find_part(config, row->row, text, false);
	if (part == NULL)
		return row->row->type != OPTION_PARTS
			       ? n
			       : set_kind_error(config, row->row, value, why);
	text += strlen(part->row->part);
	if (follows_own(part->row)) {
		text[-1] = '\0';
		pieces[n++] = (struct option_piece){part, text};
	} else {
		pieces[0] = (struct option_piece){part, text};
	}
	return n;
}
