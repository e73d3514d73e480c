/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* All checks on one host, and what they found. */

#include "base/text.h"
#include "doctor/check.h"

struct findings {
	struct finding *rows;
	uint32_t nb_rows;
	uint32_t counts[FINDING_MISSING + 1]; /* by status */
};

/* Runs every check that is for the run's sources. False where there is no memory. */
bool findings_make(struct findings *findings, const struct host *host);
void findings_free(struct findings *findings);

/* For a person, at most FINDINGS_WIDTH columns except for commands, which stay in one piece. */
#define FINDINGS_WIDTH 100
void findings_table(struct text *text, const struct findings *findings);

/* RFC 4180, LF, with a header: one row a finding. */
#define FINDINGS_CSV_HEADER "check,status,found,wanted,command"
void findings_csv(struct text *text, const struct findings *findings);
