/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Writes rows of measured figures: a table to standard output, CSV to a file. CSV rows also
 * describe the host, so that each is complete.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "adapt/host_facts.h"
#include "config/config.h"

struct figures_options {
	const char *output; /* CSV file; "-": standard output; NULL: none */
	bool force;
};

OPTION_OWNER(figures)

#define FIGURES_COLUMNS_MAX 40
#define FIGURES_CELL_MAX    160

struct figures_column {
	const char *name;
	const char *title; /* NULL: not in the table */
	int width;         /* characters; negative: left-aligned */
	const char *unit;  /* under the title; "": none */
};

struct figures {
	const struct figures_column *columns; /* name NULL at the end */
	FILE *table;
	const char *prefix; /* begins each line of the table */
	FILE *csv;
	const char *path;
	bool unread; /* the reader of standard output closed the pipe */
	struct host_facts facts;
	char cells[FIGURES_COLUMNS_MAX][FIGURES_CELL_MAX];
};

/*
 * Writes the rows that run() makes. EAL must be running. run() logs an error before it returns
 * false. figures->prefix may be set before. Returns the exit status.
 */
int figures_write(struct figures *figures, const struct figures_column *columns,
	const struct config *config, bool (*run)(void *arg), void *arg);

/*
 * Functions that figures_write() consists of. figures_open() returns 0, or an exit status with a
 * line logged: 2 if the file exists without --force, 1 for system errors.
 */
int figures_open(
	struct figures *figures, const struct figures_column *columns, const struct config *config);

void figures_begin(struct figures *figures);

__attribute__((format(printf, 2, 3))) void figures_heading(
	struct figures *figures, const char *format, ...);

__attribute__((format(printf, 3, 4))) void figures_cell(
	struct figures *figures, const char *column, const char *format, ...);

__attribute__((format(printf, 2, 3))) void figures_note(
	struct figures *figures, const char *format, ...);

void figures_row(struct figures *figures);

/* Returns 1 with a line logged if a write failed. */
int figures_close(struct figures *figures);
