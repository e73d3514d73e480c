/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Parses the text of an option and stores its value. `block` is the option struct of the owner. */

#include <stdbool.h>

#include "config/option.h"
#include "config/config.h"

/*
 * Stores a value. Strings are not copied. Returns true. On error, leaves the field unchanged,
 * writes the reason to why[OPTION_WHY_MAX], for example "'5x' is not a time; write 500ms, 1s or
 * 5m", and returns false.
 */
bool option_set(const struct option_row *row, const char *text, void *block, char *why);
/* Sets the field to 0, the value of an option that was not given and has no default. */
void option_clear(const struct option_row *row, void *block);
/* Returns true if the field is not 0. */
bool option_is_set(const struct option_row *row, const void *block);

/*
 * Splits values that contain other options (option_row.part_of). Example: --flow-detail
 * rate,after=5 sets flow-detail to rate and deep-after to 5.
 */

/* One option and its value. */
struct option_piece {
	const struct config_row *row;
	const char *text;
};

#define OPTION_PIECES_MAX 8

/*
 * Returns the next option that the value of `option` may contain. after: the previous one; NULL:
 * returns the first. Returns NULL after the last.
 */
const struct config_row *option_next_part(const struct config *config,
	const struct option_row *option, const struct config_row *after);
/* Writes the prefix without punctuation, for example "queues" for "queues="; empty for "async:". */
void option_part_name(const struct option_row *part, char *name, size_t size);

/*
 * Splits a value. The first piece is the value of the option itself; the others are the options
 * that it contains. The configuration owns the texts. Returns the number of pieces, or -1 with the
 * reason in why[OPTION_WHY_MAX].
 */
int option_split(struct config *config, const struct config_row *row, const char *value,
	struct option_piece pieces[OPTION_PIECES_MAX], char *why);
