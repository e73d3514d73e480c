/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "report/csv.h"

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
	text_char(text, ',');
	text_time(text, epoch->start);
	text_char(text, ',');
	text_time(text, epoch->end);
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
