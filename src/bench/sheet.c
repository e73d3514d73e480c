/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/sheet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "report/output/csv.h"

static int open_file(const char *path, bool force, FILE **file)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0666);

	if (fd < 0 && errno == EEXIST) {
		log_error("--output %s: exists; give --force to replace it", path);
		return 2;
	}
	if (fd < 0 || (*file = fdopen(fd, "w")) == NULL) {
		log_error("--output %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return 1;
	}
	return 0;
}

int sheet_open(struct sheet *sheet, const struct sheet_column *columns, const struct config *config)
{
	*sheet = (struct sheet){
		.columns = columns, .table = stdout, .prefix = "", .path = config->output};
	if (config->output == NULL)
		return 0;
	if (strcmp(config->output, "-") == 0) {
		sheet->table = NULL;
		sheet->csv = stdout;
		return 0;
	}
	return open_file(config->output, config->force, &sheet->csv);
}

static void add_facts(struct text *line, const struct host_facts *facts)
{
	csv_string(line, facts->machine);
	csv_string(line, facts->kernel);
	csv_string(line, facts->dpdk);
	csv_string(line, facts->compiler);
	csv_string(line, facts->date);
	csv_string(line, facts->command);
}

/* Who reads standard output and closes it wants no more: with no other output the bench ends. */
static void flush(struct sheet *sheet, FILE *file)
{
	if (fflush(file) == 0 || errno != EPIPE || file != stdout || sheet->unread)
		return;
	sheet->unread = true;
	if (sheet->table == NULL || sheet->csv == NULL)
		signals_request_stop();
}

/* A line that memory was missing for leaves a file marked as failed. */
static void write_line(struct sheet *sheet, struct text *line)
{
	text_char(line, '\n');
	if (line->failed)
		fputs("\n", sheet->csv);
	else
		fwrite(line->data, 1, line->len, sheet->csv);
	flush(sheet, sheet->csv);
	text_free(line);
}

void sheet_begin(struct sheet *sheet, const struct host_facts *facts)
{
	if (sheet->table != NULL)
		fprintf(sheet->table, "%s%s\n%s%s, %s, %s\n%s%s: %s\n", sheet->prefix,
			facts->machine, sheet->prefix, facts->kernel, facts->dpdk, facts->compiler,
			sheet->prefix, facts->date, facts->command);
	if (sheet->csv != NULL) {
		struct text line = {0};

		for (const struct sheet_column *c = sheet->columns; c->name != NULL; c++)
			text_printf(&line, "%s%s", c == sheet->columns ? "" : ",", c->name);
		text_str(&line, ",machine,kernel,dpdk,compiler,date,command");
		write_line(sheet, &line);
	}
}

/* Without the blanks that would stand at the end. */
static void print_cells(struct sheet *sheet)
{
	uint32_t blanks = 0;

	fputs(sheet->prefix, sheet->table);
	for (uint32_t c = 0; sheet->columns[c].name != NULL; c++) {
		uint32_t width = (uint32_t)abs(sheet->columns[c].width);
		uint32_t len = (uint32_t)strlen(sheet->cells[c]);
		uint32_t pad = len < width ? width - len : 0;

		if (sheet->columns[c].title != NULL) {
			bool left = sheet->columns[c].width < 0;

			blanks += 2 + (left ? 0 : pad);
			if (len > 0) {
				fprintf(sheet->table, "%*s%s", (int)blanks, "", sheet->cells[c]);
				blanks = 0;
			}
			blanks += left ? pad : 0;
		}
		sheet->cells[c][0] = '\0';
	}
	fputc('\n', sheet->table);
	flush(sheet, sheet->table);
}

