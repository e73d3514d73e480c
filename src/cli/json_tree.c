/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/json_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"

#define DEPTH_MAX   8
#define COLUMNS_MAX 32

static bool skip(const char **at, char expected)
{
	*at += strspn(*at, " \t\r\n");
	if (**at != expected)
		return false;
	(*at)++;
	return true;
}

/* Decodes only the escapes that a run sends: \n, \t and escaped ASCII characters. */
static char *read_string(const char **at)
{
	char *text = malloc(strlen(*at) + 1);
	size_t len = 0;

	while (text != NULL && **at != '"' && **at != '\0') {
		char c = *(*at)++;

		if (c == '\\' && **at != '\0') {
			static const char escaped[] = "nt", meant[] = "\n\t";
			const char *found = strchr(escaped, **at);

			c = found != NULL ? meant[found - escaped] : **at;
			(*at)++;
		}
		text[len++] = c;
	}
	if (text != NULL)
		text[len] = '\0';
	if (text != NULL && skip(at, '"'))
		return text;
	free(text);
	return NULL;
}

static struct json_node *read_node(const char **at, char *name, int depth);

static bool read_parts(const char **at, struct json_node *node, int depth)
{
	struct json_node **end = &node->first;

	if (skip(at, '}'))
		return true;
	do {
		char *name = skip(at, '"') ? read_string(at) : NULL;

		if (name == NULL || !skip(at, ':')) {
			free(name);
			return false;
		}
		*end = read_node(at, name, depth);
		if (*end == NULL)
			return false;
		end = &(*end)->next;
	} while (skip(at, ','));
	return skip(at, '}');
}

static bool read_value(const char **at, struct json_node *node, int depth)
{
	size_t len;

	if (skip(at, '{')) {
		node->is_object = true;
		return depth < DEPTH_MAX && read_parts(at, node, depth + 1);
	}
	if (skip(at, '"')) {
		node->value = read_string(at);
		return node->value != NULL;
	}
	len = strspn(*at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
	if (len == 4 && memcmp(*at, "null", len) == 0) {
		*at += len;
		return true;
	}
	node->value = strndup(*at, len);
	*at += len;
	return node->value != NULL && len > 0;
}

/* Takes ownership of `name`. */
static struct json_node *read_node(const char **at, char *name, int depth)
{
	struct json_node *node = calloc(1, sizeof(*node));

	if (node == NULL) {
		free(name);
		return NULL;
	}
	node->name = name;
	if (read_value(at, node, depth))
		return node;
	json_free(node);
	return NULL;
}

struct json_node *json_read(const char *text)
{
	char *name = strdup("");

	return name != NULL ? read_node(&text, name, 0) : NULL;
}

void json_free(struct json_node *node)
{
	while (node != NULL) {
		struct json_node *next = node->next;

		json_free(node->first);
		free(node->name);
		free(node->value);
		free(node);
		node = next;
	}
}

const struct json_node *json_find(const struct json_node *node, const char *name)
{
	const struct json_node *part = node != NULL ? node->first : NULL;

	while (part != NULL && strcmp(part->name, name) != 0)
		part = part->next;
	return part;
}

const char *json_value(const struct json_node *node, const char *name)
{
	const struct json_node *part = json_find(node, name);

	return part != NULL && part->value != NULL ? part->value : "";
}

struct json_tree_column {
	const char *name;
	int width;
	bool numbers;
};

struct table {
	struct json_tree_column columns[COLUMNS_MAX];
	int n;
};

static bool is_number(const char *text)
{
	return *text != '\0' && text[strspn(text, "-.0123456789")] == '\0';
}

static int longer(int width, const char *text)
{
	int len = (int)strlen(text);

	return len > width ? len : width;
}

static struct json_tree_column *find_column(struct table *table, const char *name)
{
	int c = 0;

	while (c < table->n && strcmp(table->columns[c].name, name) != 0)
		c++;
	VERIFY(c, <=, COLUMNS_MAX);
	if (c == COLUMNS_MAX)
		return NULL;
	if (c == table->n)
		table->columns[table->n++] = (struct json_tree_column){name, longer(0, name), true};
	return &table->columns[c];
}

static void measure_row(struct table *table, const struct json_node *row)
{
	for (const struct json_node *cell = row->first; cell != NULL; cell = cell->next) {
		struct json_tree_column *column =
			cell->value != NULL ? find_column(table, cell->name) : NULL;

		if (column == NULL)
			continue;
		column->width = longer(column->width, cell->value);
		column->numbers &= is_number(cell->value);
	}
}

static void print_cell(const struct json_tree_column *column, const char *text, FILE *out)
{
	fprintf(out, column->numbers ? "  %*s" : "  %-*s", column->width, text);
}

static void print_table(const struct json_node *node, FILE *out)
{
	struct table table = {0};
	int names = 0;

	for (const struct json_node *row = node->first; row != NULL; row = row->next) {
		names = longer(names, row->name);
		measure_row(&table, row);
	}
	fprintf(out, "%-*s", names, "");
	for (int c = 0; c < table.n; c++)
		print_cell(&table.columns[c], table.columns[c].name, out);
	for (const struct json_node *row = node->first; row != NULL; row = row->next) {
		fprintf(out, "\n%*s", names, row->name);
		for (int c = 0; c < table.n; c++)
			print_cell(&table.columns[c], json_value(row, table.columns[c].name), out);
	}
	fputc('\n', out);
}

static bool has_values_only(const struct json_node *node)
{
	const struct json_node *part = node->first;

	while (part != NULL && !part->is_object)
		part = part->next;
	return node->is_object && part == NULL;
}

static bool is_table(const struct json_node *node)
{
	const struct json_node *part = node->first;

	while (part != NULL && has_values_only(part))
		part = part->next;
	return part == NULL && node->first != NULL;
}

void json_print(const struct json_node *node, FILE *out)
{
	int width = 0;

	if (is_table(node)) {
		print_table(node, out);
		return;
	}
	for (const struct json_node *part = node->first; part != NULL; part = part->next)
		width = part->value != NULL ? longer(width, part->name) : width;
	for (const struct json_node *part = node->first; part != NULL; part = part->next) {
		if (part->value != NULL)
			fprintf(out, "%-*s  %s\n", width, part->name, part->value);
		if (part->is_object && part->first != NULL) {
			fprintf(out, "\n%s\n", part->name);
			json_print(part, out);
		}
	}
}
