/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Text formats for rows of any kind. A row is one line that begins with the epoch number. */

#include <stdbool.h>

#include "report/rows/destination.h"
#include "report/rows/rows.h"

struct format {
	bool named; /* rows contain column names */
	/*
	 * Appends the header line of a file, with its line end. NULL: the format has no header
	 * line; is_row() then checks the first row of a file.
	 */
	void (*header)(struct text *text, const struct columns *columns);
	void (*row)(struct text *text, const struct columns *columns, const struct output_row *row);
	/*
	 * Returns true if the line is a row with these columns. The line is passed without its line
	 * end.
	 */
	bool (*is_row)(const char *line, size_t len, const struct columns *columns);
	/*
	 * Texts by which rows are parsed. A row begins with before_epoch and the epoch number.
	 * before_start precedes the start time.
	 */
	const char *before_epoch, *before_start;
};

#define DECLARE_FORMAT(name, word) extern const struct format format_##word; /* in word.c */
ROW_FORMATS(DECLARE_FORMAT)

/* Indexed by enum output_format. NULL: this output format does not print rows. */
extern const struct format *const formats[FORMAT_COUNT];

const char *format_name(const struct format *format);

/* Position of the next row to print. All zero: the first row of the epoch. */
struct format_cursor {
	uint32_t measurement;
	size_t item;
};

/*
 * Appends rows until the text has at least `bytes` bytes or the epoch has no more rows. Advances
 * the cursor. Returns the number of appended rows.
 */
size_t format_some(struct text *text, size_t bytes, const struct format *format,
	const struct columns *columns, const struct report_epoch *epoch,
	struct format_cursor *cursor);

void format_epoch(struct text *text, const struct format *format, const struct columns *columns,
	const struct report_epoch *epoch);

/* Appends a comma, then the string as a CSV field (RFC 4180). */
void csv_string(struct text *text, const char *string);

/* Appends the content of a JSON string, without quotes. Invalid UTF-8 becomes U+FFFD. */
void json_escape(struct text *text, const char *bytes, size_t len);
