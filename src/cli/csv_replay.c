/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/csv_replay.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "base/regular_file.h"
#include "base/units.h"
#include "report/rows/rows.h"

#define EXIT_MACHINE   1
#define EXIT_TEXT      2
#define FIELDS_MAX     128
#define LINE_MAX_BYTES 65536

static const char *const output_columns[] = {"epoch", "measurement", "start", "end", "rank",
	"packets", "bytes", "packets_low", "packets_high", "bytes_low", "bytes_high", "share",
	NULL};
static const char *const stats_columns[] = {
	"epoch", "measurement", "start", "end", "distinct_keys", "sketch", NULL};

struct csv_replay_rows {
	const char *option;
	const char *const *required;
	struct csv_replay_files files;
	uint32_t open;
	FILE *file;
	uint64_t line;
	char text[LINE_MAX_BYTES]; /* NULs end the fields */
	uint32_t nb_columns, nb_fields;
	char *fields[FIELDS_MAX];
	char *names[FIELDS_MAX];
	char header[LINE_MAX_BYTES];
	uint32_t next;
	bool has_row;
	uint64_t epoch;
};

struct csv_replay {
	struct csv_replay_rows outputs, stats;
	uint64_t last; /* number of the last epoch; the next one must be larger */
	bool cut;
	int status;
	char error[CSV_REPLAY_ERROR_MAX];
};

static const char *path_of(const struct csv_replay_rows *rows)
{
	VERIFY(rows->open, >, 0U);
	return rows->files.paths[rows->open - 1];
}

__attribute__((format(printf, 4, 5))) static bool set_error(struct csv_replay *replay,
	const struct csv_replay_rows *rows, int status, const char *format, ...)
{
	int used = snprintf(replay->error, sizeof(replay->error), "%.200s", path_of(rows));
	va_list args;

	if (rows->line > 0)
		used += snprintf(replay->error + used, sizeof(replay->error) - (size_t)used,
			":%llu", (unsigned long long)rows->line);
	used += snprintf(replay->error + used, sizeof(replay->error) - (size_t)used, "%s", ": ");
	va_start(args, format);
	vsnprintf(replay->error + used, sizeof(replay->error) - (size_t)used, format, args);
	va_end(args);
	replay->status = status;
	return false;
}

char *csv_field(char **rest)
{
	char *field = *rest, *to, *from;

	if (*field != '"')
		return strsep(rest, ",");
	for (to = from = ++field; *from != '"' || from[1] == '"'; from++) {
		if (*from == '\0')
			return NULL;
		from += *from == '"';
		*to++ = *from;
	}
	if (from[1] != ',' && from[1] != '\0')
		return NULL;
	*rest = from[1] == ',' ? from + 2 : NULL;
	*to = '\0';
	return field;
}

static bool split(struct csv_replay *replay, struct csv_replay_rows *rows)
{
	char *rest = rows->text;

	for (rows->nb_fields = 0; rest != NULL; rows->nb_fields++) {
		if (rows->nb_fields == FIELDS_MAX)
			return set_error(
				replay, rows, EXIT_TEXT, "more than %d fields", FIELDS_MAX);
		rows->fields[rows->nb_fields] = csv_field(&rest);
		if (rows->fields[rows->nb_fields] == NULL)
			return set_error(replay, rows, EXIT_TEXT,
				"field %u: the quotes must enclose the whole field",
				rows->nb_fields + 1);
	}
	return true;
}

static bool read_line(struct csv_replay *replay, struct csv_replay_rows *rows)
{
	size_t len = 0;
	int byte;

	rows->line++;
	while ((byte = getc_unlocked(rows->file)) != EOF && byte != '\n') {
		if (byte == '\0')
			return set_error(replay, rows, EXIT_TEXT, "NUL byte");
		if (len == LINE_MAX_BYTES - 1)
			return set_error(replay, rows, EXIT_TEXT,
				"more than %d bytes in a line; give a CSV file of sketchtap",
				LINE_MAX_BYTES - 1);
		rows->text[len++] = (char)byte;
	}
	if (ferror(rows->file))
		return set_error(replay, rows, EXIT_MACHINE, "%s", strerror(errno));
	if (byte == EOF) {
		replay->cut |= len > 0;
		return false;
	}
	len -= len > 0 && rows->text[len - 1] == '\r';
	rows->text[len] = '\0';
	return split(replay, rows);
}

/* Starts after the column read last, because callers mostly read columns in order. */
static const char *field(void *of, const char *name)
{
	struct csv_replay_rows *rows = of;

	VERIFY(rows->nb_fields, ==, rows->nb_columns);
	for (uint32_t f = 0; f < rows->nb_columns; f++) {
		uint32_t at = rows->next < rows->nb_columns ? rows->next : 0;

		rows->next = at + 1;
		if (strcmp(rows->names[at], name) == 0)
			return rows->fields[at];
	}
	return "";
}

