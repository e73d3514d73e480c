/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/csv_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"

struct parser {
	const char *at, *end;
	char *out;
	uint32_t line;
};

/* Copies a field without its quotes. Returns NULL if the quotes are wrong. */
static char *read_field(struct parser *parser)
{
	bool quoted = parser->at < parser->end && *parser->at == '"';
	char *field = parser->out;

	for (parser->at += quoted; parser->at < parser->end; parser->at++) {
		char c = *parser->at;

		if (!quoted && (c == ',' || c == '\n' || c == '\r'))
			break;
		if (c == '"') {
			bool twice = parser->at + 1 < parser->end && parser->at[1] == '"';

			if (!quoted)
				return NULL;
			if (!twice)
				break;
			parser->at++;
		}
		parser->line += c == '\n';
		*parser->out++ = c;
	}
	if (quoted && parser->at++ == parser->end)
		return NULL;
	*parser->out++ = '\0';
	return field;
}

static bool end_of_field(struct parser *parser, bool *end_of_row)
{
	if (parser->at < parser->end && *parser->at == '\r')
		parser->at++;
	*end_of_row = parser->at == parser->end || *parser->at == '\n';
	if (!*end_of_row && *parser->at != ',')
		return false;
	parser->at += parser->at < parser->end;
	return true;
}

static bool read_row(struct csv_table *table, struct parser *parser)
{
	uint32_t n = 0, wanted = table->nb_rows > 0 ? table->nb_columns : UINT32_MAX;
	char **cells = table->cells + (size_t)table->nb_rows * table->nb_columns;
	bool end_of_row;

	do {
		char *field = n < wanted ? read_field(parser) : NULL;

		if (field == NULL || !end_of_field(parser, &end_of_row))
			return false;
		cells[n++] = field;
	} while (!end_of_row);
	if (table->nb_rows == 0)
		table->nb_columns = n;
	table->nb_rows++;
	return n == table->nb_columns;
}

uint32_t csv_table_parse(struct csv_table *table, const char *text, size_t size)
{
	struct parser parser = {.at = text, .end = text + size, .line = 1};
	size_t fields = 1;

	for (size_t i = 0; i < size; i++)
		fields += text[i] == ',' || text[i] == '\n';
	*table = (struct csv_table){
		.text = malloc(size + fields), .cells = malloc(fields * sizeof(char *))};
	parser.out = table->text;
	if (table->text == NULL || table->cells == NULL) {
		csv_table_free(table);
		return UINT32_MAX;
	}
	do {
		if (size == 0 || !read_row(table, &parser)) {
			csv_table_free(table);
			return parser.line;
		}
		parser.line++;
	} while (parser.at < parser.end);
	return 0;
}

void csv_table_parse_embedded(struct csv_table *table, const unsigned char *text, size_t size)
{
	uint32_t line = csv_table_parse(table, (const char *)text, size);

	VERIFY(line, ==, 0);
}

void csv_table_free(struct csv_table *table)
{
	free(table->text);
	free(table->cells);
	*table = (struct csv_table){0};
}

uint32_t csv_table_column(const struct csv_table *table, const char *name)
{
	for (uint32_t c = 0; c < table->nb_columns; c++)
		if (strcmp(table->cells[c], name) == 0)
			return c;
	return CSV_NO_COLUMN;
}

const char *csv_table_cell(const struct csv_table *table, uint32_t row, uint32_t column)
{
	return column == CSV_NO_COLUMN ? ""
				       : table->cells[(size_t)row * table->nb_columns + column];
}
