/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Where rows of figures go: a table on standard output, and CSV in a file, whose rows carry the
 * host's facts in columns of their own, so that each can be read alone.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/config.h"
#include "bench/host.h"

#define SHEET_COLUMNS_MAX 40
#define SHEET_CELL_MAX    160

struct sheet_column {
	const char *name;  /* in the CSV */
	const char *title; /* in the table; NULL: not there */
	int width;         /* in the table, characters; negative: to the left */
};

struct sheet {
	const struct sheet_column *columns; /* a row without a name ends them */
	FILE *table;                        /* NULL: none */
	const char *prefix;                 /* of every line of the table */
	FILE *csv;                          /* NULL: none */
	const char *path;                   /* of csv */
	bool unread;                        /* who read standard output has closed it */
	char cells[SHEET_COLUMNS_MAX][SHEET_CELL_MAX];
};

/*
 * Opens what --output names: "-" is CSV on standard output, with no table. Returns 0, or an exit
 * status (2: the file exists and --force was not given; 1: the machine said no) with one line
 * logged. *host must stay, and need not be filled before the first row.
 */
int sheet_open(
	struct sheet *sheet, const struct sheet_column *columns, const struct config *config);

/* The head of both: facts in the table, names in the CSV. */
void sheet_begin(struct sheet *sheet, const struct host_facts *facts);

/* A line of text over a part of the table, and titles and units under it. */
__attribute__((format(printf, 2, 3))) void sheet_heading(
	struct sheet *sheet, const char *format, ...);

/* Sets the cell of a named column in the row that is being made. */
__attribute__((format(printf, 3, 4))) void sheet_cell(
	struct sheet *sheet, const char *column, const char *format, ...);

/* Adds to the cell "note" of that row, behind what it says already. */
__attribute__((format(printf, 2, 3))) void sheet_note(struct sheet *sheet, const char *format, ...);

/* Writes the row and begins an empty one. */
void sheet_row(struct sheet *sheet, const struct host_facts *facts);

/* Returns 0, or 1 with one line logged where something could not be written. */
int sheet_close(struct sheet *sheet);
