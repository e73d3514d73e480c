/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/papers.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "base/log.h"
#include "base/regular_file.h"
#include "base/text.h"
#include "bench/csv_table.h"
#include "bench/paper_facts.h"
#include "bench/paper_ours.h"
#include "report/formats/format.h"
#include "tune/measure/bench_pass.h"

#define PATH_MAX_LEN  1024
#define REASON_MAX    256
#define PROFILE_FIRST "sketchtap profile "

/* Programs of the source tree that write files which no command of sketchtap-bench writes. */
static const struct writer {
	const char *file, *command;
} writers[] = {
	{"living-edge-compared", "bench/living-edge compare"},
	{"edge", "sudo bench/edge --what cost,highest --flows 2550,1456"},
};

struct file {
	char name[PAPERS_NAME_MAX];
	bool exists;
	struct csv_table table;
	char command[REASON_MAX], machine[REASON_MAX]; /* used if the file has no such columns */
};

struct join {
	const char *directory;
	struct csv_table ours;
	struct file files[PAPERS_FILES_MAX];
	uint32_t nb_files;
};

struct figure {
	bool found, has_spread;
	double value, min, max;
	char text[REASON_MAX]; /* instead of a value; "" without one */
	const char *how, *note, *command, *machine, *date;
	const char *conditions; /* differ from those of the paper; "": none */
	const struct csv_table *table;
	uint32_t row; /* the first of the table with the figure */
};

/* A row of a paper. */
struct printed {
	const struct csv_table *table;
	uint32_t row;
};

static const char *const name_columns[] = {"item", "setting", "quantity", "unit"};

#define NAMES (sizeof(name_columns) / sizeof(name_columns[0]))

/* Values of the selected rows. */
struct values {
	uint32_t n;
	uint32_t *rows;
	double *values;
};

static const char *field(const struct csv_table *table, uint32_t row, const char *column)
{
	return csv_table_cell(table, row, csv_table_column(table, column));
}

static bool number_of(const char *text, double *number)
{
	char *end;

	*number = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*number);
}

static bool is_number(const char *cell, double number)
{
	double value;

	return number_of(cell, &value) && value == number;
}

/* Keeps the rows with the least or the largest number. */
static uint32_t keep_extreme(
	const struct csv_table *table, uint32_t column, bool largest, uint32_t *rows, uint32_t n)
{
	double extreme = NAN, number;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (number_of(csv_table_cell(table, rows[i], column), &number) &&
			(isnan(extreme) || (largest ? number > extreme : number < extreme)))
			extreme = number;
	for (uint32_t i = 0; i < n; i++)
		if (is_number(csv_table_cell(table, rows[i], column), extreme))
			rows[kept++] = rows[i];
	return kept;
}

/* Cuts the condition at its operator. */
static uint32_t keep_rows(
	const struct csv_table *table, char *condition, uint32_t *rows, uint32_t n)
{
	char *op = strchr(condition, '=');
	uint32_t column, kept = 0;
	const char *wanted;
	bool negated;

	VERIFY(op, !=, NULL);
	wanted = op + 1;
	negated = op > condition && op[-1] == '!';
	op[-(int)negated] = '\0';
	column = csv_table_column(table, condition);
	if (column == CSV_NO_COLUMN)
		return 0;
	if (strcmp(wanted, "<min>") == 0 || strcmp(wanted, "<max>") == 0)
		return keep_extreme(table, column, wanted[2] == 'a', rows, n);
	for (uint32_t i = 0; i < n; i++)
		if ((fnmatch(wanted, csv_table_cell(table, rows[i], column), 0) == 0) != negated)
			rows[kept++] = rows[i];
	return kept;
}

static bool is_comparable(const struct csv_table *table, uint32_t row)
{
	return strncmp(field(table, row, "note"), "not comparable", strlen("not comparable")) != 0;
}

/* Returns true if the bench names its row like a row of a paper. */
static bool is_named_like(
	const struct csv_table *table, uint32_t row, const struct printed *printed)
{
	for (uint32_t n = 0; n < NAMES; n++)
		if (strcmp(field(table, row, name_columns[n]),
			    field(printed->table, printed->row, name_columns[n])) != 0)
			return false;
	return true;
}

