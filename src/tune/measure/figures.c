/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/measure/figures.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/regular_file.h"
#include "base/signals.h"
#include "report/formats/format.h"

static int open_file(const char *path, bool force, FILE **file)
{
	int fd = regular_file_create(path, force);

	if (fd < 0 && errno == EEXIST) {
		log_error("--output %s: exists; give --force to replace it", path);
		return 2;
	}
	if (fd < 0 || (*file = fdopen(fd, "w")) == NULL) {
		log_error("--output %s: %s", path, file_error(errno));
		if (fd >= 0)
			close(fd);
		return 1;
	}
	return 0;
}

int figures_open(
	struct figures *figures, const struct figures_column *columns, const struct config *config)
{
	char error[500];

	*figures = (struct figures){.columns = columns,
		.table = stdout,
		.prefix = figures->prefix != NULL ? figures->prefix : "",
		.path = figures_options(config)->output};
	host_facts_read(&figures->facts, config->argc, config->argv);
	if (!config_spares_inputs(config, "--output", figures->path != NULL ? figures->path : "-",
		    -1, error, sizeof(error))) {
		log_error("%s", error);
		return 2;
	}
	if (figures->path == NULL)
		return 0;
	if (strcmp(figures->path, "-") == 0) {
		figures->table = NULL;
		figures->csv = stdout;
		return 0;
	}
	return open_file(figures->path, figures_options(config)->force, &figures->csv);
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

/* Without other output, requests a stop if the reader of standard output closed the pipe. */
static void flush(struct figures *figures, FILE *file)
{
	if (fflush(file) == 0 || errno != EPIPE || file != stdout || figures->unread)
		return;
	figures->unread = true;
	if (figures->table == NULL || figures->csv == NULL)
		signals_request_stop();
}

static void write_line(struct figures *figures, struct text *line)
{
	text_char(line, '\n');
	if (line->failed)
		fputs("\n", figures->csv);
	else
		fwrite(line->data, 1, line->len, figures->csv);
	flush(figures, figures->csv);
	text_free(line);
}

void figures_begin(struct figures *figures)
{
	const struct host_facts *facts = &figures->facts;

	if (figures->table != NULL)
		fprintf(figures->table, "%s%s\n%s%s, %s, %s\n%s%s: %s\n", figures->prefix,
			facts->machine, figures->prefix, facts->kernel, facts->dpdk,
			facts->compiler, figures->prefix, facts->date, facts->command);
	if (figures->csv != NULL) {
		struct text line = {0};

		for (const struct figures_column *c = figures->columns; c->name != NULL; c++)
			text_printf(&line, "%s%s", c == figures->columns ? "" : ",", c->name);
		text_str(&line, ",machine,kernel,dpdk,compiler,date,command");
		write_line(figures, &line);
	}
}

static void print_cells(struct figures *figures)
{
	uint32_t blanks = 0;

	fputs(figures->prefix, figures->table);
	for (uint32_t c = 0; figures->columns[c].name != NULL; c++) {
		uint32_t width = (uint32_t)abs(figures->columns[c].width);
		uint32_t len = (uint32_t)strlen(figures->cells[c]);
		uint32_t pad = len < width ? width - len : 0;

		if (figures->columns[c].title != NULL) {
			bool left = figures->columns[c].width < 0;

			blanks += 2 + (left ? 0 : pad);
			if (len > 0) {
				fprintf(figures->table, "%*s%s", (int)blanks, "",
					figures->cells[c]);
				blanks = 0;
			}
			blanks += left ? pad : 0;
		}
		figures->cells[c][0] = '\0';
	}
	fputc('\n', figures->table);
	flush(figures, figures->table);
}

static void print_units(struct figures *figures)
{
	bool any = false;

	for (uint32_t c = 0; figures->columns[c].name != NULL; c++) {
		const struct figures_column *column = &figures->columns[c];

		if (column->title == NULL || *column->unit == '\0')
			continue;
		snprintf(figures->cells[c], FIGURES_CELL_MAX, "%s", column->unit);
		any = true;
	}
	if (any)
		print_cells(figures);
}

void figures_heading(struct figures *figures, const char *format, ...)
{
	va_list arguments;

	if (figures->table == NULL)
		return;
	fprintf(figures->table, "%s\n%s", figures->prefix, figures->prefix);
	va_start(arguments, format);
	vfprintf(figures->table, format, arguments);
	va_end(arguments);
	fputc('\n', figures->table);
	for (uint32_t c = 0; figures->columns[c].name != NULL; c++)
		if (figures->columns[c].title != NULL)
			snprintf(figures->cells[c], FIGURES_CELL_MAX, "%s",
				figures->columns[c].title);
	print_cells(figures);
	print_units(figures);
}

static char *find_cell(struct figures *figures, const char *column)
{
	uint32_t c = 0;

	while (figures->columns[c].name != NULL && strcmp(figures->columns[c].name, column) != 0)
		c++;
	return figures->columns[c].name != NULL ? figures->cells[c] : NULL;
}

void figures_cell(struct figures *figures, const char *column, const char *format, ...)
{
	char *cell = find_cell(figures, column);
	va_list arguments;

	if (cell == NULL)
		return;
	va_start(arguments, format);
	vsnprintf(cell, FIGURES_CELL_MAX, format, arguments);
	va_end(arguments);
}

void figures_note(struct figures *figures, const char *format, ...)
{
	char *cell = find_cell(figures, "note");
	va_list arguments;
	size_t len;

	if (cell == NULL)
		return;
	len = strlen(cell);
	if (len > 0)
		len += (size_t)snprintf(cell + len, FIGURES_CELL_MAX - len, "; ");
	if (len >= FIGURES_CELL_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(cell + len, FIGURES_CELL_MAX - len, format, arguments);
	va_end(arguments);
}

void figures_row(struct figures *figures)
{
	struct text line = {0};

	for (uint32_t c = 0; figures->columns[c].name != NULL; c++) {
		if (c == 0)
			text_str(&line, figures->cells[c]);
		else
			csv_string(&line, figures->cells[c]);
	}
	add_facts(&line, &figures->facts);
	if (figures->csv != NULL)
		write_line(figures, &line);
	else
		text_free(&line);
	if (figures->table != NULL)
		print_cells(figures);
	else
		memset(figures->cells, 0, sizeof(figures->cells));
}

int figures_close(struct figures *figures)
{
	FILE *files[] = {figures->table, figures->csv};
	int status = 0;

	for (uint32_t f = 0; f < 2; f++)
		if (files[f] != NULL && !(figures->unread && files[f] == stdout) &&
			(fflush(files[f]) != 0 || ferror(files[f]) != 0)) {
			log_error("cannot write %s: output is incomplete",
				files[f] == stdout ? "standard output" : figures->path);
			status = 1;
		}
	if (figures->csv != NULL && figures->csv != stdout && fclose(figures->csv) != 0)
		status = 1;
	return status;
}

int figures_write(struct figures *figures, const struct figures_column *columns,
	const struct config *config, bool (*run)(void *arg), void *arg)
{
	int status = figures_open(figures, columns, config), closed;

	if (status != 0)
		return status;
	host_facts_add_memory(&figures->facts);
	figures_begin(figures);
	status = run(arg) ? 0 : 1;
	closed = figures_close(figures);
	return status != 0 ? status : closed;
}

static const char *inapplicable_without_file(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return option_inapplicable_without_file(figures_options(config)->output);
}

static const struct option_row figures_rows[] = {
	{
		.name = "output",
		.placeholder = "FILE",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_STRING,
		OPTION_FIELD(figures_options, output),
		.default_note = "not written",
		.help = "Also write the rows to FILE, as CSV. - is standard output, instead of "
			"the table.",
	},
	{
		.name = "force",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_FLAG,
		.inapplicable = inapplicable_without_file,
		OPTION_FIELD(figures_options, force),
		.help = "Overwrite an existing output file.",
	},
	{0},
};

const struct option_owner figures_owner = {
	.rows = figures_rows,
	.size = sizeof(struct figures_options),
};