static bool has_column(const struct csv_replay_rows *rows, const char *name)
{
	uint32_t f = 0;

	while (f < rows->nb_columns && strcmp(rows->names[f], name) != 0)
		f++;
	return f < rows->nb_columns;
}

static bool read_header(struct csv_replay *replay, struct csv_replay_rows *rows)
{
	if (!read_line(replay, rows)) {
		if (replay->status == 0)
			set_error(replay, rows, EXIT_TEXT, "no header line; give a CSV file of %s",
				rows->option);
		return false;
	}
	rows->fields[0] += byte_order_mark(rows->fields[0]);
	rows->nb_columns = rows->nb_fields;
	memcpy(rows->header, rows->text, sizeof(rows->header));
	for (uint32_t f = 0; f < rows->nb_columns; f++)
		rows->names[f] = rows->header + (rows->fields[f] - rows->text);
	for (const char *const *name = rows->required; *name != NULL; name++)
		if (!has_column(rows, *name))
			return set_error(replay, rows, EXIT_TEXT,
				"no column '%s'; give a CSV file of %s", *name, rows->option);
	return true;
}

static bool open_next(struct csv_replay *replay, struct csv_replay_rows *rows)
{
	if (rows->file != NULL)
		fclose(rows->file);
	rows->file = NULL;
	if (rows->open == rows->files.n)
		return false;
	rows->line = 0;
	rows->file = fopen(rows->files.paths[rows->open++], "re");
	if (rows->file == NULL)
		return set_error(replay, rows, EXIT_MACHINE, "%s", strerror(errno));
	return read_header(replay, rows) && replay->status == 0;
}

static void next_row(struct csv_replay *replay, struct csv_replay_rows *rows)
{
	const char *text;

	rows->has_row = false;
	if (rows->file == NULL)
		return;
	while (!read_line(replay, rows))
		if (replay->status != 0 || !open_next(replay, rows))
			return;
	if (rows->nb_fields != rows->nb_columns) {
		set_error(replay, rows, EXIT_TEXT, "%u fields, but the header has %u",
			rows->nb_fields, rows->nb_columns);
		return;
	}
	text = field(rows, "epoch");
	if (!epoch_view_read_number(text, &rows->epoch)) {
		set_error(replay, rows, EXIT_TEXT, "'%.40s': not a number", text);
		return;
	}
	if (*text == '\0' || rows->epoch < replay->last) {
		set_error(replay, rows, EXIT_TEXT,
			"interval '%.20s' after interval %llu: give the files of one run, in the "
			"order in which they were written",
			text, (unsigned long long)replay->last);
		return;
	}
	rows->has_row = true;
}

static bool read_times(
	struct csv_replay *replay, struct csv_replay_rows *rows, struct epoch_view *epoch)
{
	const char *start = field(rows, "start"), *end = field(rows, "end");

	return (text_read_time(start, &epoch->start) && text_read_time(end, &epoch->end)) ||
	       set_error(replay, rows, EXIT_TEXT, "'%.40s' or '%.40s': not a time", start, end);
}

static struct epoch_view_measurement *measurement_of(
	struct csv_replay_rows *rows, struct epoch_view *epoch)
{
	const char *name = field(rows, "measurement");
	struct epoch_view_measurement *measurement = epoch_view_find(epoch, name);

	return measurement != NULL ? measurement : epoch_view_add_measurement(epoch, name);
}

static bool check_numbers(
	struct csv_replay *replay, const struct csv_replay_rows *rows, const char *malformed)
{
	return malformed == NULL ||
	       set_error(replay, rows, EXIT_TEXT, "'%.40s': not a number", malformed);
}

static const struct column rank_columns[] = {
	{"rank", COLUMN_U32, .at = offsetof(struct report_row, rank)}, {0}};

static bool take_hitter(struct csv_replay *replay, struct epoch_view *epoch)
{
	struct csv_replay_rows *rows = &replay->outputs;
	const struct epoch_view_source source = {field, rows};
	struct epoch_view_measurement *measurement = measurement_of(rows, epoch);

	return measurement != NULL && read_times(replay, rows, epoch) &&
	       check_numbers(replay, rows, epoch_view_read_row(epoch, measurement, &source)) &&
	       !epoch->failed &&
	       check_numbers(replay, rows,
		       epoch_view_read(epoch, &source, rank_columns,
			       &measurement->rows[measurement->nb_rows - 1].values));
}

static bool take_ledger(struct csv_replay *replay, struct epoch_view *epoch)
{
	static const struct column distinct[] = {
		{"distinct_keys", COLUMN_U64,
			.at = offsetof(struct report_measurement, distinct_keys)},
		{0}};
	struct csv_replay_rows *rows = &replay->stats;
	const struct epoch_view_source source = {field, rows};
	struct epoch_view_measurement *measurement = measurement_of(rows, epoch);

	if (measurement == NULL || !read_times(replay, rows, epoch) ||
		!check_numbers(replay, rows,
			epoch_view_read(epoch, &source, distinct, &measurement->values)) ||
		!check_numbers(replay, rows, epoch_view_read_ledger(&source, &measurement->ledger)))
		return false;
	if (measurement->values.sketch == NULL)
		measurement->values.sketch = epoch_view_copy(epoch, field(rows, "sketch"));
	epoch->ledger = measurement->ledger;
	epoch->has_ledger = true;
	return true;
}