static uint32_t select_named(
	const struct csv_table *table, const struct printed *printed, uint32_t *rows)
{
	uint32_t n = 0;

	for (uint32_t row = 1; row < table->nb_rows; row++)
		if (is_named_like(table, row, printed))
			rows[n++] = row;
	return n;
}

/* rows: room for all rows of the table. Returns the number of rows. */
static uint32_t select_rows(const struct csv_table *table, const char *conditions, uint32_t *rows)
{
	bool any_note = strstr(conditions, "note") != NULL;
	char *copy = strdup(conditions), *rest, *condition;
	uint32_t n = 0;

	if (copy == NULL)
		return 0;
	for (uint32_t row = 1; row < table->nb_rows; row++)
		if (any_note || is_comparable(table, row))
			rows[n++] = row;
	for (condition = strtok_r(copy, ";", &rest); condition != NULL;
		condition = strtok_r(NULL, ";", &rest))
		n = keep_rows(table, condition, rows, n);
	free(copy);
	return n;
}

/* Evaluates COLUMNsuffix, NUMBER/COLUMNsuffix or NUMBER-COLUMNsuffix. */
static bool evaluate(const struct csv_table *table, uint32_t row, const char *expression,
	const char *suffix, double times, double *value)
{
	char name[PAPERS_NAME_MAX], *end;
	double first = strtod(expression, &end);
	char op = end == expression ? '\0' : *end++;

	snprintf(name, sizeof(name), "%s%s", end, suffix);
	if (!number_of(field(table, row, name), value))
		return false;
	*value = op == '/'   ? first / *value * times
		 : op == '-' ? first - *value * times
			     : *value * times;
	return isfinite(*value);
}

/* printed: the row that names the rows if there are no conditions. */
static bool values_of(struct values *values, const struct csv_table *table, const char *conditions,
	const struct printed *printed, const char *expression, double times)
{
	uint32_t n, kept = 0;

	*values = (struct values){.rows = calloc(table->nb_rows, sizeof(uint32_t)),
		.values = calloc(table->nb_rows, sizeof(double))};
	if (values->rows == NULL || values->values == NULL)
		return false;
	n = conditions[0] != '\0' ? select_rows(table, conditions, values->rows)
				  : select_named(table, printed, values->rows);
	for (uint32_t i = 0; i < n; i++)
		if (evaluate(table, values->rows[i], expression, "", times, &values->values[kept]))
			values->rows[kept++] = values->rows[i];
	values->n = kept;
	return true;
}

static void values_free(struct values *values)
{
	free(values->rows);
	free(values->values);
}

/* Returns NAN if out of memory. */
static struct bench_stats stats_of(const double *values, uint32_t n)
{
	double *sorted = malloc(n * sizeof(*sorted));
	struct bench_stats stats = {.median = NAN};

	if (sorted == NULL)
		return stats;
	memcpy(sorted, values, n * sizeof(*sorted));
	stats = bench_stats_sort(sorted, n);
	free(sorted);
	return stats;
}

static double combine(const char *op, double a, double b)
{
	return op[0] == '/'   ? a / b
	       : op[0] == '-' ? a - b
	       : op[0] == '+' ? a + b
			      : (a - b) / fabs(b);
}

/* Pairs values row by row if the numbers of rows are equal, as those of rounds. */
static void combine_values(const char *op, struct values *a, const struct values *b)
{
	double median = b->n > 0 ? stats_of(b->values, b->n).median : NAN;

	for (uint32_t i = 0; i < a->n; i++)
		a->values[i] = combine(op, a->values[i], a->n == b->n ? b->values[i] : median);
}

static const char *or_other(const char *text, const char *other)
{
	return text[0] != '\0' ? text : other;
}

