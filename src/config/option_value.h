/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Parses the text of an option into its field. `block` is the struct of the option's owner. */

#include <stdbool.h>

#include "config/option.h"
#include "config/config.h"

/*
 * Does not copy strings. On error, does not change the field, writes the reason to
 * why[OPTION_WHY_MAX] and returns false.
 */
bool option_set(const struct option_row *row, const char *text, void *block, char *why);
void option_clear(const struct option_row *row, void *block);
bool option_is_set(const struct option_row *row, const void *block);

/* Values may contain other options: --flow-detail rate,after=5 also sets deep-after to 5. */

struct option_piece {
	const struct config_row *row;
	const char *text;
};

#define OPTION_PIECES_MAX 8

/* Returns the option after `after` that the value may contain. NULL: starts with the first. */
const struct config_row *option_next_part(const struct config *config,
	const struct option_row *option, const struct config_row *after);
/* Writes "queues" for the part "queues="; nothing for "async:". */
void option_part_name(const struct option_row *part, char *name, size_t size);

/*
 * Stores the value of the option itself in the first piece, and the options in it in the others.
 * `config` owns the texts. Returns the number of pieces, or -1 with the reason in
 * why[OPTION_WHY_MAX].
 */
int option_split(struct config *config, const struct config_row *row, const char *value,
	struct option_piece pieces[OPTION_PIECES_MAX], char *why);
