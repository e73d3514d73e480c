/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Splits option values that contain other options: --flow-detail rate,after=5 sets flow-detail and
 * deep-after (option_row.part_of).
 */

#include "config/config.h"

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
