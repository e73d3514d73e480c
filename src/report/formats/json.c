/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Format json: a row is a line with one JSON object. An unknown value is null in files, and omitted
 * for network destinations.
 */

#include <string.h>

#include "report/formats/format.h"

void json_escape(struct text *text, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len;) {
		const unsigned char *c = (const unsigned char *)bytes + i;
		size_t n = text_character_len(bytes + i, len - i);

		if (n == 0)
			text_str(text, "\\ufffd");
		else if (*c == '"' || *c == '\\')
			text_printf(text, "\\%c", *c);
		else if (*c < 0x20)
			text_printf(text, "\\u%04x", *c);
		else
			text_add(text, bytes + i, n);
		i += n > 0 ? n : 1;
	}
}

static bool is_plain(const char *bytes, size_t len)
{
	bool other = false;

	for (size_t i = 0; i < len; i++)
		other |= bytes[i] < 0x20 || bytes[i] > 0x7e || bytes[i] == '"' || bytes[i] == '\\';
	return !other;
}

static void escape_from(struct text *text, size_t begin)
{
	struct text raw = {0};

	if (is_plain(text->data + begin, text->len - begin))
		return;
	text_add(&raw, text->data + begin, text->len - begin);
	text->len = begin;
	text->failed |= raw.failed;
	json_escape(text, raw.data, raw.len);
	text_free(&raw);
}

/* Returns false after writing null for an unknown value. */
static bool add_value(
	struct text *text, const struct column *column, const struct output_row *row_of)
{
	bool number = column_is_number(column);
	size_t before = text->len, begin;

	if (!number)
		text_char(text, '"');
	begin = text->len;
	column_print(text, column, row_of);
	if (text->failed)
		return true;
	if (text->len == begin) {
		text->len = before;
		text_str(text, "null");
		return false;
	}
	if (!number) {
		if (column_may_need_quotes(column))
			escape_from(text, begin);
		text_char(text, '"');
	}
	return true;
}

static void add_label(struct text *text, const struct column *column)
{
	if (!text_reserve(text, COLUMN_LABEL_ROOM))
		return;
	memcpy(text->data + text->len, column->label, COLUMN_LABEL_ROOM);
	text->len += column->label_len;
}

static void row(struct text *text, const struct columns *columns, const struct output_row *row_of)
{
	size_t begin = text->len;

	for (uint32_t c = 0; c < columns->n; c++) {
		size_t before = text->len;

		add_label(text, &columns->list[c]);
		if (!add_value(text, &columns->list[c], row_of) && columns->choice.sink)
			text->len = before;
	}
	if (!text->failed)
		text->data[begin] = '{';
	text_add(text, "}\n", 2);
}

static bool skip(const char **at, const char *end, const char *expected)
{
	size_t len = strlen(expected);

	if ((size_t)(end - *at) < len || memcmp(*at, expected, len) != 0)
		return false;
	*at += len;
	return true;
}

static void skip_value(const char **at, const char *end)
{
	bool quoted = *at < end && **at == '"';

	for (*at += quoted; *at < end; (*at)++) {
		if (quoted ? **at == '"' : **at == ',' || **at == '}')
			break;
		*at += **at == '\\' && *at + 1 < end;
	}
	*at += quoted && *at < end;
}

/* Rows of an earlier run may lack the columns that depend on the measurements. */
static bool is_row(const char *line, size_t len, const struct columns *columns)
{
	const char *at = line, *end = line + len;

	for (uint32_t c = 0; c < columns->nb_fixed; c++) {
		if (!skip(&at, end, c == 0 ? "{\"" : ",\"") ||
			!skip(&at, end, columns->list[c].name) || !skip(&at, end, "\":"))
			return false;
		skip_value(&at, end);
	}
	while (columns->varies && skip(&at, end, ",\"")) {
		while (at < end && *at != '"')
			at++;
		if (!skip(&at, end, "\":"))
			return false;
		skip_value(&at, end);
	}
	return skip(&at, end, "}") && at == end;
}

const struct format format_json = {
	.named = true,
	.row = row,
	.is_row = is_row,
	.before_epoch = "{\"epoch\":",
	.before_start = "\"start\":\"",
};
