/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Text formats for rows. A row is one line that begins with the epoch number. */

#include <stdbool.h>

#include "report/rows/destination.h"
#include "report/rows/rows.h"

struct format {
	bool named;
	/* Appends the header line of a file. NULL: is_row() checks the first row instead. */
	void (*header)(struct text *text, const struct columns *columns);
	void (*row)(struct text *text, const struct columns *columns, const struct output_row *row);
	/* Returns true if the line, passed without its line end, is a row with these columns. */
	bool (*is_row)(const char *line, size_t len, const struct columns *columns);
	/*
	 * A row begins with before_epoch and the epoch number. Its start time follows before_start.
	 */
	const char *before_epoch, *before_start;
};

#define DECLARE_FORMAT(name, word) extern const struct format format_##word;
ROW_FORMATS(DECLARE_FORMAT)

/* Indexed by enum output_format. NULL: the format does not print rows. */
extern const struct format *const formats[FORMAT_COUNT];

const char *format_name(const struct format *format);

/* Next row to print. All zero: the first row of the epoch. */
struct format_cursor {
	uint32_t measurement;
	size_t item;
};

/* Appends rows until the text has `bytes` bytes or the epoch ends. Returns their number. */
size_t format_some(struct text *text, size_t bytes, const struct format *format,
	const struct columns *columns, const struct report_epoch *epoch,
	struct format_cursor *cursor);

void format_epoch(struct text *text, const struct format *format, const struct columns *columns,
	const struct report_epoch *epoch);

/* Appends a comma, then the string as a CSV field (RFC 4180). */
void csv_string(struct text *text, const char *string);

/* Appends the content of a JSON string. Invalid UTF-8 becomes U+FFFD. */
void json_escape(struct text *text, const char *bytes, size_t len);
