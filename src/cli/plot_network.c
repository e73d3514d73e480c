/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/plot_network.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/regular_file.h"
#include "cli/error.h"

#define EXIT_MACHINE 1
#define EXIT_TEXT    2

/* Links that are less sure are dashed. */
#define SURE    0.75
#define PEN_MAX 6.0
#define FIELDS  128

enum field {
	FROM,
	FROM_INTERFACE,
	TO,
	TO_INTERFACE,
	BYTES,
	SURE_FIELD,
	NB_FIELDS,
};

static const char *const names[NB_FIELDS] = {
	"from", "from_interface", "to", "to_interface", "bytes", "sure"};

struct cable_end {
	const char *exporter, *interface;
};

/* The ends are in alphabetical order. */
struct cable {
	struct cable_end ends[2]; /* in `names` */
	char *names;
	double bytes[2]; /* sent by each end */
	double sure;     /* value of the last row */
	uint64_t number;
};

struct network {
	struct cable *cables;
	uint64_t nb, room;
	char *error;
	const char *path;
	uint64_t line;
	uint32_t at[NB_FIELDS]; /* number of the column of each field */
	uint32_t nb_columns;
};

__attribute__((format(printf, 3, 4))) static int fail(
	struct network *network, int status, const char *format, ...)
{
	int used = network->line > 0 ? snprintf(network->error, PLOT_NETWORK_ERROR_MAX,
					       "%.200s:%llu: ", network->path,
					       (unsigned long long)network->line)
				     : snprintf(network->error, PLOT_NETWORK_ERROR_MAX,
					       "%.200s: ", network->path);
	va_list args;

	va_start(args, format);
	vsnprintf(network->error + used, (size_t)(PLOT_NETWORK_ERROR_MAX - used), format, args);
	va_end(args);
	return status;
}

/* Splits the line in place. Returns the number of fields; 0: malformed quotes, or too many. */
static uint32_t split(char *line, char **fields)
{
	char *rest = line;
	uint32_t n = 0;

	line[strcspn(line, "\r\n")] = '\0';
	while (rest != NULL) {
		if (n == FIELDS)
			return 0;
		fields[n] = csv_field(&rest);
		if (fields[n++] == NULL)
			return 0;
	}
	return n;
}

static int read_header(struct network *network, char *line)
{
	char *fields[FIELDS];

	network->nb_columns = split(line + byte_order_mark(line), fields);
	for (uint32_t f = 0; f < NB_FIELDS; f++) {
		uint32_t at = 0;

		while (at < network->nb_columns && strcmp(fields[at], names[f]) != 0)
			at++;
		if (at == network->nb_columns)
			return fail(network, EXIT_TEXT,
				"no column '%s'; give a CSV file of --export neighbours", names[f]);
		network->at[f] = at;
	}
	return 0;
}

static int compare_ends(const struct cable_end *a, const struct cable_end *b)
{
	int order = strcmp(a->exporter, b->exporter);

	return order != 0 ? order : strcmp(a->interface, b->interface);
}

/* Skips the apostrophe that marks a name, such as =x, as text for spreadsheets. */
static const char *skip_apostrophe(const char *name)
{
	const char *first = name + 1;

	if (*name != '\'')
		return name;
	first += strspn(first, " \t\r\n");
	return *first != '\0' && strchr("=+-@", *first) != NULL ? name + 1 : name;
}

static const char *add_name(char **to, const char *name)
{
	char *start = *to;

	name = skip_apostrophe(name);
	*to += strlen(name) + 1;
	memcpy(start, name, strlen(name) + 1);
	make_printable(start);
	return start;
}

/* Copies the names of both ends. Returns false if out of memory. */
static bool set_ends(const struct network *network, struct cable *cable, char *const *fields)
{
	static const enum field columns[2][2] = {{FROM, FROM_INTERFACE}, {TO, TO_INTERFACE}};
	size_t bytes = 0;
	char *to;

	for (uint32_t f = FROM; f <= TO_INTERFACE; f++)
		bytes += strlen(fields[network->at[f]]) + 1;
	to = cable->names = malloc(bytes);
	if (to == NULL)
		return false;
	for (uint32_t e = 0; e < 2; e++) {
		cable->ends[e].exporter = add_name(&to, fields[network->at[columns[e][0]]]);
		cable->ends[e].interface = add_name(&to, fields[network->at[columns[e][1]]]);
	}
	return true;
}

/* Returns true if the text is a number, not negative. */
static bool read_number(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && *end == '\0' && *value >= 0 && *value < 1e300;
}

static int read_row(struct network *network, char *line)
{
	char *fields[FIELDS];
	struct cable cable = {.number = network->nb};
	double bytes;
	bool swapped;

	if (split(line, fields) != network->nb_columns)
		return fail(network, EXIT_TEXT, "not %u fields", network->nb_columns);
	for (uint32_t f = BYTES; f < NB_FIELDS; f++)
		if (!read_number(fields[network->at[f]], f == BYTES ? &bytes : &cable.sure))
			return fail(network, EXIT_TEXT, "%s: '%.40s': not a number", names[f],
				fields[network->at[f]]);
	if (cable.sure > 1)
		return fail(network, EXIT_TEXT, "sure: '%.40s': not between 0 and 1",
			fields[network->at[SURE_FIELD]]);
	if (network->nb == network->room) {
		uint64_t room = 2 * network->room + 64;
		struct cable *cables = realloc(network->cables, room * sizeof(cable));

		if (cables == NULL)
			return fail(network, EXIT_MACHINE, "out of memory");
		network->cables = cables;
		network->room = room;
	}
	if (!set_ends(network, &cable, fields))
		return fail(network, EXIT_MACHINE, "out of memory");
	swapped = compare_ends(&cable.ends[0], &cable.ends[1]) > 0;
	if (swapped) {
		struct cable_end end = cable.ends[0];

		cable.ends[0] = cable.ends[1];
		cable.ends[1] = end;
	}
	cable.bytes[swapped] = bytes;
	network->cables[network->nb++] = cable;
	return 0;
}

