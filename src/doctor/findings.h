/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Runs all checks on one host and formats the findings. */

#include "base/text.h"
#include "doctor/check.h"

struct findings {
	struct finding *rows;
	size_t nb_rows, room;
	uint32_t counts[FINDING_MISSING + 1]; /* number of findings per status */
};

/* Runs all checks that apply to the sources of the run. Returns false if out of memory. */
bool findings_make(struct findings *findings, const struct host *host);
void findings_free(struct findings *findings);

/*
 * Formats text for operators: at most FINDINGS_WIDTH columns, except for commands, which are not
 * wrapped.
 */
#define FINDINGS_WIDTH 100
void findings_table(struct text *text, const struct findings *findings);

/* Formats CSV (RFC 4180, LF) with a header: one row per finding. */
#define FINDINGS_CSV_HEADER "check,status,found,wanted,command"
void findings_csv(struct text *text, const struct findings *findings);