/* Reads the spread of a row from COLUMN_min and COLUMN_max; of `value` from min and max. */
static bool spread_of_row(const struct csv_table *table, uint32_t row, const char *expression,
	double times, double *min, double *max)
{
	bool plain = strcmp(expression, "value") == 0;
	double other;

	if (!evaluate(table, row, plain ? "min" : expression, plain ? "" : "_min", times, min) ||
		!evaluate(table, row, plain ? "max" : expression, plain ? "" : "_max", times, max))
		return false;
	other = *min;
	*min = fmin(*min, *max);
	*max = fmax(other, *max);
	return true;
}

/* Sets the spread of a combination of two rows that have one each, from its extremes. */
static void combine_spreads(
	struct figure *figure, const char *op, const double a[2], const double b[2], double times)
{
	bool divides = op[0] == '/' || op[0] == 'a';

	if (divides && b[0] <= 0 && b[1] >= 0)
		return;
	figure->has_spread = true;
	figure->min = INFINITY;
	figure->max = -INFINITY;
	for (uint32_t i = 0; i < 4; i++) {
		double value = combine(op, a[i / 2], b[i % 2]) * times;

		figure->min = fmin(figure->min, value);
		figure->max = fmax(figure->max, value);
	}
}

/* figure: may have the spread of a combination of two rows. */
static bool fill_figure(struct figure *figure, const struct file *file, const struct values *values,
	const char *expression, const char *op, double times)
{
	const struct csv_table *table = &file->table;
	const struct bench_stats stats = stats_of(values->values, values->n);

	figure->table = table;
	figure->row = values->rows[0];
	figure->how = field(table, values->rows[0], "how");
	figure->note = field(table, values->rows[0], "note");
	figure->conditions = field(table, values->rows[0], "conditions");
	figure->value = stats.median;
	if (values->n > 1) {
		figure->has_spread = true;
		figure->min = stats.min;
		figure->max = stats.max;
	} else if (op[0] == '\0') {
		figure->has_spread = spread_of_row(
			table, values->rows[0], expression, times, &figure->min, &figure->max);
	}
	figure->command = or_other(field(table, values->rows[0], "command"), file->command);
	figure->machine = or_other(field(table, values->rows[0], "machine"), file->machine);
	figure->date = field(table, values->rows[0], "date");
	return isfinite(figure->value) && figure->command[0] != '\0';
}

/* Writes "A to B" for the medians. */
static void write_change(
	struct figure *figure, const struct values *a, const struct values *b, double times)
{
	if (a->n > 0)
		snprintf(figure->text, REASON_MAX, "%.3g to %.3g",
			stats_of(a->values, a->n).median * times,
			stats_of(b->values, b->n).median * times);
}

/* Returns false if there is no memory. */
static bool apply_op(struct figure *figure, struct values *values, const struct csv_table *table,
	const struct csv_table *ours, uint32_t line, double times)
{
	const char *op = field(ours, line, "op"), *value = field(ours, line, "value"),
		   *of_value = or_other(field(ours, line, "of_value"), value);
	double a[2], b[2];
	struct values others;
	bool right = values_of(&others, table,
		or_other(field(ours, line, "of_rows"), field(ours, line, "rows")), NULL, of_value,
		1);

	if (right && strcmp(op, "to") == 0)
		write_change(figure, &others, values, times);
	else if (right && values->n == 1 && others.n == 1 &&
		 spread_of_row(table, values->rows[0], value, 1, &a[0], &a[1]) &&
		 spread_of_row(table, others.rows[0], of_value, 1, &b[0], &b[1]))
		combine_spreads(figure, op, a, b, times);
	if (right && strcmp(op, "to") != 0)
		combine_values(op, values, &others);
	for (uint32_t i = 0; i < values->n; i++)
		values->values[i] *= times;
	values_free(&others);
	return right;
}

/* The rows with the same name in a column. */
struct group {
	const char *name;
	double median, min, max;
};

static int compare_medians(const void *a, const void *b)
{
	double x = ((const struct group *)a)->median, y = ((const struct group *)b)->median;

	return (x > y) - (x < y);
}

/* Orders names that are numbers from the largest to the smallest. */
static int compare_names(const void *a, const void *b)
{
	double x = strtod(((const struct group *)a)->name, NULL),
	       y = strtod(((const struct group *)b)->name, NULL);

	return (x < y) - (x > y);
}

