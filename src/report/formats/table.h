/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "report/rows/report.h"

#define TABLE_WIDTH 120

void table_epoch(struct text *text, const struct report_epoch *epoch);

/* Returns the rows that table_epoch() prints. An epoch without flows has 1. */
uint64_t table_rows(const struct report_epoch *epoch);

/*
 * State of a terminal on which each epoch replaces the previous one. The terminal scrolls after
 * other output, such as log lines, so that the next epoch does not overwrite it.
 */
struct screen {
	uint64_t said;
	uint32_t lines;
};

bool screen_possible(void);

/* said: lines of other output written so far. */
void screen_epoch(
	struct text *text, struct screen *screen, const struct report_epoch *epoch, uint64_t said);

/* The last epoch with packets stays on the screen. end: ns since 1970-01-01 UTC. */
void screen_silence(struct text *text, struct screen *screen, int64_t end, uint64_t said);

struct table_size {
	uint32_t lines, columns;
};

/* Appends as much of the epoch as fits into `size`, without control sequences. */
void table_screen(
	struct text *text, const struct report_epoch *epoch, const struct table_size *size);

/* Appends three significant digits and a decimal unit, such as 999, 1.23K, 45.6M or 789G. */
void table_human(struct text *text, uint64_t value);

/* Appends the distances to both bounds: "-12/+0", "exact", or "-12/+?" (unknown). */
void table_error(struct text *text, const struct report_figure *figure);

/*
 * Appends the key as "10.0.0.1:443 -> 10.0.0.2:5123 tcp" or "[2001:db8::1]:443 -> ...". Returns the
 * length before " -> ".
 */
size_t table_flow(struct text *text, const struct key_rule *rule, const struct key *key);
/* Appends the same from fields[KEY_FIELD_COUNT]. NULL: the key lacks the field. */
size_t table_flow_of(struct text *text, const char *const *fields);
