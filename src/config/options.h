/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The options of a command: finding them, and what help and man page say of them. */

#include <stdio.h>

#include "config/config.h"

/* The option of this name; NULL where the command has none. */
const struct config_row *options_find(const struct config *config, const char *name);
/* The same for -LETTER. */
const struct config_row *options_find_letter(const struct config *config, char letter);
/* Returns the name of the row that equals `name`: the current or the former one. */
const char *options_name_as(const struct option_row *row, const char *name);
/* Writes the documented spelling: "--top", "--set confidence", "--flow-detail after". Returns text. */
const char *options_spelling(const struct option_row *row, char *text, size_t size);
/* The option whose name is nearest to a mistyped one; NULL where none is near. */
const struct config_row *options_nearest(const struct config *config, const char *name);
/* That there is no such key or word of a change, and which was meant, into text[size]. */
void options_say_unknown(const struct config *config, const char *name, char *text, size_t size);

/* The row of a key of an owner's sections: NAME, or NAME.PROPERTY of properties; NULL: there is none.
 * And that there is none, and which was meant. */
const struct option_row *options_find_key(const struct option_owner *owner, const char *key);
void options_say_unknown_key(
	const struct option_owner *owner, const char *key, char *text, size_t size);

/* What --help says: what is usual, or of every option. */
void options_help(const struct config *config, const struct program *program, bool all, FILE *out);
/* For the man page, in roff: every option; and what stands there once. */
void options_man(const struct config *config, FILE *out);
void options_man_terms(const struct config *config, const struct program *program, FILE *out);
/* For who completes a command line: the names of options and commands, one a line. */
void options_words(const struct config *config, const struct program *program, FILE *out);
