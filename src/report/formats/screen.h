/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Draws each epoch of a live measurement over the previous one on a terminal. Scrolls first if
 * there was other output, so that it is not overwritten.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "report/rows/report.h"

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