/* Returns the group of row `first`. some: room for all values. */
static struct group group_of(const struct values *values, const struct csv_table *table,
	uint32_t column, uint32_t first, const char *expression, double times, double *some)
{
	struct group group = {
		csv_table_cell(table, values->rows[first], column), 0, INFINITY, -INFINITY};
	uint32_t n = 0;

	for (uint32_t i = 0; i < values->n; i++) {
		double min, max;

		if (strcmp(csv_table_cell(table, values->rows[i], column), group.name) != 0)
			continue;
		if (!spread_of_row(table, values->rows[i], expression, times, &min, &max))
			min = max = values->values[i];
		group.min = fmin(group.min, min);
		group.max = fmax(group.max, max);
		some[n++] = values->values[i];
	}
	group.median = bench_stats_sort(some, n).median;
	return group;
}

static bool is_new_group(const struct group *groups, uint32_t n, const char *name)
{
	while (n > 0 && strcmp(groups[n - 1].name, name) != 0)
		n--;
	return n == 0;
}

/* Returns true if the spreads of the first n groups are below those of all others. */
static bool are_below(const struct group *groups, uint32_t n, uint32_t nb_groups)
{
	double max = -INFINITY, min = INFINITY;

	for (uint32_t g = 0; g < nb_groups; g++) {
		max = g < n ? fmax(max, groups[g].max) : max;
		min = g < n ? min : fmin(min, groups[g].min);
	}
	return max < min;
}

/* Writes the names in the order of their medians: "A < B", or "A = B" if the spreads overlap. */
static bool order_groups(struct figure *figure, struct group *groups, uint32_t n)
{
	size_t used = 0;

	qsort(groups, n, sizeof(*groups), compare_medians);
	for (uint32_t g = 0; g < n && used < REASON_MAX; g++)
		used += (size_t)snprintf(figure->text + used, REASON_MAX - used, "%s%s",
			g == 0                    ? ""
			: are_below(groups, g, n) ? " < "
						  : " = ",
			groups[g].name);
	return used < REASON_MAX;
}

/* Writes the first name, from the largest, whose spread is above that of the largest. */
static bool find_rise(struct figure *figure, struct group *groups, uint32_t n)
{
	uint32_t g = 1;

	qsort(groups, n, sizeof(*groups), compare_names);
	while (g < n && groups[g].min <= groups[0].max)
		g++;
	snprintf(figure->text, REASON_MAX, "%s", g < n ? groups[g].name : "none");
	return true;
}

/* Sets the largest difference of medians. */
static bool find_range(struct figure *figure, struct group *groups, uint32_t n)
{
	qsort(groups, n, sizeof(*groups), compare_medians);
	figure->value = groups[n - 1].median - groups[0].median;
	figure->has_spread = false;
	return true;
}

static const struct group_op {
	const char *name;
	bool (*apply)(struct figure *figure, struct group *groups, uint32_t n);
} group_ops[] = {{"order", order_groups}, {"rise", find_rise}, {"range", find_range}};

/* Returns NULL if `name` is not an operator of groups. */
static const struct group_op *group_op_of(const char *name)
{
	for (uint32_t i = 0; i < sizeof(group_ops) / sizeof(group_ops[0]); i++)
		if (strcmp(group_ops[i].name, name) == 0)
			return &group_ops[i];
	return NULL;
}

/* Returns false if there is only one group. */
static bool apply_group_op(const struct group_op *op, struct figure *figure,
	const struct values *values, const struct csv_table *table, const char *column_name,
	const char *expression, double times)
{
	struct group *groups = calloc(values->n, sizeof(*groups));
	double *some = calloc(values->n, sizeof(*some));
	uint32_t column = csv_table_column(table, column_name), n = 0;
	bool right;

	for (uint32_t i = 0; groups != NULL && some != NULL && i < values->n; i++)
		if (is_new_group(groups, n, csv_table_cell(table, values->rows[i], column)))
			groups[n++] = group_of(values, table, column, i, expression, times, some);
	right = n > 1 && op->apply(figure, groups, n);
	free(groups);
	free(some);
	return right;
}

