/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Stores the value of an option in its field. `block` is the struct of the owner. */

#include <stdbool.h>

#include "config/option.h"

/*
 * Stores a value without copying strings. Returns true, or false with why[OPTION_WHY_MAX] filled
 * ("'5x' is not a time; write 500ms, 1s or 5m") and the field unchanged.
 */
bool option_set(const struct option_row *row, const char *text, void *block, char *why);
/* Resets the field to its value if the option was never given and has no default. */
void option_clear(const struct option_row *row, void *block);
/* Returns true if the field differs from the result of option_clear(). */
bool option_is_set(const struct option_row *row, const void *block);
