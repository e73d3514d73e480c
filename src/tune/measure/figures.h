/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Writes rows of measured figures: as a table to standard output, and as CSV to a file. Each CSV
 * row also has columns that describe the host, so that it is complete by itself.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "adapt/host_facts.h"
#include "config/config.h"

struct figures_options {
	const char *output; /* CSV file; "-": standard output, NULL: none */
	bool force;
};

OPTION_OWNER(figures)

#define FIGURES_COLUMNS_MAX 40
#define FIGURES_CELL_MAX    160

struct figures_column {
	const char *name;  /* column of the CSV */
	const char *title; /* title in the table; NULL: not in the table */
	int width;         /* width in the table, characters; negative: left-aligned */
	const char *unit;  /* unit, printed under the title; "": the title is the unit */
};

struct figures {
	const struct figures_column *columns; /* ends with a row without a name */
	FILE *table;                          /* NULL: none */
	const char *prefix;                   /* prefix of every line of the table */
	FILE *csv;                            /* NULL: none */
	const char *path;                     /* path of csv */
	bool unread; /* the reader of standard output has closed the pipe */
	struct host_facts facts;
	char cells[FIGURES_COLUMNS_MAX][FIGURES_CELL_MAX];
};

/*
 * Opens the output, writes all rows that run() makes, and closes the output. EAL must be running.
 * run() logs one line before it returns false. The caller may set figures->prefix before. Returns
 * an exit status.
 */
int figures_write(struct figures *figures, const struct figures_column *columns,
	const struct config *config, bool (*run)(void *arg), void *arg);

/*
 * The functions below are the steps of figures_write(). figures_open() opens the file of --output;
 * "-" is standard output for CSV, without a table. Returns 0, or an exit status with one line
 * logged: 2 if the file exists without --force, 1 for system errors.
 */
int figures_open(
	struct figures *figures, const struct figures_column *columns, const struct config *config);

/* Writes the head: a description of the host to the table, and column names to the CSV. */
void figures_begin(struct figures *figures);

/* Writes a heading over a part of the table, with titles and units under it. */
__attribute__((format(printf, 2, 3))) void figures_heading(
	struct figures *figures, const char *format, ...);

/* Sets the cell of a named column in the current row. */
__attribute__((format(printf, 3, 4))) void figures_cell(
	struct figures *figures, const char *column, const char *format, ...);

/* Appends a text to the cell of column `note` in the current row. */
__attribute__((format(printf, 2, 3))) void figures_note(
	struct figures *figures, const char *format, ...);

/* Writes the row and starts an empty one. */
void figures_row(struct figures *figures);

/* Returns 0, or 1 with one line logged if a write failed. */
int figures_close(struct figures *figures);
