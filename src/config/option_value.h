/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* From an option's text to its field. `block` is the owner's struct. */

#include <stdbool.h>

#include "config/option.h"

/*
 * Strings are not copied. Returns true, or false with why[OPTION_WHY_MAX] filled ("'5x' is not a
 * time; write 500ms, 1s or 5m") and the field as it was.
 */
bool option_set(const struct option_row *row, const char *text, void *block, char *why);
/* Back to what the field is when the option was never given and has no default. */
void option_clear(const struct option_row *row, void *block);
/* True where the field says more than option_clear() leaves. */
bool option_is_set(const struct option_row *row, const void *block);
