/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* JSON strings. For rows of a run, see report/formats/format.h. */

#include "base/text.h"

/* Appends the content of a JSON string, without quotes. Invalid UTF-8 becomes U+FFFD. */
void json_escape(struct text *text, const char *bytes, size_t len);
