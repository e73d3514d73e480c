/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* How rows of any kind look as text: a line each, that begins with its epoch's number. */

#include <stdbool.h>

#include "report/output/output.h"

struct format {
	bool named; /* rows name their columns */
	/* The first line of a file, with its end; NULL: it has none. */
	void (*header)(struct text *text, const struct columns *columns);
	void (*row)(struct text *text, const struct columns *columns, const struct output_row *row);
	/* By which a row is read again: what stands before its epoch's number, with which it
	 * begins, and before the epoch's start. */
	const char *before_epoch, *before_start;
};

extern const struct format format_csv; /* csv.c */

/* Appends all rows of the columns' kind that the epoch has. */
void format_epoch(struct text *text, const struct format *format, const struct columns *columns,
	const struct report_epoch *epoch);
