/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Fields of a CSV row, as RFC 4180 quotes them, with LF at the end of a row. Every field but the
 * first brings the comma before it. Rows of a run: report/formats/format.h.
 */

#include "base/text.h"

void csv_string(struct text *text, const char *string);
void csv_row_end(struct text *text);
