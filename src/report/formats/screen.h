/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The table of a live port on a terminal: every epoch is drawn over the one before. What others
 * said on the terminal since then is not overwritten, it moves up and out of the screen first.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "report/rows/report.h"

struct screen {
	uint64_t said;  /* lines by others, when it was drawn */
	uint32_t lines; /* that are drawn; 0: none yet */
};

/* Whether a terminal can be drawn on: $TERM says what it is, and not that it is dumb. */
bool screen_possible(void);

/* Appends what draws the epoch on standard output. said: lines by others so far. */
void screen_epoch(
	struct text *text, struct screen *screen, const struct report_epoch *epoch, uint64_t said);

/* The same where no packet came until `end`: the last epoch that had some stays. */
void screen_silence(struct text *text, struct screen *screen, int64_t end, uint64_t said);
