/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Fields of a CSV row, as RFC 4180 quotes them, with LF at the end of a row. Every field but the
 * first brings the comma before it; what is not known is an empty field.
 */

#include "report/output/report.h"
#include "report/output/text.h"

/* The first four fields of every row: epoch, measurement, start, end. */
#define CSV_ROW_HEADER "epoch,measurement,start,end"
void csv_row_begin(struct text *text, const struct report_epoch *epoch,
	const struct report_measurement *measurement);
/* Where a row is not of one measurement: epoch, start, end. */
#define CSV_EPOCH_HEADER "epoch,start,end"
void csv_epoch_begin(struct text *text, const struct report_epoch *epoch);
void csv_row_end(struct text *text);

void csv_empty(struct text *text);
void csv_u64(struct text *text, uint64_t value);
void csv_u64_if(struct text *text, bool known, uint64_t value);
void csv_ratio(struct text *text, double ratio); /* 6 decimals */
void csv_time(struct text *text, int64_t ns);
/* The columns of a key which every file has; those that the rule leaves out are empty. */
void csv_key_names(struct text *text);
void csv_key(struct text *text, const struct key_rule *rule, const struct key *key);
/* Those that stand at the end of a row: of the run's fields, a bit each. */
void csv_key_asked_names(struct text *text, uint32_t fields);
void csv_key_asked(
	struct text *text, uint32_t fields, const struct key_rule *rule, const struct key *key);
void csv_string(struct text *text, const char *string);