/* Looks up the figure of a line of ours.csv. */
static struct figure figure_of(const struct file *file, const struct csv_table *ours, uint32_t line,
	const struct printed *printed)
{
	const char *value = field(ours, line, "value"), *op = field(ours, line, "op"),
		   *factor = field(ours, line, "times");
	const struct group_op *group_op = group_op_of(op);
	bool combined = op[0] != '\0' && group_op == NULL;
	double times = factor[0] != '\0' ? strtod(factor, NULL) : 1, inner = combined ? 1 : times;
	struct figure figure = {0};
	struct values values;

	figure.found = values_of(&values, &file->table, field(ours, line, "rows"), printed, value,
			       inner) &&
		       values.n > 0 &&
		       (!combined || apply_op(&figure, &values, &file->table, ours, line, times)) &&
		       fill_figure(&figure, file, &values, value, op, inner) &&
		       (group_op == NULL || apply_group_op(group_op, &figure, &values, &file->table,
						    field(ours, line, "of_value"), value, inner)) &&
		       (strcmp(op, "to") != 0 || figure.text[0] != '\0');
	values_free(&values);
	return figure;
}

static char *read_text(const char *path, size_t *size)
{
	FILE *in = regular_file_open(path);
	struct text text = {0};
	char part[4096];

	if (in == NULL)
		return NULL;
	for (size_t n; (n = fread(part, 1, sizeof(part), in)) > 0;)
		text_add(&text, part, n);
	fclose(in);
	text_char(&text, '\0');
	if (text.failed) {
		text_free(&text);
		errno = ENOMEM;
		return NULL;
	}
	*size = text.len - 1;
	return text.data;
}

/* Leaves only the CSV of a profile, from "part," to the line "rows: N", and reads its machine. */
static void cut_profile(struct file *file, char **text, size_t *size)
{
	char *cpu = strstr(*text, "\ncpu: "), *first = strstr(*text, "\npart,"),
	     *last = first != NULL ? strstr(first, "\nrows: ") : NULL;

	if (strncmp(*text, PROFILE_FIRST, strlen(PROFILE_FIRST)) != 0 || cpu == NULL ||
		last == NULL)
		return;
	cpu += strlen("\ncpu: ");
	snprintf(file->machine, sizeof(file->machine), "%.*s", (int)strcspn(cpu, "\n"), cpu);
	*text = first + 1;
	*size = (size_t)(last + 1 - *text);
}

/* Derives the command of a profile from its last row. */
static void name_command(struct file *file)
{
	const struct csv_table *table = &file->table;
	uint32_t last = table->nb_rows - 1;

	if (file->machine[0] != '\0' && last > 0)
		snprintf(file->command, sizeof(file->command),
			"sketchtap-bench profile --sketch %s --width %s",
			field(table, last, "sketch"), field(table, last, "width"));
}

static bool read_file(struct file *file, const char *directory)
{
	char path[PATH_MAX_LEN], *text, *csv;
	uint32_t line;
	size_t size;

	snprintf(path, sizeof(path), "%s/%s.csv", directory, file->name);
	text = csv = read_text(path, &size);
	if (text == NULL && errno == ENOENT)
		return true;
	if (text == NULL) {
		log_error("%s: cannot read: %s", path,
			errno != 0 ? strerror(errno) : "no regular file");
		return false;
	}
	cut_profile(file, &csv, &size);
	line = csv_table_parse(&file->table, csv, size);
	free(text);
	file->exists = line == 0;
	if (file->exists)
		name_command(file);
	else
		log_error("%s: line %u is not CSV with the columns of line 1; delete the file to "
			  "measure again",
			path, line);
	return file->exists;
}

static struct file *find_file(struct join *join, const char *name)
{
	for (uint32_t f = 0; f < join->nb_files; f++)
		if (strcmp(join->files[f].name, name) == 0)
			return &join->files[f];
	return NULL;
}

