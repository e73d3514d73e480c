/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Table of an epoch for --format table. */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "report/rows/report.h"

#define TABLE_WIDTH 120 /* columns */

/* Appends the whole table. */
void table_epoch(struct text *text, const struct report_epoch *epoch);

/* Returns the number of rows of the table; 1 for an epoch without flows. */
uint64_t table_rows(const struct report_epoch *epoch);

/*
 * A live measurement draws each epoch over the previous one on a terminal: the ledger and the first
 * rows of every measurement, as far as they fit. A row takes two lines if the flow is wider than
 * its column. The terminal scrolls first if there was other output, so that it is not overwritten.
 */
struct screen {
	uint64_t said;  /* lines of other output when the epoch was drawn */
	uint32_t lines; /* lines drawn; 0: none */
};

/* Returns true if $TERM is set and is not dumb. */
bool screen_possible(void);

/* Appends the text that draws the epoch. said: lines of other output so far. */
void screen_epoch(
	struct text *text, struct screen *screen, const struct report_epoch *epoch, uint64_t said);

/*
 * As screen_epoch(), for epochs without packets until `end`, ns since 1970-01-01 UTC. The last
 * epoch with packets stays on the screen.
 */
void screen_silence(struct text *text, struct screen *screen, int64_t end, uint64_t said);

struct table_size {
	uint32_t lines, columns;
};

/* Appends the part of screen_epoch() that fits. */
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
