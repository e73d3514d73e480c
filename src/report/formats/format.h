/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Text formats for rows of any kind. A row is one line that begins with the epoch number. */

#include <stdbool.h>

#include "report/rows/destination.h"
#include "report/rows/rows.h"

struct format {
	bool named; /* rows contain column names */
	/*
	 * Header line of a file, with its end. NULL: no header, and is_row() checks the first row
	 * instead.
	 */
	void (*header)(struct text *text, const struct columns *columns);
	void (*row)(struct text *text, const struct columns *columns, const struct output_row *row);
	/* Returns true if a line, without its end, is a row of these columns. */
	bool (*is_row)(const char *line, size_t len, const struct columns *columns);
	/*
	 * For reading rows: the text before the epoch number, at the beginning of a row, and the
	 * text before the start of the epoch.
	 */
	const char *before_epoch, *before_start;
};

#define DECLARE_FORMAT(name, word) extern const struct format format_##word; /* in word.c */
ROW_FORMATS(DECLARE_FORMAT)

/* Indexed by enum output_format. NULL: not a row format. */
extern const struct format *const formats[FORMAT_COUNT];

/* Returns the name of a format, such as "csv". */
const char *format_name(const struct format *format);

/* Position of the next row in an epoch. All zero: the first row. */
struct format_cursor {
	uint32_t measurement;
	size_t item;
};

/*
 * Appends rows until the text has at least `bytes` bytes or the epoch has no more. Advances the
 * cursor. Returns the number of rows appended.
 */
size_t format_some(struct text *text, size_t bytes, const struct format *format,
	const struct columns *columns, const struct report_epoch *epoch,
	struct format_cursor *cursor);

/* Appends all rows of the epoch. */
void format_epoch(struct text *text, const struct format *format, const struct columns *columns,
	const struct report_epoch *epoch);

/* Appends a comma and a CSV field as in RFC 4180. Rows end in LF. */
void csv_string(struct text *text, const char *string);

/* Appends the content of a JSON string, without quotes. Invalid UTF-8 becomes U+FFFD. */
void json_escape(struct text *text, const char *bytes, size_t len);
