/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Text as JSON has it. Rows of a run: report/formats/format.h. */

#include "base/text.h"

/* Appends the content of a string. Invalid UTF-8 becomes U+FFFD. */
void json_escape(struct text *text, const char *bytes, size_t len);