/* What a column is in, by a word of its name; NULL: a number of things, or words. */
static const char *unit_of(const char *name)
{
	static const struct {
		const char *word, *unit;
	} units[] = {
		{"ns", "ns"},
		{"mpps", "Mpps"},
		{"bytes", "bytes"},
		{"size", "bytes"},
		{"ratio", "ratio"},
		{"default", "ratio"},
		{"rate", "ratio"},
		{"recall", "ratio"},
		{"precision", "ratio"},
		{"error", "ratio"},
		{"exact", "ratio"},
		{"interrupted", "ratio"},
		{"occupancy", "ratio"},
		{"refused", "ratio"},
		{"p", "ratio"},
	};

	for (; *name != '\0'; name += *name == '_') {
		size_t length = strcspn(name, "_");

		for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++)
			if (strlen(units[u].word) == length &&
				memcmp(units[u].word, name, length) == 0)
				return units[u].unit;
		name += length;
	}
	return NULL;
}

/* Under the titles, where a title is not the unit. */
static void print_units(struct sheet *sheet)
{
	bool any = false;

	for (uint32_t c = 0; sheet->columns[c].name != NULL; c++) {
		const struct sheet_column *column = &sheet->columns[c];
		const char *unit = unit_of(column->name);

		if (column->title == NULL || unit == NULL || strcmp(column->title, unit) == 0)
			continue;
		snprintf(sheet->cells[c], SHEET_CELL_MAX, "%s", unit);
		any = true;
	}
	if (any)
		print_cells(sheet);
}

void sheet_heading(struct sheet *sheet, const char *format, ...)
{
	va_list arguments;

	if (sheet->table == NULL)
		return;
	fprintf(sheet->table, "%s\n%s", sheet->prefix, sheet->prefix);
	va_start(arguments, format);
	vfprintf(sheet->table, format, arguments);
	va_end(arguments);
	fputc('\n', sheet->table);
	for (uint32_t c = 0; sheet->columns[c].name != NULL; c++)
		if (sheet->columns[c].title != NULL)
			snprintf(sheet->cells[c], SHEET_CELL_MAX, "%s", sheet->columns[c].title);
	print_cells(sheet);
	print_units(sheet);
}

/* NULL: there is no such column. */
static char *find_cell(struct sheet *sheet, const char *column)
{
	uint32_t c = 0;

	while (sheet->columns[c].name != NULL && strcmp(sheet->columns[c].name, column) != 0)
		c++;
	return sheet->columns[c].name != NULL ? sheet->cells[c] : NULL;
}

void sheet_cell(struct sheet *sheet, const char *column, const char *format, ...)
{
	char *cell = find_cell(sheet, column);
	va_list arguments;

	if (cell == NULL)
		return;
	va_start(arguments, format);
	vsnprintf(cell, SHEET_CELL_MAX, format, arguments);
	va_end(arguments);
}

void sheet_note(struct sheet *sheet, const char *format, ...)
{
	char *cell = find_cell(sheet, "note");
	va_list arguments;
	size_t len;

	if (cell == NULL)
		return;
	len = strlen(cell);
	if (len > 0)
		len += (size_t)snprintf(cell + len, SHEET_CELL_MAX - len, "; ");
	if (len >= SHEET_CELL_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(cell + len, SHEET_CELL_MAX - len, format, arguments);
	va_end(arguments);
}

void sheet_row(struct sheet *sheet, const struct host_facts *facts)
{
	struct text line = {0};

	for (uint32_t c = 0; sheet->columns[c].name != NULL; c++) {
		if (c == 0)
			text_str(&line, sheet->cells[c]);
		else
			csv_string(&line, sheet->cells[c]);
	}
	add_facts(&line, facts);
	if (sheet->csv != NULL)
		write_line(sheet, &line);
	else
		text_free(&line);
	if (sheet->table != NULL)
		print_cells(sheet);
	else
		memset(sheet->cells, 0, sizeof(sheet->cells));
}

int sheet_close(struct sheet *sheet)
{
	FILE *files[] = {sheet->table, sheet->csv};
	int status = 0;

	for (uint32_t f = 0; f < 2; f++)
		if (files[f] != NULL && !(sheet->unread && files[f] == stdout) &&
			(fflush(files[f]) != 0 || ferror(files[f]) != 0)) {
			log_error("%s: not everything could be written",
				files[f] == stdout ? "standard output" : sheet->path);
			status = 1;
		}
	if (sheet->csv != NULL && sheet->csv != stdout && fclose(sheet->csv) != 0)
		status = 1;
	return status;
}
