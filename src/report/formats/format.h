/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* How rows of any kind look as text: a line each, that begins with its epoch's number. */

#include <stdbool.h>

#include "report/rows/destination.h"
#include "report/rows/rows.h"

struct format {
	bool named; /* rows name their columns */
	/* The first line of a file, with its end; NULL: it has none, and is_row() tells whose it
	 * is. */
	void (*header)(struct text *text, const struct columns *columns);
	void (*row)(struct text *text, const struct columns *columns, const struct output_row *row);
	/* Whether a line, without its end, is a row of these columns. */
	bool (*is_row)(const char *line, size_t len, const struct columns *columns);
	/* By which a row is read again: what stands before its epoch's number, with which it
	 * begins, and before the epoch's start. */
	const char *before_epoch, *before_start;
};

#define DECLARE_FORMAT(name, word) extern const struct format format_##word; /* word.c */
ROW_FORMATS(DECLARE_FORMAT)

/* By enum output_format; NULL: is none of rows. */
extern const struct format *const formats[FORMAT_COUNT];

/* What it is called: "csv". */
const char *format_name(const struct format *format);

/* The next row of an epoch; the first where it is all zero. */
struct format_cursor {
	uint32_t measurement;
	size_t item;
};

/* Appends rows of the columns' kind that the epoch has, until the text has so many bytes or the last
 * row is there. Returns how many were appended. */
size_t format_some(struct text *text, size_t bytes, const struct format *format,
	const struct columns *columns, const struct report_epoch *epoch,
	struct format_cursor *cursor);

/* Appends all of them. */
void format_epoch(struct text *text, const struct format *format, const struct columns *columns,
	const struct report_epoch *epoch);