uint32_t papers_files(char names[PAPERS_FILES_MAX][PAPERS_NAME_MAX])
{
	struct csv_table ours;
	uint32_t n = 0;

	csv_table_parse_embedded(&ours, paper_ours, sizeof(paper_ours));
	for (uint32_t line = 1; line < ours.nb_rows; line++) {
		const char *name = field(&ours, line, "file");
		uint32_t i = 0;

		while (i < n && strcmp(names[i], name) != 0)
			i++;
		if (name[0] == '\0' || i < n)
			continue;
		VERIFY(n, <, PAPERS_FILES_MAX);
		snprintf(names[n++], PAPERS_NAME_MAX, "%s", name);
	}
	csv_table_free(&ours);
	return n;
}

static bool answers(const struct csv_table *ours, uint32_t line, const char *paper,
	const struct csv_table *printed, uint32_t row)
{
	if (strcmp(field(ours, line, "paper"), paper) != 0)
		return false;
	for (uint32_t n = 0; n < NAMES; n++)
		if (fnmatch(field(ours, line, name_columns[n]),
			    field(printed, row, name_columns[n]), 0) != 0)
			return false;
	return true;
}

static void reason_without_figure(char reason[REASON_MAX], const struct file *file)
{
	const char *command = NULL;

	for (uint32_t w = 0; w < sizeof(writers) / sizeof(writers[0]); w++)
		if (strcmp(writers[w].file, file->name) == 0)
			command = writers[w].command;
	if (file->exists)
		snprintf(reason, REASON_MAX, "not run: %s.csv has no such figure", file->name);
	else
		snprintf(reason, REASON_MAX, "not run: no %s.csv%s%s", file->name,
			command != NULL ? ", which is written by " : "",
			command != NULL ? command : "");
}

/* Appends the command without the path of the program, --output and --force. */
static void add_command(struct text *text, const char *command)
{
	const char *space = strchr(command, ' '), *slash = NULL;
	struct text copy = {0};

	for (const char *at = command; at != space && *at != '\0'; at++)
		if (*at == '/')
			slash = at;
	for (const char *at = slash != NULL ? slash + 1 : command; *at != '\0';) {
		if (strncmp(at, " --output ", strlen(" --output ")) == 0) {
			at += strlen(" --output ");
			at += strcspn(at, " ");
		} else if (strncmp(at, " --force", strlen(" --force")) == 0) {
			at += strlen(" --force");
		} else {
			text_char(&copy, *at++);
		}
	}
	text_char(&copy, '\0');
	csv_string(text, copy.failed ? "" : copy.data);
	text_free(&copy);
}

static void add_number(struct text *text, bool present, double value)
{
	text_char(text, ',');
	if (present)
		text_printf(text, fabs(value) >= 1000 ? "%.0f" : "%.4g", value + 0.0);
}

/* Returns the line of ours.csv that answers, or 0 with a reason. */
static uint32_t find_figure(struct join *join, enum paper paper, uint32_t row,
	struct figure *figure, char reason[REASON_MAX])
{
	const struct csv_table *printed = paper_table(paper);
	const struct printed named = {printed, row};

	snprintf(reason, REASON_MAX, "not run: no line of ours.csv");
	for (uint32_t line = 1; line < join->ours.nb_rows; line++) {
		const char *name = field(&join->ours, line, "file");
		const struct file *file;

		if (!answers(&join->ours, line, paper_names[paper], printed, row))
			continue;
		if (name[0] == '\0')
			return line;
		file = find_file(join, name);
		*figure = file->exists ? figure_of(file, &join->ours, line, &named)
				       : (struct figure){0};
		if (figure->found)
			return line;
		reason_without_figure(reason, file);
	}
	return 0;
}

/* Appends the text. A {COLUMN} in it becomes the cell of the figure's row. */
static void add_filled(struct text *text, const char *how, const struct figure *figure)
{
	const char *open, *close;

	while (figure->found && (open = strchr(how, '{')) != NULL &&
		(close = strchr(open, '}')) != NULL) {
		char column[PAPERS_NAME_MAX];

		text_add(text, how, (size_t)(open - how));
		snprintf(column, sizeof(column), "%.*s", (int)(close - open - 1), open + 1);
		text_str(text, field(figure->table, figure->row, column));
		how = close + 1;
	}
	text_str(text, how);
}

