/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* --format table: what an epoch says, for a person. */

#include "base/text.h"
#include "report/rows/report.h"

#define TABLE_WIDTH 120 /* columns */

/* All that the table says of an epoch. */
void table_epoch(struct text *text, const struct report_epoch *epoch);

/* Returns the rows of a table; 1 for an epoch without flows. */
uint64_t table_rows(const struct report_epoch *epoch);

struct table_size {
	uint32_t lines, columns;
};

/*
 * Appends what fits on a screen: the ledger, and the first rows of every measurement. A row takes
 * two lines if the flow is wider than its column.
 */
void table_screen(
	struct text *text, const struct report_epoch *epoch, const struct table_size *size);

/* Three significant digits and a unit of powers of 1000: 999, 1.23K, 45.6M, 789G. */
void table_human(struct text *text, uint64_t value);

/*
 * What the interval leaves open, from the value: "-12/+0", "exact", "+?" where the upper end is not
 * known.
 */
void table_error(struct text *text, const struct report_figure *figure);

/*
 * Appends the fields of the rule in the form "10.0.0.1:443 -> 10.0.0.2:5123 tcp" or
 * "[2001:db8::1]:443 -> ...". Returns the length before " -> ", where a long line is broken.
 */
size_t table_flow(struct text *text, const struct key_rule *rule, const struct key *key);
/* The same for field texts of outputs: [KEY_FIELD_COUNT]; NULL: no such field. */
size_t table_flow_of(struct text *text, const char *const *fields);