/*
 * Returns how far the column `share` deviates from the bytes or packets; 0: proportional. The
 * smaller deviation shows the metric.
 */
static double share_deviation(const struct epoch_view_measurement *measurement, bool bytes)
{
	double sum = 0, first = 0, share = 0;

	for (uint32_t r = 0; r < measurement->nb_rows; r++) {
		const struct report_row *row = &measurement->rows[r].values;
		const struct report_figure *figure = bytes ? &row->bytes : &row->packets;
		double off;

		if (!figure->known || figure->value == 0)
			return 1e300;
		if (r == 0) {
			first = (double)figure->value;
			share = row->share;
		}
		off = row->share * first - share * (double)figure->value;
		sum += off < 0 ? -off / first : off / first;
	}
	return sum;
}

static void take_rows(struct csv_replay *replay, struct csv_replay_rows *rows,
	struct epoch_view *epoch, bool (*take)(struct csv_replay *replay, struct epoch_view *epoch))
{
	while (rows->has_row && rows->epoch == epoch->number && replay->status == 0 &&
		!epoch->failed) {
		if (take(replay, epoch))
			next_row(replay, rows);
		else if (replay->status == 0)
			epoch->failed = true;
	}
}

struct epoch_view *csv_replay_next(struct csv_replay *replay)
{
	const struct csv_replay_rows *hitters = &replay->outputs, *stats = &replay->stats;
	struct epoch_view *epoch;

	if (replay->status != 0 || (!hitters->has_row && !stats->has_row))
		return NULL;
	epoch = epoch_view_alloc();
	if (epoch != NULL) {
		epoch->number =
			!stats->has_row || (hitters->has_row && hitters->epoch < stats->epoch)
				? hitters->epoch
				: stats->epoch;
		replay->last = epoch->number;
		take_rows(replay, &replay->stats, epoch, take_ledger);
		take_rows(replay, &replay->outputs, epoch, take_hitter);
		for (uint32_t m = 0; m < epoch->nb_measurements; m++)
			epoch->measurements[m].values.counts_bytes =
				share_deviation(&epoch->measurements[m], true) <
				share_deviation(&epoch->measurements[m], false);
	}
	if (replay->status == 0 && (epoch == NULL || epoch->failed)) {
		snprintf(replay->error, sizeof(replay->error), "out of memory");
		replay->status = EXIT_MACHINE;
	}
	if (replay->status == 0)
		return epoch;
	epoch_view_free(epoch);
	return NULL;
}

void csv_replay_take_stats(char **words, int *n, struct csv_replay_files *stats)
{
	int begin_rows = *n, end = *n;

	for (int i = *n - 1; i-- > 0;) {
		char *path;

		if (i + 1 >= *n || strcmp(words[i], "--stats") != 0)
			continue;
		path = words[i + 1];
		memmove(&words[i], &words[i + 2], (size_t)(*n - i - 2) * sizeof(words[0]));
		*n -= 2;
		words[--begin_rows] = path;
	}
	*stats = (struct csv_replay_files){&words[begin_rows], (uint32_t)(end - begin_rows)};
}

static void close_rows(struct csv_replay_rows *rows)
{
	if (rows->file != NULL)
		fclose(rows->file);
}

void csv_replay_close(struct csv_replay *replay)
{
	if (replay == NULL)
		return;
	close_rows(&replay->outputs);
	close_rows(&replay->stats);
	free(replay);
}

static bool begin_rows(struct csv_replay *replay, struct csv_replay_rows *rows)
{
	if (rows->files.n > 0 && open_next(replay, rows))
		next_row(replay, rows);
	return replay->status == 0;
}

struct csv_replay *csv_replay_open(const struct csv_replay_files *hitters,
	const struct csv_replay_files *stats, char *error, int *status)
{
	struct csv_replay *replay = calloc(1, sizeof(*replay));

	*status = EXIT_MACHINE;
	snprintf(error, CSV_REPLAY_ERROR_MAX, "out of memory");
	if (replay == NULL)
		return NULL;
	replay->outputs.option = "--output";
	replay->outputs.required = output_columns;
	replay->outputs.files = *hitters;
	replay->stats.option = "--stats";
	replay->stats.required = stats_columns;
	replay->stats.files = *stats;
	if (begin_rows(replay, &replay->outputs) && begin_rows(replay, &replay->stats))
		return replay;
	*status = replay->status;
	snprintf(error, CSV_REPLAY_ERROR_MAX, "%s", replay->error);
	csv_replay_close(replay);
	return NULL;
}

int csv_replay_status(const struct csv_replay *replay, const char **error)
{
	*error = replay->error;
	return replay->status;
}

bool csv_replay_cut(const struct csv_replay *replay)
{
	return replay->cut;
}
