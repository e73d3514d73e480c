/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Table of an epoch for --format table. */

#include "base/text.h"
#include "report/rows/report.h"

#define TABLE_WIDTH 120 /* columns */

/* Appends the whole table. */
void table_epoch(struct text *text, const struct report_epoch *epoch);

/* Returns the number of rows of the table; 1 for an epoch without flows. */
uint64_t table_rows(const struct report_epoch *epoch);

struct table_size {
	uint32_t lines, columns;
};

/*
 * Appends what fits on a screen: the ledger and the first rows of every measurement. A row takes
 * two lines if the flow is wider than its column.
 */
void table_screen(
	struct text *text, const struct report_epoch *epoch, const struct table_size *size);

/* Appends three significant digits and a decimal unit: 999, 1.23K, 45.6M, 789G. */
void table_human(struct text *text, uint64_t value);

/*
 * Appends the distance from the value to its bounds: "-12/+0", "exact", or "-12/+?" if there is no
 * upper bound.
 */
void table_error(struct text *text, const struct report_figure *figure);

/*
 * Appends the key as "10.0.0.1:443 -> 10.0.0.2:5123 tcp" or "[2001:db8::1]:443 -> ...". Returns the
 * length before " -> ", where a long line is broken.
 */
size_t table_flow(struct text *text, const struct key_rule *rule, const struct key *key);
/* As table_flow(), for field texts [KEY_FIELD_COUNT]; NULL: field not in the key. */
size_t table_flow_of(struct text *text, const char *const *fields);
