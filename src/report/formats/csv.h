/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * CSV fields as in RFC 4180, but rows end in LF. csv_string() writes a comma before the field. For
 * rows of a run, see report/formats/format.h.
 */

#include "base/text.h"

void csv_string(struct text *text, const char *string);
void csv_row_end(struct text *text);
