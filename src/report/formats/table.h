/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "report/rows/report.h"

#define TABLE_WIDTH 120 /* columns */

/* Appends the whole table. */
void table_epoch(struct text *text, const struct report_epoch *epoch);

/* Returns the number of rows that table_epoch() prints; 1 for an epoch without flows. */
uint64_t table_rows(const struct report_epoch *epoch);

/*
 * State of the screen of a live measurement. On a terminal, each epoch replaces the previous one:
 * the ledger, and of every measurement as many rows as fit. A row takes two lines if the flow is
 * wider than its column.
 *
 * Other output, such as log lines, must not be overwritten. After such output the terminal scrolls
 * before the next epoch is drawn.
 */
struct screen {
	uint64_t said;  /* lines of other output written before the last epoch was drawn */
	uint32_t lines; /* lines drawn; 0: none */
};

/* Returns true if $TERM is set and is not dumb. */
bool screen_possible(void);

/* Appends the text that draws the epoch. said: lines of other output written so far. */
void screen_epoch(
	struct text *text, struct screen *screen, const struct report_epoch *epoch, uint64_t said);

/*
 * Same as screen_epoch(), for a period without packets until `end`, in ns since 1970-01-01 UTC. The
 * last epoch that had packets stays on the screen.
 */
void screen_silence(struct text *text, struct screen *screen, int64_t end, uint64_t said);

struct table_size {
	uint32_t lines, columns;
};

/* Appends as much of the epoch as fits into `size`, without control sequences. */
void table_screen(
	struct text *text, const struct report_epoch *epoch, const struct table_size *size);

/* Appends three significant digits and a decimal unit, such as 999, 1.23K, 45.6M or 789G. */
void table_human(struct text *text, uint64_t value);

/*
 * Appends the distances from the value to its lower and upper bound: "-12/+0", or "exact" if both
 * are 0. "?" stands for an unknown upper bound: "-12/+?".
 */
void table_error(struct text *text, const struct report_figure *figure);

/*
 * Appends the key as "10.0.0.1:443 -> 10.0.0.2:5123 tcp" or "[2001:db8::1]:443 -> ...". Returns the
 * length of the part before " -> ": a line that is too long is broken there.
 */
size_t table_flow(struct text *text, const struct key_rule *rule, const struct key *key);
/*
 * Same as table_flow(), with the key fields as text: fields[KEY_FIELD_COUNT]. NULL: the key does
 * not have the field.
 */
size_t table_flow_of(struct text *text, const char *const *fields);
