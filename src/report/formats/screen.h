/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Draws each epoch of a live port over the previous one on a terminal. Other output since then is
 * not overwritten: it scrolls out of the screen first.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "report/rows/report.h"

struct screen {
	uint64_t said;  /* lines by others, when it was drawn */
	uint32_t lines; /* lines drawn; 0: none yet */
};

/* Returns true if $TERM is set and is not dumb. */
bool screen_possible(void);

/* Appends what draws the epoch on standard output. said: lines by others so far. */
void screen_epoch(
	struct text *text, struct screen *screen, const struct report_epoch *epoch, uint64_t said);

/* The same without packets until `end`: the last epoch with packets stays. */
void screen_silence(struct text *text, struct screen *screen, int64_t end, uint64_t said);
