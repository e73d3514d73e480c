/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The figures that five papers print, from bench/papers. */

#include <stddef.h>

#include "bench/csv_table.h"

#define PAPER_FIELD_MAX 32

enum paper {
	PAPER_WU,
	PAPER_ZHA,
	PAPER_NASSOPOULOS,
	PAPER_EMC2,
	PAPER_TANGARI,
	PAPERS,
};

/* The names of the files in bench/papers. */
extern const char *const paper_names[PAPERS];

/* The table belongs to this module. */
const struct csv_table *paper_table(enum paper paper);

/* Returns the text of the column `value`, or "" if the paper has no such figure. */
const char *paper_value(
	enum paper paper, const char *item, const char *setting, const char *quantity);

/* Returns paper_value() as a number. The figure must exist. */
double paper_number(enum paper paper, const char *item, const char *setting, const char *quantity);

/* A cell of Tables 3 and 4 of Wu et al. */
struct paper_cell {
	const char *item;
	char setting[PAPER_FIELD_MAX]; /* such as RSS-Separate-SHT */
};

/* Names the cell of a design, a value of --sharing and a sketch. */
void paper_cell_of(
	struct paper_cell *cell, const char *design, const char *sharing, const char *sketch);

/* Returns "" if the paper has no such cell. */
const char *paper_cell_value(const struct paper_cell *cell, const char *quantity);
