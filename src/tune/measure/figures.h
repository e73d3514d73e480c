/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Where rows of figures go: a table on standard output, and CSV in a file, whose rows carry the
 * host's facts in columns of their own, so that each can be read alone.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "adapt/host_facts.h"
#include "config/config.h"

struct figures_options {
	const char *output; /* as CSV; "-": standard output, NULL: nowhere */
	bool force;
};

OPTION_OWNER(figures)

#define FIGURES_COLUMNS_MAX 40
#define FIGURES_CELL_MAX    160

struct figures_column {
	const char *name;  /* in the CSV */
	const char *title; /* in the table; NULL: not there */
	int width;         /* in the table, characters; negative: to the left */
	const char *unit;  /* in the table under the title, where that does not say it */
};

struct figures {
	const struct figures_column *columns; /* a row without a name ends them */
	FILE *table;                          /* NULL: none */
	const char *prefix;                   /* of every line of the table */
	FILE *csv;                            /* NULL: none */
	const char *path;                     /* of csv */
	bool unread;                          /* who read standard output has closed it */
	struct host_facts facts;
	char cells[FIGURES_COLUMNS_MAX][FIGURES_CELL_MAX];
};

/*
 * All that run() makes, with EAL up; it returns false with one line logged. Who sets a prefix does
 * it before. Returns an exit status.
 */
int figures_write(struct figures *figures, const struct figures_column *columns,
	const struct config *config, bool (*run)(void *arg), void *arg);

/*
 * The same in steps. Opens what --output names: "-" is CSV on standard output, with no table.
 * Returns 0, or an exit status (2: the file exists and --force was not given; 1: the machine said
 * no) with one line logged.
 */
int figures_open(
	struct figures *figures, const struct figures_column *columns, const struct config *config);

/* The head of both: facts in the table, names in the CSV. */
void figures_begin(struct figures *figures);

/* A line of text over a part of the table, and titles and units under it. */
__attribute__((format(printf, 2, 3))) void figures_heading(
	struct figures *figures, const char *format, ...);

/* Sets the cell of a named column in the row that is being made. */
__attribute__((format(printf, 3, 4))) void figures_cell(
	struct figures *figures, const char *column, const char *format, ...);

/* Adds to the cell "note" of that row, behind what it says already. */
__attribute__((format(printf, 2, 3))) void figures_note(
	struct figures *figures, const char *format, ...);

/* Writes the row and begins an empty one. */
void figures_row(struct figures *figures);

/* Returns 0, or 1 with one line logged where something could not be written. */
int figures_close(struct figures *figures);
