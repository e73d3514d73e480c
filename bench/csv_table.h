/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A CSV text (RFC 4180) as a table of cells. Row 0 has the names of the columns. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSV_NO_COLUMN UINT32_MAX

struct csv_table {
	uint32_t nb_rows, nb_columns; /* nb_rows includes row 0 */
	char *text;                   /* the cells, each with a terminating 0 */
	char **cells;                 /* row after row */
};

/*
 * Returns 0, or the number of the line whose fields differ in number from those of row 0 or whose
 * quotes are wrong. UINT32_MAX: out of memory. After 0, the caller must call csv_table_free().
 */
uint32_t csv_table_parse(struct csv_table *table, const char *text, size_t size);

/* The text must be right. Ends the process if out of memory. */
void csv_table_parse_embedded(struct csv_table *table, const unsigned char *text, size_t size);

void csv_table_free(struct csv_table *table);

/* Returns CSV_NO_COLUMN if no column has this name. */
uint32_t csv_table_column(const struct csv_table *table, const char *name);

/* Returns "" for CSV_NO_COLUMN. */
const char *csv_table_cell(const struct csv_table *table, uint32_t row, uint32_t column);