static int read_file(struct network *network, FILE *file)
{
	char *line = NULL;
	size_t size = 0;
	int status = 0;

	while (status == 0 && getline(&line, &size, file) >= 0) {
		network->line++;
		if (network->line > 1 && strchr(line, '\n') == NULL) {
			cli_error(0, "warning: the last line of a file is truncated, and ignored");
			break;
		}
		status = network->line == 1 ? read_header(network, line) : read_row(network, line);
	}
	free(line);
	if (status == 0 && ferror(file))
		return fail(network, EXIT_MACHINE, "%s", strerror(errno));
	if (status == 0 && network->line == 0)
		return fail(network, EXIT_TEXT,
			"no header line; give a CSV file of --export neighbours");
	return status;
}

static int read_files(struct network *network, const struct csv_replay_files *files)
{
	int status = 0;

	for (uint32_t f = 0; f < files->n && status == 0; f++) {
		FILE *file = fopen(files->paths[f], "re");

		network->path = files->paths[f];
		network->line = 0;
		if (file == NULL)
			return fail(network, EXIT_MACHINE, "%s", strerror(errno));
		status = read_file(network, file);
		fclose(file);
	}
	network->line = 0;
	if (status == 0 && network->nb == 0)
		return fail(network, EXIT_TEXT,
			"no links; --export neighbours has them if exporters share flows");
	return status;
}

static int by_ends(const void *a, const void *b)
{
	const struct cable *x = a, *y = b;
	int order = compare_ends(&x->ends[0], &y->ends[0]);

	if (order == 0)
		order = compare_ends(&x->ends[1], &y->ends[1]);
	if (order == 0)
		order = x->number < y->number ? -1 : 1;
	return order;
}

static bool are_one(const struct cable *a, const struct cable *b)
{
	return compare_ends(&a->ends[0], &b->ends[0]) == 0 &&
	       compare_ends(&a->ends[1], &b->ends[1]) == 0;
}

static void merge_cables(struct network *network)
{
	uint64_t n = 0;

	qsort(network->cables, network->nb, sizeof(network->cables[0]), by_ends);
	for (uint64_t i = 0; i < network->nb; i++) {
		struct cable *cable = &network->cables[i];

		if (n == 0 || !are_one(&network->cables[n - 1], cable)) {
			network->cables[n++] = *cable;
			continue;
		}
		network->cables[n - 1].bytes[0] += cable->bytes[0];
		network->cables[n - 1].bytes[1] += cable->bytes[1];
		network->cables[n - 1].sure = cable->sure;
		free(cable->names);
	}
	network->nb = n;
}

static void draw_string(struct text *text, const char *string)
{
	text_char(text, '"');
	for (; *string != '\0'; string++) {
		if (*string == '"' || *string == '\\')
			text_char(text, '\\');
		text_char(text, *string);
	}
	text_char(text, '"');
}

static void draw_bytes(struct text *text, double bytes)
{
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
	uint32_t unit = 0;

	for (; bytes >= 999.5 && unit < 5; unit++)
		bytes /= 1000;
	text_printf(text, "%.3g %s", bytes, units[unit]);
}

static void draw_cable(struct text *text, const struct cable *cable, double most)
{
	double sum = cable->bytes[0] + cable->bytes[1];

	text_char(text, '\t');
	draw_string(text, cable->ends[0].exporter);
	text_str(text, " -- ");
	draw_string(text, cable->ends[1].exporter);
	text_str(text, " [taillabel=");
	draw_string(text, cable->ends[0].interface);
	text_str(text, ", headlabel=");
	draw_string(text, cable->ends[1].interface);
	text_str(text, ", label=\"");
	draw_bytes(text, cable->bytes[0]);
	text_str(text, " / ");
	draw_bytes(text, cable->bytes[1]);
	text_printf(text, "\", tooltip=\"sure: %.2f\", penwidth=%.1f%s];\n", cable->sure,
		1 + (most > 0 ? (PEN_MAX - 1) * sum / most : 0),
		cable->sure < SURE ? ", style=dashed" : "");
}

static void draw(struct text *text, const struct network *network)
{
	double most = 0;

	for (uint64_t i = 0; i < network->nb; i++) {
		double sum = network->cables[i].bytes[0] + network->cables[i].bytes[1];

		most = sum > most ? sum : most;
	}
	text_str(text, "graph network {\n\tnode [shape=box];\n");
	for (uint64_t i = 0; i < network->nb; i++)
		draw_cable(text, &network->cables[i], most);
	text_str(text, "}\n");
}

int plot_network(const struct csv_replay_files *files, struct text *text, char *error)
{
	struct network network = {.error = error};
	int status = read_files(&network, files);

	if (status == 0) {
		merge_cables(&network);
		draw(text, &network);
	}
	for (uint64_t i = 0; i < network.nb; i++)
		free(network.cables[i].names);
	free(network.cables);
	return status;
}
