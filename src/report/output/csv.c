/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "report/output/csv.h"

/* The text between two commas. */
static void csv_quote(struct text *text, const char *string)
{
	if (strpbrk(string, ",\"\r\n") == NULL) {
		text_str(text, string);
		return;
	}
	text_char(text, '"');
	for (; *string != '\0'; string++) {
		if (*string == '"')
			text_char(text, '"');
		text_char(text, *string);
	}
	text_char(text, '"');
}

static void add_times(struct text *text, const struct report_epoch *epoch)
{
	csv_time(text, epoch->start);
	csv_time(text, epoch->end);
}

void csv_row_begin(struct text *text, const struct report_epoch *epoch,
	const struct report_measurement *measurement)
{
	text_u64(text, epoch->number);
	csv_string(text, measurement->name);
	add_times(text, epoch);
}

void csv_epoch_begin(struct text *text, const struct report_epoch *epoch)
{
	text_u64(text, epoch->number);
	add_times(text, epoch);
}

void csv_row_end(struct text *text)
{
	text_char(text, '\n');
}

void csv_empty(struct text *text)
{
	text_char(text, ',');
}

void csv_u64(struct text *text, uint64_t value)
{
	text_char(text, ',');
	text_u64(text, value);
}

void csv_u64_if(struct text *text, bool known, uint64_t value)
{
	if (known)
		csv_u64(text, value);
	else
		csv_empty(text);
}

void csv_ratio(struct text *text, double ratio)
{
	text_printf(text, ",%.6f", ratio);
}

void csv_string(struct text *text, const char *string)
{
	text_char(text, ',');
	csv_quote(text, string);
}

void csv_time(struct text *text, int64_t ns)
{
	text_char(text, ',');
	text_time(text, ns);
}

static void add_names(struct text *text, uint32_t fields)
{
	for (; fields != 0; fields &= fields - 1)
		csv_string(text, key_fields[__builtin_ctz(fields)].name);
}

static void add_fields(
	struct text *text, uint32_t fields, const struct key_rule *rule, const struct key *key)
{
	char field[KEY_FIELD_TEXT_MAX];

	for (; fields != 0; fields &= fields - 1) {
		enum key_field_id id = (enum key_field_id)__builtin_ctz(fields);

		csv_empty(text);
		if (key_rule_has(rule, id))
			text_add(text, field, key_field_print(rule, key, id, field));
	}
}

void csv_key_names(struct text *text)
{
	add_names(text, key_fields_of(UINT32_MAX, KEY_COLUMN_ALWAYS));
}

void csv_key(struct text *text, const struct key_rule *rule, const struct key *key)
{
	add_fields(text, key_fields_of(UINT32_MAX, KEY_COLUMN_ALWAYS), rule, key);
}

void csv_key_asked_names(struct text *text, uint32_t fields)
{
	add_names(text, key_fields_of(fields, KEY_COLUMN_ASKED));
}

void csv_key_asked(
	struct text *text, uint32_t fields, const struct key_rule *rule, const struct key *key)
{
	add_fields(text, key_fields_of(fields, KEY_COLUMN_ASKED), rule, key);
}
