/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Stores the value of an option in its field. `block` is the struct of the owner. */

#include <stdbool.h>

#include "config/option.h"
#include "config/config.h"

/*
 * Stores a value without copying strings. Returns true, or false with why[OPTION_WHY_MAX] filled
 * ("'5x' is not a time; write 500ms, 1s or 5m") and the field unchanged.
 */
bool option_set(const struct option_row *row, const char *text, void *block, char *why);
/* Resets the field to its value if the option was never given and has no default. */
void option_clear(const struct option_row *row, void *block);
/* Returns true if the field differs from the result of option_clear(). */
bool option_is_set(const struct option_row *row, const void *block);

/*
 * Splits option values that contain other options: --flow-detail rate,after=5 sets flow-detail and
 * deep-after (option_row.part_of).
 */

/* One option and its value. */
struct option_piece {
	const struct config_row *row;
	const char *text;
};

#define OPTION_PIECES_MAX 8

/* Returns the part of an option after *after (NULL: the first); NULL if there is none left. */
const struct config_row *option_next_part(const struct config *config,
	const struct option_row *option, const struct config_row *after);
/* Writes the name of a part inside the value, without punctuation; empty for "async:". */
void option_part_name(const struct option_row *part, char *name, size_t size);

/*
 * Splits a value into the value of the option itself, which comes first, and those of its parts.
 * The configuration owns the texts. Returns their number, or -1 with the reason in
 * why[OPTION_WHY_MAX].
 */
int option_split(struct config *config, const struct config_row *row, const char *value,
	struct option_piece pieces[OPTION_PIECES_MAX], char *why);
