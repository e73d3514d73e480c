/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Writes papers.csv: every figure that five papers print (bench/papers/PAPER.csv), with the figure
 * of the benches for the same quantity. bench/papers/ours.csv says which row of which CSV file of
 * the benches answers which printed row.
 *
 * Columns of ours.csv. `item`, `setting`, `quantity` and `unit` are patterns (fnmatch) for rows of
 * PAPER.csv. The lines of a printed row are tried in their order. The first line without a `file`,
 * or whose file has the figure, answers the row.
 *
 *   how                 the cell `how` of papers.csv; empty: `how` and `note` of the bench's row
 *   file                FILE.csv of the benches
 *   rows                conditions COLUMN=PATTERN, COLUMN!=PATTERN, COLUMN=<min> and COLUMN=<max>,
 *                       joined by ";". Rows whose note begins with "not comparable" are left out,
 *                       unless there is a condition for `note`. Empty: the row whose item, setting,
 *                       quantity and unit are those of the printed row
 *   value               COLUMN, NUMBER/COLUMN or NUMBER-COLUMN
 *   op                  "+", "/", "-" or "above" ((a - b) / |b|): combines the value with a second
 *                       one. "to": the second value and the value, as text. Rows with the same name
 *                       in column `of_value` are groups for: "order": the names in the order of
 *                       their medians, joined by " = " if spreads overlap; "rise": from the largest
 *                       number, the first name whose spread is above that of the largest; "range":
 *                       the largest difference of medians
 *   of_rows, of_value   the second value; empty: as `rows` and `value`
 *   times               factor of the result; empty: 1
 *
 * The figure is the median of the rows. Its spread is that of the rows, or of one row that has
 * COLUMN_min and COLUMN_max, or of the extremes of two such rows. The column `conditions` of the row
 * is added to `how`.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

struct papers_options {
	const char *directory; /* NULL: only the bench of one paper */
};

OPTION_OWNER(papers)

#define PAPERS_FILES_MAX 32

#define PAPERS_NAME_MAX 64

/* Writes each file name of ours.csv once, without ".csv". Returns their number. */
uint32_t papers_files(char names[PAPERS_FILES_MAX][PAPERS_NAME_MAX]);

/* Reads FILE.csv of the directory and writes papers.csv there. Logs an error and returns false. */
bool papers_join(const char *directory);

/* Runs the benches that papers.csv needs, then papers_join(). Returns the exit status. */
int papers_run(const struct config *config);