/*
 * Writes the kind of a figure, with the row's note if the bench and not ours.csv has the kind, and
 * the conditions that differ from those of the paper.
 */
static void add_kind(struct text *text, const char *how, const struct figure *figure)
{
	const char *parts[] = {how[0] != '\0' ? how : figure->how,
		how[0] != '\0' ? "" : figure->note, figure->found ? figure->conditions : ""};
	struct text all = {0};

	add_filled(&all, parts[0], figure);
	for (uint32_t i = 1; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i][0] == '\0')
			continue;
		text_str(&all, i == 1 || strchr(parts[0], ':') == NULL ? ": " : "; ");
		text_str(&all, parts[i]);
	}
	text_char(&all, '\0');
	csv_string(text, all.failed ? "" : all.data);
	text_free(&all);
}

static void add_row(struct join *join, enum paper paper, uint32_t row, struct text *text)
{
	const struct csv_table *printed = paper_table(paper);
	struct figure figure = {0};
	char reason[REASON_MAX];
	uint32_t line = find_figure(join, paper, row, &figure, reason);
	bool found = line != 0 && figure.found, spread;

	text_str(text, csv_table_cell(printed, row, 0));
	for (uint32_t c = 1; c < printed->nb_columns; c++)
		csv_string(text, csv_table_cell(printed, row, c));
	if (found && figure.text[0] != '\0')
		csv_string(text, figure.text);
	else
		add_number(text, found, figure.value);
	spread = found && figure.has_spread && figure.text[0] == '\0';
	add_number(text, spread, figure.min);
	add_number(text, spread, figure.max);
	add_kind(text, line != 0 ? field(&join->ours, line, "how") : reason, &figure);
	add_command(text, found ? figure.command : "");
	csv_string(text, found ? figure.machine : "");
	csv_string(text, found ? figure.date : "");
	text_char(text, '\n');
}

static bool write_text(const struct text *text, const char *directory)
{
	char path[PATH_MAX_LEN], part[PATH_MAX_LEN + 8];
	int fd;
	FILE *out;
	bool right;

	snprintf(path, sizeof(path), "%s/papers.csv", directory);
	snprintf(part, sizeof(part), "%s.part", path);
	fd = regular_file_create(part, true);
	out = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (out == NULL || text->failed) {
		log_error("%s: cannot create: %s", part,
			out != NULL ? "out of memory" : file_error(errno));
		if (out != NULL)
			fclose(out);
		return false;
	}
	right = fwrite(text->data, 1, text->len, out) == text->len;
	right = fclose(out) == 0 && right && rename(part, path) == 0;
	if (!right)
		log_error("%s: cannot write: %s", path, strerror(errno));
	return right;
}

static bool read_files(struct join *join)
{
	char names[PAPERS_FILES_MAX][PAPERS_NAME_MAX];

	join->nb_files = papers_files(names);
	for (uint32_t f = 0; f < join->nb_files; f++)
		memcpy(join->files[f].name, names[f], PAPERS_NAME_MAX);
	for (uint32_t f = 0; f < join->nb_files; f++)
		if (!read_file(&join->files[f], join->directory))
			return false;
	return true;
}

static void add_rows(struct join *join, struct text *text)
{
	text_str(text, "paper,item,setting,quantity,unit,value,note,ours,ours_min,ours_max,"
		       "how,command,machine,date\n");
	for (uint32_t p = 0; p < PAPERS; p++)
		for (uint32_t row = 1; row < paper_table((enum paper)p)->nb_rows; row++)
			add_row(join, (enum paper)p, row, text);
}

bool papers_join(const char *directory)
{
	static struct join join;
	struct text text = {0};
	bool right;

	join = (struct join){.directory = directory};
	csv_table_parse_embedded(&join.ours, paper_ours, sizeof(paper_ours));
	right = read_files(&join);
	if (right) {
		add_rows(&join, &text);
		right = write_text(&text, directory);
	}
	text_free(&text);
	for (uint32_t f = 0; f < join.nb_files; f++)
		csv_table_free(&join.files[f].table);
	csv_table_free(&join.ours);
	return right;
}
