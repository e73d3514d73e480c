/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "report/formats/format.h"

static bool needs_quotes(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] == ',' || bytes[i] == '"' || bytes[i] == '\r' || bytes[i] == '\n')
			return true;
	return false;
}

/* A spreadsheet takes text for a formula if it begins with =, +, - or @ after blanks. */
static bool is_formula(const char *bytes, size_t len)
{
	size_t i = 0;

	while (i < len && strchr(" \t\r\n", bytes[i]) != NULL && bytes[i] != '\0')
		i++;
	return i < len && bytes[i] != '\0' && strchr("=+-@", bytes[i]) != NULL;
}

static void mark_formula(struct text *text, size_t begin)
{
	size_t len = text->len - begin;

	if (text->failed || !is_formula(text->data + begin, len) || !text_reserve(text, 1))
		return;
	memmove(text->data + begin + 1, text->data + begin, len);
	text->data[begin] = '\'';
	text->len++;
}

static void quote_from(struct text *text, size_t begin)
{
	size_t len = text->len - begin;
	struct text plain = {0};

	if (text->failed || !needs_quotes(text->data + begin, len))
		return;
	text_add(&plain, text->data + begin, len);
	text->len = begin;
	text->failed = plain.failed;
	text_char(text, '"');
	for (size_t i = 0; i < plain.len; i++) {
		if (plain.data[i] == '"')
			text_char(text, '"');
		text_char(text, plain.data[i]);
	}
	text_char(text, '"');
	text_free(&plain);
}

void csv_string(struct text *text, const char *string)
{
	size_t begin;

	text_char(text, ',');
	begin = text->len;
	text_str(text, string);
	quote_from(text, begin);
}

static void header(struct text *text, const struct columns *columns)
{
	for (uint32_t c = 0; c < columns->n; c++) {
		if (c > 0)
			text_char(text, ',');
		text_str(text, columns->list[c].name);
	}
	text_char(text, '\n');
}

static void row(struct text *text, const struct columns *columns, const struct output_row *row)
{
	for (uint32_t c = 0; c < columns->n; c++) {
		const struct column *column = &columns->list[c];
		size_t begin;

		if (c > 0)
			text_char(text, ',');
		begin = text->len;
		column_print(text, column, row);
		if (column->type == COLUMN_FOREIGN)
			mark_formula(text, begin);
		if (column_may_need_quotes(column))
			quote_from(text, begin);
	}
	text_char(text, '\n');
}

const struct format format_csv = {
	.header = header,
	.row = row,
	.before_epoch = "",
	.before_start = ",",
};
