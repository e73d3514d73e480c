/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Text formats for rows of any kind: one line per row, which begins with the epoch number. */

#include <stdbool.h>

#include "report/rows/destination.h"
#include "report/rows/rows.h"

struct format {
	bool named; /* rows name their columns */
	/* The first line of a file, with its end; NULL: it has none, and is_row() tells whose it
	 * is. */
	void (*header)(struct text *text, const struct columns *columns);
	void (*row)(struct text *text, const struct columns *columns, const struct output_row *row);
	/* Returns true if a line, without its end, is a row of these columns. */
	bool (*is_row)(const char *line, size_t len, const struct columns *columns);
	/*
	 * For reading rows: the text before the epoch number, which begins a row, and before the
	 * start of the epoch.
	 */
	const char *before_epoch, *before_start;
};

#define DECLARE_FORMAT(name, word) extern const struct format format_##word; /* word.c */
ROW_FORMATS(DECLARE_FORMAT)

/* By enum output_format; NULL: not a format of rows. */
extern const struct format *const formats[FORMAT_COUNT];

/* Returns the name of a format, such as "csv". */
const char *format_name(const struct format *format);

/* The next row of an epoch; the first where it is all zero. */
struct format_cursor {
	uint32_t measurement;
	size_t item;
};

/*
 * Appends rows of the kind, until the text has `bytes` bytes or all rows are appended. Returns the
 * number of rows appended.
 */
size_t format_some(struct text *text, size_t bytes, const struct format *format,
	const struct columns *columns, const struct report_epoch *epoch,
	struct format_cursor *cursor);

/* Appends all of them. */
void format_epoch(struct text *text, const struct format *format, const struct columns *columns,
	const struct report_epoch *epoch);
